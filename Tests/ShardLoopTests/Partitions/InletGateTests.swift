import PushEngine
import Testing

@testable import ShardLoop

/// Tests that an inlet's record waits for all records that partitions with lower numbers had when it was written.
@Suite struct InletGateTests {
    /// Makes an `InletGate.Sight` of each row: partition, committed offset, and end of the log.
    private static func sights(_ rows: [(Int32, Int64, Int64)]) -> [InletGate.Sight] {
        rows.map { InletGate.Sight(topic: 0, partition: $0.0, committedOffset: $0.1, endOffset: $0.2) }
    }

    /// The offset below which each look lets records in. -1 means that the look lets in nothing new.
    private static func play(_ looks: [[(Int32, Int64, Int64)]], inlets: Set<Int32> = [2]) -> [Int64] {
        var gate = InletGate()
        return looks.map { gate.saw(Self.sights($0), inlets: inlets).first { $0.partition == 2 }?.nextOffset ?? -1 }
    }

    @Test func nothingIsLetInBeforeTheOthersAreDone() {
        let opened = Self.play([
            [(0, 5, 9), (1, 0, 3), (2, 0, 4)], [(0, 7, 9), (1, 3, 3), (2, 0, 6)], [(0, 9, 12), (1, 3, 3), (2, 0, 6)],
        ])
        // The records below the inlet's end at the first look are let in. They waited until the other partitions had
        // reached the ends of a later look.
        #expect(opened == [-1, -1, 4])
    }

    /// Some publishers learn of new partitions late, and still write to the old ones. So later records of the inlet
    /// wait until the old partitions are read up to their newer ends.
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

    /// The limit is reported at each look until it is committed. The inlet may have left and returned in between, and
    /// needs it again.
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

    /// The second of two inlets waits for the first. The first does not wait for the second, so both continue.
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
