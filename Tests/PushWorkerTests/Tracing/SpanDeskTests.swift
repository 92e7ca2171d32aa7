import Synchronization
import Testing

@testable import PushWorker

/// Tests of the desk, which makes spans from what a shard's loop has recorded.
struct SpanDeskTests {
    /// The work that was done, in order.
    private final class Done: Sendable {
        private let numbers = Mutex<[Int]>([])

        var all: [Int] { self.numbers.withLock { $0 } }

        func work(_ number: Int) -> SpanDesk.Work { { self.numbers.withLock { $0.append(number) } } }
    }

    @Test func whatHasNoRoomIsDroppedAndCounted() {
        let desk = SpanDesk(.whenAsked)
        let done = Done()
        var works = (0..<SpanDesk.workCountMax + 3).map { done.work($0) }
        desk.take(&works)
        #expect(works.isEmpty && done.all.isEmpty && desk.droppedCount == 3)
        desk.work()
        #expect(done.all == Array(0..<SpanDesk.workCountMax))
        works = [done.work(-1)]
        desk.take(&works)
        desk.work()
        #expect(done.all.last == -1 && desk.droppedCount == 3)
    }

    /// Another thread does the work in order. The call of `work` waits until that thread has done all earlier work.
    @Test func anotherThreadKeepsTheOrder() {
        let desk = SpanDesk(.elsewhere)
        let done = Done()
        for number in 0..<1_000 {
            var works = [done.work(number)]
            desk.take(&works)
        }
        desk.work()
        #expect(done.all == Array(0..<1_000) && desk.droppedCount == 0)
    }
}
