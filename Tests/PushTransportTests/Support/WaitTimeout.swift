import NIOCore

/// Thrown when a test has waited too long. The description says what did not happen.
struct WaitTimeout: Error, CustomStringConvertible {
    /// Longest time that a test waits. Even on a busy machine, only a fault of the transport or of the test takes
    /// longer.
    static let limit = TimeAmount.seconds(60)

    var description: String
}

extension EventLoopPromise where Value: Sendable {
    /// Fails the promise with the text of `missing` if it is not completed within the limit. Must be called on
    /// `eventLoop`.
    func expect(on eventLoop: any EventLoop, _ missing: @escaping () -> String) {
        let alarm = eventLoop.assumeIsolated().scheduleTask(in: WaitTimeout.limit) {
            self.fail(WaitTimeout(description: missing()))
        }
        self.futureResult.assumeIsolated().whenComplete { _ in alarm.cancel() }
    }
}
