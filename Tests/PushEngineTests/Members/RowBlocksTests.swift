import PushModel
import Testing

@testable import PushEngine

@Suite struct RowBlocksTests {
    /// A set, named by its first block, and what it should hold.
    private struct Pair {
        var set = BlockID.none
        var model: Set<Int32> = []
    }

    /// Sets of any size grow, shrink, split and merge. Some are larger than the largest block.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func setsHoldWhatTheyShould(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var blocks = RowBlocks()
        var pairs = [Pair](repeating: Pair(), count: 6)
        var nextRow: Int32 = 0
        for step in 0..<4_000 {
            let index = Int.random(in: 0..<pairs.count, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<70:
                // The first set grows far beyond the others.
                for _ in 0..<(index == 0 ? 5 : 1) {
                    let row = RowID(rawValue: nextRow)
                    pairs[index].set = blocks.adding(RowEntry(row, hash: Self.hash(row)), to: pairs[index].set)
                    pairs[index].model.insert(nextRow)
                    nextRow += 1
                }
            case 70..<94:
                guard let row = pairs[index].model.min() else { continue }
                pairs[index].set = blocks.removing(RowID(rawValue: row), from: pairs[index].set)
                pairs[index].model.remove(row)
            case 94..<96:
                guard pairs[index].set.isSome else { continue }
                let (row, rest) = blocks.popping(from: pairs[index].set)
                pairs[index].set = rest
                #expect(pairs[index].model.remove(row.rawValue) != nil)
            case 96..<98:
                let other = (index + 1) % pairs.count
                guard index > 1, other > 1 else { continue }
                let merged = blocks.merging(pairs[index].set, pairs[other].set)
                pairs[index] = Pair(set: merged, model: pairs[index].model.union(pairs[other].model))
                pairs[other] = Pair()
            default:
                guard index > 1, let other = pairs.firstIndex(where: { $0.model.isEmpty }) else { continue }
                let (odd, even) = blocks.splitting(pairs[index].set) { $0.rawValue % 2 == 0 }
                let model = pairs[index].model
                pairs[index] = Pair(set: odd, model: model.filter { $0 % 2 == 1 })
                pairs[other] = Pair(set: even, model: model.filter { $0 % 2 == 0 })
            }
            if step % 400 == 399 { for pair in pairs { Self.check(pair, in: blocks) } }
        }
        #expect(pairs[0].model.count > 1_000)
        for pair in pairs { Self.check(pair, in: blocks) }
    }

    /// Blocks that a set gives back are used by other sets, and no two blocks overlap.
    @Test func blocksThatWereGivenBackAreUsedAgain() {
        var blocks = RowBlocks()
        var most = 0
        for round in 0..<20 {
            var sets = [BlockID](repeating: .none, count: 50)
            for row in 0..<5_000 as Range<Int32> {
                let index = Int(row) % 50
                sets[index] = blocks.adding(RowEntry(RowID(rawValue: row), hash: 0), to: sets[index])
            }
            for index in sets.indices {
                var rows: [Int32] = []
                blocks.forEach(in: sets[index]) { rows.append($0.rawValue) }
                #expect(Set(rows) == Set(stride(from: Int32(index), to: 5_000, by: 50)) && rows.count == 100)
                while sets[index].isSome { sets[index] = blocks.popping(from: sets[index]).rest }
            }
            if round == 0 { most = blocks.allocatedByteCount }
        }
        let allocated = blocks.allocatedByteCount
        #expect(allocated == most)
    }

    private static func hash(_ row: RowID) -> UInt64 { SplitMix64.first(of: UInt64(row.rawValue)) }

    private static func check(_ pair: Pair, in blocks: borrowing RowBlocks) {
        var rows: [Int32] = []
        blocks.forEach(in: pair.set) { rows.append($0.rawValue) }
        #expect(Set(rows) == pair.model && rows.count == pair.model.count)
        for row in pair.model {
            let hash = Self.hash(RowID(rawValue: row))
            let found = blocks.first(in: pair.set, hash: hash) { $0.rawValue == row }
            #expect(found.rawValue == row)
        }
        let absent = blocks.first(in: pair.set, hash: 0) { _ in false }
        #expect(absent.isNone)
    }
}

extension SplitMix64 {
    fileprivate static func first(of seed: UInt64) -> UInt64 {
        var random = SplitMix64(seed: seed)
        return random.next()
    }
}
