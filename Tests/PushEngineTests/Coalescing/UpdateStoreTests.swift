import PushModel
import Testing

@testable import PushEngine

/// Tests the store alone: an answer finds its own attempt, and never a later one that uses the same index.
@Suite struct UpdateStoreTests {
    private final class Bench {
        var store = UpdateStore()

        func make(_ slot: SlotID = 0) -> UpdateID { self.store.make(slot: slot) }
        func adopt(_ update: Update, _ slot: SlotID = 0) -> UpdateID { self.store.adopt(update, slot: slot) }
        func id(of push: PushID) -> UpdateID? { self.store.id(of: push) }
        func pushID(of update: UpdateID) -> PushID { self.store.pushID(of: update) }
        var liveCount: Int { self.store.liveCount }
        subscript(_ update: UpdateID) -> Update {
            get { self.store[update] }
            set { self.store[update] = newValue }
        }
    }

    /// A push ID finds its update while that attempt is in flight, and nothing afterwards.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func onlyWhatIsUnderWayIsFound(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let bench = Bench()
        var live: [UpdateID: PushID] = [:]
        var ever: Set<PushID> = []
        var slotOf: [UpdateID: SlotID] = [:]
        for number in 0..<600 {
            let chosen = live.keys.sorted { $0.rawValue < $1.rawValue }.randomElement(using: &random)
            switch (Int.random(in: 0..<4, using: &random), chosen) {
            case (0, _), (_, nil):
                let slot = SlotID(index: number)
                let id = number.isMultiple(of: 2) ? bench.make(slot) : bench.adopt(Update(), slot)
                #expect(live[id] == nil, "the place was in use")
                slotOf[id] = slot
                live[id] = bench.pushID(of: id)
            case (1, let id?):
                bench.store.release(id)
                live[id] = nil
            case (_, let id?):
                // Begins the next attempt as `Dispatch` does.
                bench[id].sequence &+= 1
                live[id] = bench.pushID(of: id)
            }
            ever.formUnion(live.values)
            #expect(bench.liveCount == live.count)
        }
        for (id, slot) in slotOf where live[id] != nil { #expect(bench[id].slot == slot) }
        let found = Dictionary(uniqueKeysWithValues: live.map { ($0.value, $0.key) })
        #expect(found.count == live.count, "two attempts have one name")
        var wrong = 0
        for push in ever where bench.id(of: push) != found[push] { wrong += 1 }
        #expect(wrong == 0)
    }

    @Test func aNameNobodyGaveIsNotFound() {
        let bench = Bench()
        let push = bench.pushID(of: bench.make())
        for foreign in [push.rawValue + 1, push.rawValue | 1 << 32, 0xffff_ffff, .max] {
            #expect(bench.id(of: PushID(rawValue: foreign)) == nil)
        }
        #expect(bench.id(of: push) != nil)
    }

    /// An entry is empty when it is used again, with nothing left of the update before.
    @Test func aReleasedPlaceIsEmpty() {
        let bench = Bench()
        let first = bench.make(3)
        bench[first].top.mayBeSent = true
        bench[first].top.content.contentState = bench[first].top.append([1, 2, 3].span)
        bench[first].under = [Layer()]
        bench[first].start = [
            StartPart(
                token: [1], environment: .production, blob: [], content: PayloadContent(), expiresSeconds: .max)
        ]
        bench[first].priority = .high
        bench[first].mergedCount = 4
        bench[first].containsReplay = true
        bench[first].stampSeconds = 5
        bench[first].stampBeforeSeconds = 4
        bench[first].isAnnounced = true
        bench.store.release(first)
        #expect(bench.liveCount == 0)
        let second = bench.make(8)
        #expect(second == first && bench[second].slot == 8)
        let update = bench[second]
        #expect(!update.top.mayBeSent && update.top.content == PayloadContent() && update.top.blob.isEmpty)
        #expect(update.under.isEmpty && !update.isStart && update.eventCount == 1)
        #expect(update.priority == .low && update.mergedCount == 0 && !update.containsReplay)
        #expect(update.stampSeconds == nil && update.stampBeforeSeconds == nil && !update.isAnnounced)
    }

    /// An update read from `state` gets the sequence of its new entry and loses its stamp. The former owner may have
    /// sent another push with that stamp, without recording it.
    @Test func whatIsAdoptedIsStampedAnew() {
        let bench = Bench()
        bench.store.release(bench.make())
        var read = Update()
        read.sequence = 900
        read.stampSeconds = 5
        read.mergedCount = 2
        let id = bench.adopt(read, 6)
        #expect(bench[id].sequence == 1 && bench[id].slot == 6)
        #expect(bench[id].stampSeconds == nil && bench[id].mergedCount == 2)
    }

    /// The store's `top(of:)` points at the newest event of an update, wherever that update is stored.
    @Test func theNewestEventLiesWhereItIsLookedFor() {
        let bench = Bench()
        let ids = (0..<1_500).map { _ in bench.make() }
        for id in ids { bench[id].top.arrival = UInt64(id.index) }
        var wrong = 0
        for id in ids where bench.store.top(of: id).pointee.arrival != UInt64(id.index) { wrong += 1 }
        #expect(wrong == 0)
    }
}
