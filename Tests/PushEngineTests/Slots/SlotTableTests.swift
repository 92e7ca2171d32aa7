import PushModel
import Testing

@testable import PushEngine

/// Tests the table alone: slots come, are found, are forgotten, and their numbers are used again.
@Suite struct SlotTableTests {
    /// A table of three partitions that answers with plain values.
    private final class Bench {
        var table = SlotTable(seed: 1)

        init(partitionCount: Int32 = 3) {
            for number in 0..<partitionCount { self.table.addPartition(PartitionIndex(rawValue: number)) }
        }

        func make(_ id: String, app: UInt16 = 0, token: [UInt8] = [], partition: PartitionIndex = 0) -> SlotID {
            let bytes = Array(id.utf8)
            return self.table.make(
                SlotKey(app: app, id: bytes.span), hash: self.table.hash(id: bytes.span), token: token.span,
                partition: partition)
        }

        func find(_ id: String, app: UInt16 = 0, partition: PartitionIndex = 0) -> SlotID? {
            let bytes = Array(id.utf8)
            return self.table.find(SlotKey(app: app, id: bytes.span), partition: partition)
        }

        func findOfAnyApp(_ id: String, hint: SlotID = .none, partition: PartitionIndex = 0) -> SlotID? {
            let bytes = Array(id.utf8)
            return self.table.findOfAnyApp(
                id: bytes.span, hash: self.table.hash(id: bytes.span), hint: hint, partition: partition)
        }

        func hasToken(_ token: [UInt8], _ slot: SlotID) -> Bool { self.table.hasToken(token.span, slot) }
        func setToken(_ token: [UInt8], of slot: SlotID) { self.table.setToken(token.span, of: slot) }
        func members(of partition: PartitionIndex) -> [SlotID] { self.table.members(of: partition) }
        func routedPositions(of slot: SlotID) -> RoutedPositions { self.table.routedPositions(of: slot) }
        subscript(_ slot: SlotID) -> Slot { self.table[slot] }
        /// Counts of live slots, of slots in the index, and of all entries of the table.
        var counts: [Int] {
            [self.table.count, self.table.indexedCount, self.table.identifiers.reduce(0) { count, _ in count + 1 }]
        }
        var routedCount: Int { self.table.routedCount }
    }

    private struct Key: Hashable {
        var app: UInt16
        var id: String
        var partition: PartitionIndex
    }

