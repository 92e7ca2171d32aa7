import PushModel
import Testing

@testable import PushEngine

/// Tests the table of partitions, and what a partition remembers about its `state`.
@Suite struct PartitionTableTests {
    /// A partition is found by Kafka's number. If another partition gets its entry in the table, the entry has another
    /// generation.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func agreesWithADictionary(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var table = PartitionTable()
        var model: [Int32: PartitionIndex] = [:]
        var generations: [PartitionIndex: UInt32] = [:]
        var heldMax = 0
        for _ in 0..<500 {
            let number = Int32.random(in: 0..<12, using: &random)
            #expect(table.index(of: number) == model[number])
            if let index = model[number] {
                table.remove(index)
                model[number] = nil
                #expect(table[index].phase == .gone && table[index].number == -1)
            } else {
                let index = table.add(number: number)
                #expect(!model.values.contains(index), "the place is another's")
                #expect(table[index].phase == .awaitingMarker && table[index].number == number)
                if let before = generations[index] { #expect(table[index].generation == before + 1) }
                generations[index] = table[index].generation
                model[number] = index
            }
            heldMax = max(heldMax, model.count)
            #expect(table.identifiers.reduce(0) { count, _ in count + 1 } == heldMax)
        }
    }

    @Test func aNumberThatIsNotHereIsNotFound() {
        var table = PartitionTable()
        _ = table.add(number: 3)
        for number in [-1, 0, 2, 4, .max] as [Int32] { #expect(table.index(of: number) == nil) }
    }

    /// Nothing is left of an earlier assignment when an entry is used again.
    @Test func aPlaceThatIsUsedAgainBeginsAnew() {
        var table = PartitionTable()
        let first = table.add(number: 0)
        table[first].run(logs: [LogID(index: 0)])
        _ = table.takeStateOffset(5, of: first)
        let hasGap = table.takeStateOffset(9, of: first)
        #expect(table[first].mayPush)
        table.remove(first)
        #expect(hasGap && table.takeGap() == nil && table[first].logs.isEmpty)
        let second = table.add(number: 7)
        table[second].inletOpened(logs: [], wallMillis: 0)
        #expect(second == first && !table[second].mayPush && table[second].nextStateOffset == -1)
        #expect(
            table.takeStateOffset(100, of: second) == false, "of this owner's first record nothing is missing before")
    }

    /// Gaps between the offsets of own records in `state` are records that others wrote.
    @Test(
        arguments: [
            ([5, 6, 7], []),
            ([5, 8], [6..<8]),
            ([5, 6, 9, 10, 12], [7..<9, 11..<12]),
            // A record that was given up has no offset.
            ([5, -1, 6], []),
            // An offset that repeats or goes back is not a gap.
            ([5, 6, 6, 3, 7], []),
            ([0, 2], [1..<2]),
        ] as [([Int64], [Range<Int64>])])
    func offsetsThatAreMissingAreGaps(offsets: [Int64], gaps: [Range<Int64>]) {
        var state = PartitionState(number: 0, generation: 0)
        let noted = offsets.filter { state.takeStateOffset($0) == .gap }.count
        #expect(state.gaps == gaps && noted == gaps.count)
    }

    /// The number of gaps is limited. Beyond the limit the last gap grows and covers all that follow.
    @Test func manyGapsBecomeOneLongStretch() {
        var state = PartitionState(number: 0, generation: 0)
        for index in 0...Int64(PartitionState.gapsMax) + 4 { _ = state.takeStateOffset(2 * index) }
        #expect(state.gaps.count == PartitionState.gapsMax)
        #expect(state.gaps.first == 1..<2)
        let last = Int64(PartitionState.gapsMax)
        #expect(state.gaps.last == 2 * last - 1..<2 * (last + 4))
    }

    /// A partition gives out one gap at a time, and none unless it runs. Other partitions do not wait for it.
    @Test func gapsAreGivenOneByOne() {
        var table = PartitionTable()
        let indices = [4, 5].map { table.add(number: $0) }
        for index in indices { for offset in [0, 2, 4] as [Int64] { _ = table.takeStateOffset(offset, of: index) } }
        #expect(table.takeGap() == nil, "none of them runs")
        table[indices[1]].run()
        #expect(table.takeGap() == StateGap(partition: 5, offsets: 1..<2))
        #expect(table.takeGap() == nil, "that one is being read")
        table[indices[0]].run()
        #expect(table.takeGap() == StateGap(partition: 4, offsets: 1..<2))
        for index in indices { table[index].gapRepaired() }
        #expect(table.takeGap() == StateGap(partition: 4, offsets: 3..<4))
        #expect(table.takeGap() == StateGap(partition: 5, offsets: 3..<4))
        for index in indices { table[index].gapRepaired() }
        #expect(table.takeGap() == nil)
    }
}
