import NIOCore

/// What a test waited for did not come. Says what is missing.
struct WaitTimeout: Error, CustomStringConvertible {
    /// Longer than anything takes here, on a loaded machine too: past it the transport or the test is at fault.
    static let limit = TimeAmount.seconds(60)

    var description: String
}

extension EventLoopPromise where Value: Sendable {
    /// Fails the promise when nothing else has kept it in time, with what `missing` says then. On the loop of `eventLoop`.
    func expect(on eventLoop: any EventLoop, _ missing: @escaping () -> String) {
        let alarm = eventLoop.assumeIsolated().scheduleTask(in: WaitTimeout.limit) {
            self.fail(WaitTimeout(description: missing()))
        }
        self.futureResult.assumeIsolated().whenComplete { _ in alarm.cancel() }
    }
}
