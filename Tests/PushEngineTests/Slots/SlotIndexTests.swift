import PushModel
import Testing

@testable import PushEngine

@Suite struct SlotIndexTests {
    /// The slots that a walk through the index finds for this hash.
    private static func find(_ index: SlotIndex, hash: UInt32) -> Set<SlotID> {
        var found: Set<SlotID> = []
        var steps = 0
        var place = index.first(hash: hash)
        while let at = place, steps <= index.count {
            found.insert(index.slot(at: at))
            place = index.next(after: at, hash: hash)
            steps += 1
        }
        #expect(steps <= index.count, "the walk goes round")
        return found
    }

    /// The index finds what a `Dictionary` finds after random insertions and removals, even if many hashes are close
    /// together.
    @Test(arguments: 1...15 as ClosedRange<UInt64>)
    func agreesWithADictionary(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        // The hashes are all equal, crowded at the table's end, or spread.
        let hashMask: UInt32 = [0, 3, 63, 0xffff, .max][Int(seed % 5)]
        let hashBase: UInt32 = seed.isMultiple(of: 2) ? 0 : 60
        var index = SlotIndex(seed: seed)
        var hashes = Array(repeating: UInt32(0), count: 400)
        var model: [UInt32: Set<SlotID>] = [:]
        var free = (0..<400).map { SlotID(index: $0) }
        var taken: [SlotID] = []
        for _ in 0..<2_000 {
            if taken.isEmpty || (!free.isEmpty && Int.random(in: 0..<5, using: &random) < 3) {
                let slot = free.remove(at: Int.random(in: 0..<free.count, using: &random))
                hashes[slot.index] = (UInt32(truncatingIfNeeded: random.next()) & hashMask) &+ hashBase
                index.insert(slot, hash: hashes[slot.index])
                model[hashes[slot.index], default: []].insert(slot)
                taken.append(slot)
            } else {
                let slot = taken.remove(at: Int.random(in: 0..<taken.count, using: &random))
                index.remove(slot, hash: hashes[slot.index])
                model[hashes[slot.index]]?.remove(slot)
                free.append(slot)
            }
            #expect(index.count == taken.count)
            let hash = (UInt32(truncatingIfNeeded: random.next()) & hashMask) &+ hashBase
            let found = Self.find(index, hash: hash)
            #expect(found == model[hash] ?? [])
        }
        for (hash, expected) in model {
            let found = Self.find(index, hash: hash)
            #expect(found == expected)
        }
    }

    @Test func everyPartOfTheIdentityChangesTheHash() {
        let index = SlotIndex(seed: 1)
        let id = Array("activity".utf8)
        let other = Array("activitz".utf8)
        let hash = index.hash(kind: 1, id: id.span)
        #expect(hash == index.hash(kind: 1, id: id.span))
        #expect(hash != index.hash(kind: 2, id: id.span))
        #expect(hash != index.hash(kind: 1, id: other.span))
        #expect(hash != SlotIndex(seed: 2).hash(kind: 1, id: id.span))
    }

    /// The low bits of a hash choose the bucket, so consecutive ids must not crowd. The lengths are below, at and above
    /// multiples of the eight bytes that are hashed together.
    @Test(arguments: [4, 7, 8, 13, 16, 23, 32, 36])
    func numberedIdentitiesSpreadOverTheTable(byteCount: Int) {
        let index = SlotIndex(seed: 3)
        var used: Set<UInt32> = []
        for number in 0..<4_096 {
            let digits = Array("\(10_000 + number)".utf8.dropFirst())
            let id = [UInt8](repeating: UInt8(ascii: "a"), count: byteCount - 4) + digits
            used.insert(index.hash(kind: 1, id: id.span) & 4_095)
        }
        // If 4,096 balls fall into 4,096 bins at random, 1 - 1/e of the bins are used: 2,589.
        #expect(used.count > 2_450 && used.count < 2_730)
    }
}
