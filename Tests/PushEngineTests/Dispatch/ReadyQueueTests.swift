@testable import PushEngine
import PushModel
import Testing

@Suite struct ReadyQueueTests {
    /// A queue and its slots with tickets, as the engine keeps them.
    private final class Bench {
        var queue = ReadyQueue()
        var slots = SlotTable.filled(count: 64)
        var nextTicket: UInt32 = 1

        func enter(_ slot: SlotID, _ priority: PushPriority, at readyMillis: Int64) {
            self.slots[slot].queuedTicket = self.nextTicket
            self.queue.append(.init(slot: slot, ticket: self.nextTicket, readyMillis: readyMillis), priority: priority)
            self.nextTicket += 1
        }

        func leave(_ slot: SlotID) { self.slots[slot].queuedTicket = 0 }

        func pop(agingMillis: Int64 = 2_000) -> SlotID? {
            guard let entry = self.queue.popFirst(agingMillis: agingMillis, slots: self.slots) else { return nil }
            self.leave(entry.slot)
            return entry.slot
        }
    }

    @Test func highBeforeLowOldestFirstWithinEach() {
        let bench = Bench()
        bench.enter(1, .low, at: 100)
        bench.enter(2, .high, at: 110)
        bench.enter(3, .low, at: 120)
        bench.enter(4, .high, at: 130)
        #expect([bench.pop(), bench.pop(), bench.pop(), bench.pop(), bench.pop()] == [2, 4, 1, 3, nil])
    }

    /// A low-priority slot is taken as if it had become ready two seconds later than it did.
    @Test(arguments: [(2_100, 2), (2_101, 1), (9_000, 1), (100, 2)] as [(Int64, SlotID)])
    func lowPassesHighAfterAging(highReadyMillis: Int64, first: SlotID) {
        let bench = Bench()
        bench.enter(1, .low, at: 100)
        bench.enter(2, .high, at: highReadyMillis)
        #expect(bench.pop(agingMillis: 2_000) == first)
    }

    /// Even if high-priority slots are always ready, a low-priority one leaves when it has aged.
    @Test func lowCannotStarve() {
        let bench = Bench()
        bench.enter(0, .low, at: 0)
        var leftAt: Int64?
        for now in stride(from: Int64(0), to: 10_000, by: 10) where leftAt == nil {
            bench.enter(SlotID(index: 1 + Int(now / 10 % 60)), .high, at: now)
            if bench.pop(agingMillis: 2_000) == 0 { leftAt = now }
        }
        #expect(leftAt == 2_010)
    }

    @Test func whatLeftIsPassedOver() {
        let bench = Bench()
        bench.enter(1, .high, at: 1)
        bench.enter(2, .high, at: 2)
        bench.enter(3, .low, at: 3)
        bench.leave(1)
        bench.leave(3)
        #expect(bench.pop() == 2)
        #expect(bench.pop() == nil)
    }

    /// A slot that has left and entered again is queued once, at its newer position.
    @Test func enteringAgainTakesANewPlace() {
        let bench = Bench()
        bench.enter(1, .high, at: 1)
        bench.enter(2, .high, at: 2)
        bench.leave(1)
        bench.enter(1, .high, at: 3)
        #expect([bench.pop(), bench.pop(), bench.pop()] == [2, 1, nil])
    }

    /// Compares the queue's order with a plain list.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func agreesWithAPlainList(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let bench = Bench()
        var model: [(slot: SlotID, priority: PushPriority, at: Int64)] = []
        let agingMillis: Int64 = 200
        for now in Int64(0)..<3_000 {
            let slot = SlotID(rawValue: .random(in: 0..<64, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                guard !model.contains(where: { $0.slot == slot }) else { continue }
                let priority: PushPriority = Bool.random(using: &random) ? .high : .low
                bench.enter(slot, priority, at: now)
                model.append((slot, priority, now))
                bench.queue.compact(standing: model.count, slots: bench.slots)
            case 2:
                bench.leave(slot)
                model.removeAll { $0.slot == slot }
            default:
                let high = model.first { $0.priority == .high }
                let low = model.first { $0.priority == .low }
                let expected: SlotID?
                if let high, let low {
                    expected = low.at + agingMillis < high.at ? low.slot : high.slot
                } else {
                    expected = high?.slot ?? low?.slot
                }
                #expect(bench.pop(agingMillis: agingMillis) == expected)
                model.removeAll { $0.slot == expected }
            }
        }
    }

    @Test func compactionDropsOnlyWhatLeft() {
        let bench = Bench()
        bench.enter(0, .high, at: 0)
        for round in 0..<200 {
            bench.enter(1, .high, at: Int64(round))
            bench.leave(1)
            bench.queue.compact(standing: 1, slots: bench.slots)
            #expect(bench.queue.entryCount <= 2 * 1 + 64)
        }
        #expect(bench.pop() == 0)
        #expect(bench.pop() == nil)
    }
}
