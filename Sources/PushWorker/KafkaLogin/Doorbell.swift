import Foundation

/// Lets threads wait for a change that other threads announce.
final class Doorbell: Sendable {
    private let condition = NSCondition()

    /// Announces a change. No waiting thread misses it.
    func ring() {
        self.condition.lock()
        self.condition.broadcast()
        self.condition.unlock()
    }

    /// Blocks until `isOver` is true, or until the time is over. `isOver` is asked at the beginning and after each
    /// ring.
    func wait(millis: Int64, until isOver: () -> Bool) {
        let deadline = Date(timeIntervalSinceNow: Double(millis) / 1_000)
        self.condition.lock()
        defer { self.condition.unlock() }
        while !isOver() {
            guard self.condition.wait(until: deadline) else { return }
        }
    }
}
