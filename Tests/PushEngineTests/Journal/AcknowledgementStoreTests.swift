import PushModel
import Testing

@testable import PushEngine

@Suite struct AcknowledgementStoreTests {
    private static func element(_ slot: SlotID) -> PendingAcknowledgement {
        PendingAcknowledgement(
            .slotState(SlotReference(slot: slot, generation: 0), version: 0, LedgerEntries()), partition: 0,
            generation: 0)
    }

    /// Each acknowledgement number returns the element that was stored under it, and only once.
    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func everyNumberIsGoodOnce(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var store = AcknowledgementStore()
        var open: [UInt64: SlotID] = [:]
        var closed: [UInt64] = []
        for slot in (0..<2_000).map({ SlotID(index: $0) }) {
            if open.count < 40, Bool.random(using: &random) {
                let number = store.open(Self.element(slot))
                #expect(open[number] == nil && !closed.contains(number))
                open[number] = slot
            } else if let number = open.keys.sorted().randomElement(using: &random) {
                #expect(store.close(number)?.waiter.slot == open[number])
                open[number] = nil
                closed.append(number)
                if closed.count > 100 { closed.removeFirst() }
            }
            if let old = closed.randomElement(using: &random) { #expect(store.close(old) == nil, "given back twice") }
            #expect(store.openCount == open.count)
        }
    }

    @Test func foreignNumbersAreNotKnown() {
        var store = AcknowledgementStore()
        #expect(store.close(0) == nil)
        let number = store.open(Self.element(1))
        for foreign in [number + 1, number | 2 << 32, .max] { #expect(store.close(foreign) == nil) }
        #expect(store.openCount == 1)
        #expect(store.close(number)?.waiter.slot == 1)
    }

    /// Acknowledgement numbers show which of two records was made first, even when an index of the store is used again.
    @Test func whatWasMadeFirstCanBeTold() {
        var store = AcknowledgementStore()
        let first = store.open(Self.element(1))
        let second = store.open(Self.element(2))
        #expect(store.close(first) != nil)
        let third = store.open(Self.element(3))
        #expect(EngineRecord.isMade(second, before: third))
        #expect(!EngineRecord.isMade(third, before: second))
        #expect(!EngineRecord.isMade(second, before: second))
        #expect(EngineRecord.isMade(0xffff_ffff << 32 | 7, before: 1 << 32 | 3), "the count has wrapped around")
    }

    /// The store has one element for each unacknowledged record and copies it twice, so it must be small.
    @Test func anElementIsSmall() {
        #expect(MemoryLayout<PendingAcknowledgement>.stride <= 44)
        #expect(MemoryLayout<Waiter>.size <= 25)
    }
}
