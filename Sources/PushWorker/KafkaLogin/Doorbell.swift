import Foundation

/// Threads that wait for something to change, and those that say that it has.
final class Doorbell: Sendable {
    private let condition = NSCondition()

    /// Something has changed. Nobody who waits misses it.
    func ring() {
        self.condition.lock()
        self.condition.broadcast()
        self.condition.unlock()
    }

    /// Blocks until `isOver`, which is asked at first and after each ring, or until the time is over.
    func wait(millis: Int64, until isOver: () -> Bool) {
        let deadline = Date(timeIntervalSinceNow: Double(millis) / 1_000)
        self.condition.lock()
        defer { self.condition.unlock() }
        while !isOver() {
            guard self.condition.wait(until: deadline) else { return }
        }
    }
}
