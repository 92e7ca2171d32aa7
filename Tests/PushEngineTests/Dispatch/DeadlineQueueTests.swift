import PushModel
import Testing

@testable import PushEngine

@Suite struct DeadlineQueueTests {
    /// Compares the queue with a plain list: the earliest deadline, what is due, and each slot's own deadline.
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func agreesWithASortedList(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var queue = DeadlineQueue<SlotID>()
        var model: [SlotID: Int64] = [:]
        var now: Int64 = 0
        // Few distinct times make ties common.
        let span = [Int64(3), 50, 10_000][Int(seed % 3)]
        // A queue of 700 slots is four levels deep.
        let slots = [Int32(60), 700][Int(seed % 2)]
        for _ in 0..<1_500 {
            let slot = SlotID(rawValue: .random(in: 0..<slots, using: &random))
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6:
                let deadline = now + Int64.random(in: -span...span, using: &random)
                queue.set(deadline, for: slot)
                model[slot] = deadline
            case 6, 7:
                queue.remove(slot)
                model[slot] = nil
            default:
                now += Int64.random(in: 0...span / 2, using: &random)
                while let due = queue.popDue(nowMillis: now) {
                    #expect(model[due] == model.values.min(), "the earliest comes first")
                    #expect(model[due]! <= now)
                    model[due] = nil
                }
                #expect(model.values.allSatisfy { $0 > now })
            }
            #expect(queue.count == model.count)
            #expect(queue.earliestMillis == model.values.min())
            #expect(queue.deadline(of: slot) == model[slot])
        }
        for number in 0..<slots {
            let slot = SlotID(rawValue: number)
            #expect(queue.deadline(of: slot) == model[slot])
        }
    }

    @Test func aSlotHasOneDeadline() {
        var queue = DeadlineQueue<SlotID>()
        queue.set(50, for: 7)
        queue.set(10, for: 7)
        queue.set(90, for: 7)
        #expect(queue.count == 1)
        #expect(queue.popDue(nowMillis: 89) == nil)
        #expect(queue.popDue(nowMillis: 90) == 7)
        #expect(queue.earliestMillis == nil)
    }

    @Test func removingWhatIsNotQueuedChangesNothing() {
        var queue = DeadlineQueue<SlotID>()
        queue.remove(1_000)
        queue.set(5, for: 1)
        queue.remove(1)
        queue.remove(1)
        #expect(queue.count == 0)
        #expect(queue.deadline(of: 1) == nil)
    }

    @Test func neverAndAlwaysAreDeadlinesToo() {
        var queue = DeadlineQueue<SlotID>()
        queue.set(.max, for: 0)
        queue.set(.min, for: 1)
        #expect(queue.earliestMillis == .min)
        #expect(queue.popDue(nowMillis: .min) == 1)
        #expect(queue.popDue(nowMillis: .max - 1) == nil)
        #expect(queue.popDue(nowMillis: .max) == 0)
    }
}
