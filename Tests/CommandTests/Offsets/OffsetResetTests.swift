import KafkaLog
import Testing

@testable import mailboat

/// Tests of how a reset chooses the offsets to move and their new values, and of the records that it skips or repeats.
struct OffsetResetTests {
    private static func position(_ committed: Int64?, log: ClosedRange<Int64>) -> PartitionPositions {
        PartitionPositions(
            topicPartition: TopicPartition(topic: "events", partition: 3), committed: committed,
            lowOffset: log.lowerBound, endOffset: log.upperBound)
    }

    private static let verdicts: [(Int64?, OffsetReset.Target, Bool, OffsetReset.Verdict)] = [
        (12, .earliest, false, .move(to: 40)),
        (12, .latest, false, .move(to: 90)),
        (12, .offset(50), false, .move(to: 50)),
        (99, .earliest, false, .move(to: 40)),
        (12, .offset(39), false, .impossible("39 is outside the log (40 to 90): expected an offset in it")),
        (12, .offset(91), false, .impossible("91 is outside the log (40 to 90): expected an offset in it")),
        // An offset at either end of the log is in the log.
        (40, .latest, false, .keep("in the log")), (90, .earliest, false, .keep("in the log")),
        (nil, .latest, false, .keep("never committed: start-from decides")),
        (60, .earliest, true, .move(to: 40)), (nil, .latest, true, .move(to: 90)),
        (90, .latest, true, .keep("is there already")),
    ]

    @Test(arguments: Self.verdicts)
    func onlyWhatIsMeantIsMoved(
        committed: Int64?, target: OffsetReset.Target, all: Bool, expected: OffsetReset.Verdict
    ) {
        let reset = OffsetReset(target: target, includesThoseInside: all)
        #expect(reset.verdict(Self.position(committed, log: 40...90)) == expected)
    }

    private static let effects: [(Int64?, Int64, [String])] = [
        (12, 40, ["28 records deleted before they were read: lost", "50 records to read"]),
        (
            12, 90,
            [
                "28 records deleted before they were read: lost", "skips 50 records that were not read",
                "0 records to read",
            ]
        ),
        (
            99, 40,
            [
                "the log ends before the committed offset: the topic was created again, or its end is lost",
                "50 records to read",
            ]
        ),
        (60, 40, ["repeats 20 records", "50 records to read"]),
        (60, 61, ["skips 1 record that were not read", "29 records to read"]),
        (nil, 90, ["never committed", "skips 50 records that were not read", "0 records to read"]),
    ]

    @Test(arguments: Self.effects)
    func whatIsSkippedOrRepeatedIsSaid(committed: Int64?, offset: Int64, expected: [String]) {
        #expect(OffsetReset.consequences(of: offset, Self.position(committed, log: 40...90)) == expected)
    }
}
