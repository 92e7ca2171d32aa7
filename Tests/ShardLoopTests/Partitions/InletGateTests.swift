import PushEngine
import Testing

@testable import ShardLoop

/// Records of an added partition go behind what the others held when they were written.
@Suite struct InletGateTests {
    /// Rows of partition, committed offset and end.
    private static func sights(_ rows: [(Int32, Int64, Int64)]) -> [InletGate.Sight] {
        rows.map { InletGate.Sight(topic: 0, partition: $0.0, committedOffset: $0.1, endOffset: $0.2) }
    }

    /// What each look lets in; -1: nothing new.
    private static func play(_ looks: [[(Int32, Int64, Int64)]], inlets: Set<Int32> = [2]) -> [Int64] {
        var gate = InletGate()
        return looks.map { gate.saw(Self.sights($0), inlets: inlets).first { $0.partition == 2 }?.nextOffset ?? -1 }
    }

    @Test func nothingIsLetInBeforeTheOthersAreDone() {
        let opened = Self.play([
            [(0, 5, 9), (1, 0, 3), (2, 0, 4)], [(0, 7, 9), (1, 3, 3), (2, 0, 6)], [(0, 9, 12), (1, 3, 3), (2, 0, 6)],
        ])
        // The end of the inlet is the one that was seen before the ends of the others.
        #expect(opened == [-1, -1, 4])
    }

    /// A publisher that learns late goes on writing to the old partitions: later records of the inlet are held behind
    /// these, too.
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

    /// The inlet may have left and returned between two looks.
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

    /// The later of two inlets waits for the earlier one, and not the other way round.
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
