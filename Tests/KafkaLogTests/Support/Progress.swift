import Dispatch
import KafkaLog

/// Lets a test wait for something that happens on other threads. A thread that makes progress says so, and the waiting
/// test looks again.
final class Progress: Sendable {
    private let happened = DispatchSemaphore(value: 0)

    func made() { self.happened.signal() }

    /// Whether `isReached` became true within the limit. Looks only after progress, and once at the end.
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
