import NIOCore

/// A wait of a test that ended without success. The description says what is missing.
struct WaitTimeout: Error, CustomStringConvertible {
    /// A limit that nothing here needs, even on a loaded machine. After it the transport or the test is at fault.
    static let limit = TimeAmount.seconds(60)

    var description: String
}

extension EventLoopPromise where Value: Sendable {
    /// Fails the promise with the text of `missing` if nothing else completes it in time. Must be called on
    /// `eventLoop`.
    func expect(on eventLoop: any EventLoop, _ missing: @escaping () -> String) {
        let alarm = eventLoop.assumeIsolated().scheduleTask(in: WaitTimeout.limit) {
            self.fail(WaitTimeout(description: missing()))
        }
        self.futureResult.assumeIsolated().whenComplete { _ in alarm.cancel() }
    }
}
