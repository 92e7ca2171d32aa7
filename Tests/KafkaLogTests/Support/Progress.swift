import Dispatch
import KafkaLog

/// Lets a test wait for something on other threads. A thread reports its progress, and the waiting test checks its
/// condition again.
final class Progress: Sendable {
    private let happened = DispatchSemaphore(value: 0)

    func made() { self.happened.signal() }

    /// Waits until `isReached` is true, and returns whether that happened within the limit. It checks after each
    /// report, and once at the end.
    func wait(_ limit: Duration = .seconds(60), until isReached: @escaping @Sendable () -> Bool) async -> Bool {
        await NamedThread.run("test-wait") {
            let deadline = DispatchTime.now() + .milliseconds(Int(limit / .milliseconds(1)))
            while !isReached() {
                guard self.happened.wait(timeout: deadline) == .success else { return isReached() }
            }
            return true
        }
    }
}
