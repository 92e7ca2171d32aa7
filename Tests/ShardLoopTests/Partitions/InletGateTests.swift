import PushEngine
import Testing

@testable import ShardLoop

/// Tests that records of an added partition wait for those that the other partitions held when they were written.
@Suite struct InletGateTests {
    /// Makes sights from rows of partition, committed offset and end.
    private static func sights(_ rows: [(Int32, Int64, Int64)]) -> [InletGate.Sight] {
        rows.map { InletGate.Sight(topic: 0, partition: $0.0, committedOffset: $0.1, endOffset: $0.2) }
    }

    /// The offset up to which each look lets records in, or -1 when it lets in no more.
    private static func play(_ looks: [[(Int32, Int64, Int64)]], inlets: Set<Int32> = [2]) -> [Int64] {
        var gate = InletGate()
        return looks.map { gate.saw(Self.sights($0), inlets: inlets).first { $0.partition == 2 }?.nextOffset ?? -1 }
    }

    @Test func nothingIsLetInBeforeTheOthersAreDone() {
        let opened = Self.play([
            [(0, 5, 9), (1, 0, 3), (2, 0, 4)], [(0, 7, 9), (1, 3, 3), (2, 0, 6)], [(0, 9, 12), (1, 3, 3), (2, 0, 6)],
        ])
        // The inlet's own end is looked at before the ends of the other partitions, so the earlier end counts.
        #expect(opened == [-1, -1, 4])
    }

    /// A publisher that learns of new partitions after others goes on writing to the old ones. Later records of the
    /// inlet wait for those, too.
    @Test func theEndsAreTakenAgainAndAgain() {
        let opened = Self.play([
            [(0, 9, 9), (1, 3, 3), (2, 0, 4)], [(0, 9, 9), (1, 3, 3), (2, 0, 4)],
            [(0, 9, 50), (1, 3, 3), (2, 4, 8)], [(0, 9, 60), (1, 3, 3), (2, 4, 8)],
            [(0, 59, 60), (1, 3, 3), (2, 4, 8)], [(0, 60, 70), (1, 3, 3), (2, 4, 8)],
        ])
        #expect(opened == [-1, 4, -1, -1, -1, 8])
    }

    @Test func onePartitionThatIsNotSeenHoldsIt() {
        let seen: [(Int32, Int64, Int64)] = [(0, 9, 9), (2, 0, 4)]
        #expect(Self.play([seen, seen, seen]) == [-1, -1, -1])
        let later = seen + [(1, 3, 3)]
        #expect(Self.play([later, seen, later]) == [-1, -1, 4])
    }

    /// The inlet may have left and returned between two looks, so its limit is reported until it is committed.
    @Test func whatIsLetInIsToldAgainUntilItIsCommitted() {
        let opened = Self.play([
            [(0, 9, 9), (1, 3, 3), (2, 0, 4)], [(0, 9, 9), (1, 3, 3), (2, 0, 4)], [(0, 9, 20), (1, 3, 3), (2, 1, 4)],
            [(0, 9, 20), (1, 3, 3), (2, 4, 4)],
        ])
        #expect(opened == [-1, 4, 4, -1])
    }

    @Test func whoHoldsItUpIsNamed() {
        var gate = InletGate()
        let sights = Self.sights([(0, 9, 9), (1, 1, 3), (2, 0, 4)])
        _ = gate.saw(sights, inlets: [2])
        _ = gate.saw(sights, inlets: [2])
        #expect(gate.holdingUp(sights) == [1])
        gate.forget([2])
        #expect(gate.holdingUp(sights).isEmpty)
    }

    /// The inlet with the higher number waits for the other, but not the reverse.
    @Test func twoInletsDoNotWaitForEachOther() {
        var gate = InletGate()
        var committed: [Int32: Int64] = [2: 0, 3: 0]
        for _ in 0..<8 {
            let sights = Self.sights([(0, 1, 1), (1, 1, 1), (2, committed[2]!, 4), (3, committed[3]!, 4)])
            // Everything that is let in is forwarded and committed.
            for position in gate.saw(sights, inlets: [2, 3]) { committed[position.partition] = position.nextOffset }
        }
        #expect(committed == [2: 4, 3: 4])
    }
}