    /// Slots come and go in random order. Each key leads to its own slot and token, and each partition has its own
    /// slots and no others.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func agreesWithADictionary(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let bench = Bench()
        var model: [Key: (slot: SlotID, token: [UInt8])] = [:]
        var liveMax = 0
        for _ in 0..<1_500 {
            let key = Key(
                app: UInt16.random(in: 0...1, using: &random), id: "activity-\(Int.random(in: 0..<25, using: &random))",
                partition: PartitionIndex(rawValue: .random(in: 0...2, using: &random)))
            // The token may be empty, or need more room than the id alone.
            let token = (0..<[0, 1, 32, 100].randomElement(using: &random)!).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            #expect(bench.find(key.id, app: key.app, partition: key.partition) == model[key]?.slot)
            switch (Int.random(in: 0..<5, using: &random), model[key]?.slot) {
            case (0...2, nil):
                model[key] = (bench.make(key.id, app: key.app, token: token, partition: key.partition), token)
            case (0, let slot?):
                bench.setToken(token, of: slot)
                model[key] = (slot, token)
            case (1...4, let slot?):
                bench.table.remove(slot)
                model[key] = nil
            default: break
            }
            liveMax = max(liveMax, model.count)
            #expect(bench.counts == [model.count, model.count, liveMax], "a place is used again before one is added")
        }
        for partition in [0, 1, 2] as [PartitionIndex] {
            let own = model.filter { $0.key.partition == partition }
            #expect(Set(bench.members(of: partition)) == Set(own.values.map(\.slot)))
            #expect(bench.members(of: partition).count == own.count)
        }
        for (key, held) in model {
            #expect(bench.find(key.id, app: key.app, partition: key.partition) == held.slot)
            #expect(bench.hasToken(held.token, held.slot))
            #expect(bench[held.slot].app == key.app && bench[held.slot].partition == key.partition)
        }
    }

    /// A caller that still has a former slot's number sees that the slot is gone. Nothing of that slot is left.
    @Test func aPlaceThatIsUsedAgainKnowsNothingOfTheOneBefore() {
        let bench = Bench()
        let first = bench.make("first", token: [1, 2])
        bench.table[first].life = .ended
        bench.table[first].lastStampSeconds = 7
        bench.table.setRoutedPositions(RoutedPositions(appliedOffset: 9), of: first)
        bench.setToken([3], of: first)
        let generation = bench[first].generation
        bench.table.remove(first)
        #expect(bench[first].isLive == false)
        #expect(bench[first].generation == generation, "whoever names the one before meets a dead slot, not another's")
        let second = bench.make("second", partition: 1)
        #expect(second == first)
        #expect(bench[second].generation == generation + 1)
        #expect(bench[second].life == .awaiting && bench[second].lastStampSeconds == 0)
        #expect(bench[second].tokenGeneration == 0 && bench.hasToken([], second))
        #expect(bench.routedPositions(of: second) == RoutedPositions() && bench.routedCount == 0)
        #expect(bench.find("first") == nil && bench.find("second") == nil)
        #expect(bench.find("second", partition: 1) == second)
    }

    /// One partition leaves slot by slot. Another partition with the same ids is not touched.
    @Test func aPartitionLeavesWithoutTouchingAnother() {
        let bench = Bench()
        let stay = (0..<10).map { bench.make("activity-\($0)", partition: 1) }
        for number in 0..<10 { _ = bench.make("activity-\(number)", partition: 0) }
        var left = 0
        while let slot = bench.table.lastMember(of: 0), left < 20 {
            bench.table.remove(slot)
            left += 1
        }
        #expect(left == 10)
        #expect(bench.members(of: 0).isEmpty && bench.members(of: 1) == stay)
        for (number, slot) in stay.enumerated() {
            #expect(bench.find("activity-\(number)", partition: 1) == slot)
            #expect(bench.find("activity-\(number)", partition: 0) == nil)
        }
    }

    /// A slot may leave its partition's list from any position. The last slot of the list takes that position.
    @Test func theOthersKeepTheirPlaceAmongTheMembers() {
        let bench = Bench()
        let slots = (0..<4).map { bench.make("activity-\($0)") }
        bench.table.remove(slots[1])
        #expect(bench.members(of: 0) == [slots[0], slots[3], slots[2]])
        // The member that was moved leaves next.
        bench.table.remove(slots[3])
        #expect(bench.members(of: 0) == [slots[0], slots[2]])
        bench.table.remove(slots[2])
        #expect(bench.members(of: 0) == [slots[0]])
    }

    /// A hint says where the activity probably is. An outdated hint must not lead to another activity's slot.
    @Test func aHintIsBelievedOnlyIfItIsRight() {
        let bench = Bench()
        let slot = bench.make("a")
        let other = bench.make("b")
        let elsewhere = bench.make("a", partition: 1)
        #expect(bench.findOfAnyApp("a", hint: slot) == slot)
        #expect(bench.findOfAnyApp("a", hint: other) == slot)
        #expect(bench.findOfAnyApp("b", hint: elsewhere) == other)
        #expect(bench.findOfAnyApp("a", hint: elsewhere) != elsewhere)
        bench.table.remove(other)
        #expect(bench.findOfAnyApp("b", hint: other) == nil, "the place is free")
    }

    /// A record of `state` replaces everything in a slot except what belongs to the table.
    @Test func whatIsTheTablesOwnSurvivesARestore() {
        let bench = Bench()
        _ = bench.make("before")
        let slot = bench.make("a", app: 1, token: [1, 2, 3], partition: 2)
        bench.table[slot].isCountedPending = true
        bench.table[slot].lastStampSeconds = 5
        var read = Slot()
        read.lastStampSeconds = 9
        read.hasRoutedPositions = true
        read.generation = 77
        let generation = bench[slot].generation
        bench.table.overwrite(slot, with: read, recordOffset: 41)
        #expect(bench[slot].recordOffset == 41)
        #expect(bench[slot].lastStampSeconds == 9)
        #expect(bench[slot].generation == generation && bench[slot].isCountedPending)
        #expect(!bench[slot].hasRoutedPositions, "none have been read for it yet")
        #expect(bench[slot].tokenGeneration == 1 && bench.hasToken([1, 2, 3], slot))
        #expect(bench.find("a", app: 1, partition: 2) == slot)
        bench.table.remove(slot)
        #expect(bench.members(of: 2).isEmpty && bench.find("a", app: 1, partition: 2) == nil)
    }

    /// Each new token has another number, so that a verdict about the former token is recognised. The id is found
    /// whatever the length of the token.
    @Test func aTokenComesAndGoes() {
        let bench = Bench()
        let slot = bench.make("activity", token: [1])
        for (count, byteCount) in [32, 100, 0, 8, 200].enumerated() {
            let token = (0..<byteCount).map { UInt8($0) }
            bench.setToken(token, of: slot)
            #expect(bench.hasToken(token, slot) && bench[slot].hasToken == (byteCount > 0))
            #expect(Int(bench[slot].tokenGeneration) == count + 1)
            #expect(bench.find("activity") == slot)
        }
        bench.table.clearToken(of: slot)
        #expect(!bench[slot].hasToken && bench.find("activity") == slot)
    }

    /// All positions of a slot become void together, because another cluster's log has other offsets.
    @Test func positionsAreForgottenTogether() {
        let bench = Bench()
        let slot = bench.make("a")
        #expect(bench.routedPositions(of: slot) == RoutedPositions())
        bench.table.setApplied(AppliedPosition(offset: 4, topic: 0), of: slot)
        bench.table.setRoutedPositions(RoutedPositions(appliedOffset: 6), of: slot)
        #expect(bench.routedPositions(of: slot).appliedOffset == 6 && bench.routedCount == 1)
        bench.table.voidPositions(of: slot)
        #expect(bench[slot].applied == AppliedPosition() && bench.routedPositions(of: slot) == RoutedPositions())
        #expect(bench.routedCount == 0)
    }
}
