import PushEngine
import Testing

@testable import PushWorker

/// Tests of liveness. If a partition has something to do but makes no progress, `/healthz` names it.
struct PartitionProgressTests {
    private typealias Reading = PartitionProgress.Reading

    private static func reading(
        _ position: Int64, left: Int64, partition: Int32 = 3, topic: String? = "events", isExcused: Bool = false
    ) -> Reading {
        Reading(
            subject: .init(topic: topic, partition: partition), position: position, leftCount: left,
            isExcused: isExcused)
    }

    /// Cases: the times of looks at a partition in seconds, and the reading at each look. A partition stalls after 60
    /// s.
    private static let stories: [(name: String, looks: [(Int64, Reading?)], stallsAtEnd: Bool)] = [
        (
            "stands still with records waiting",
            [(0, reading(5, left: 1)), (59, reading(5, left: 9)), (60, reading(5, left: 9))], true
        ),
        ("not for long enough", [(0, reading(5, left: 1)), (59, reading(5, left: 9))], false),
        ("nothing waits", [(0, reading(5, left: 0)), (90, reading(5, left: 0))], false),
        (
            "what waits came late",
            [(0, reading(5, left: 0)), (90, reading(5, left: 1)), (149, reading(5, left: 1))], false
        ),
        (
            "gets on, slowly", [(0, reading(5, left: 9)), (50, reading(6, left: 9)), (100, reading(7, left: 9))],
            false
        ),
        (
            "got on and then stopped",
            [(0, reading(5, left: 9)), (50, reading(6, left: 9)), (110, reading(6, left: 9))], true
        ),
        (
            "is held up by something known",
            [(0, reading(5, left: 9)), (50, reading(5, left: 9, isExcused: true)), (100, reading(5, left: 9))], false
        ),
        ("left and came back", [(0, reading(5, left: 9)), (50, nil), (100, reading(5, left: 9))], false),
        (
            "a restore that hangs", [(0, reading(0, left: 1, topic: nil)), (60, reading(0, left: 1, topic: nil))],
            true
        ),
        (
            "a restore that reads", [(0, reading(0, left: 9, topic: nil)), (60, reading(4, left: 5, topic: nil))],
            false
        ),
    ]

    @Test(arguments: 0..<PartitionProgressTests.stories.count)
    func standingStillIsAStallOnlyWithSomethingToDo(story: Int) {
        let story = Self.stories[story]
        var progress = PartitionProgress(limitMillis: 60_000)
        var stalls: [PartitionProgress.Stall] = []
        for (seconds, reading) in story.looks {
            stalls = progress.look(reading.map { [$0] } ?? [], nowMillis: seconds * 1_000)
        }
        #expect(stalls.isEmpty != story.stallsAtEnd, "\(story.name): \(stalls)")
    }

    @Test func timeWithoutKafkaDoesNotCount() {
        var progress = PartitionProgress(limitMillis: 60_000)
        _ = progress.look([Self.reading(5, left: 9)], nowMillis: 0)
        for _ in 0..<120 { progress.excuse() }
        #expect(progress.look([Self.reading(5, left: 9)], nowMillis: 620_000).isEmpty)
        #expect(!progress.look([Self.reading(5, left: 9)], nowMillis: 680_000).isEmpty)
    }

    @Test func othersAreNotBlamed() {
        var progress = PartitionProgress(limitMillis: 60_000)
        _ = progress.look([Self.reading(5, left: 9), Self.reading(5, left: 9, partition: 4)], nowMillis: 0)
        let stalls = progress.look(
            [Self.reading(6, left: 9), Self.reading(5, left: 9, partition: 4)], nowMillis: 60_000)
        #expect(stalls.map(\.subject.partition) == [4])
        #expect(stalls.first?.description == "events[4] is at offset 5 for 60 s, and 9 records wait")
    }

    /// The hub combines the shards' reports: watermarks, ends of logs, restores, and known reasons for a shard to wait.
    @Test func theHubTellsWhereEveryPartitionIs() {
        let hub = SnapshotHub(shardCount: 2)
        var first = ShardReport()
        first.watermarks = [CommitPosition(topic: 0, partition: 2, nextOffset: 7)]
        first.partitions = [
            .init(number: 2, shard: 0, phase: .running, restoredRecords: 8, restoreRecordsMax: 8, reason: ""),
            .init(number: 4, shard: 0, phase: .restoring, restoredRecords: 3, restoreRecordsMax: 10, reason: ""),
            .init(number: 6, shard: 0, phase: .halted, restoredRecords: 0, restoreRecordsMax: 0, reason: "why"),
        ]
        var second = ShardReport()
        second.isHeldUp = true
        second.watermarks = [CommitPosition(topic: 1, partition: 3, nextOffset: 5)]
        hub.publish(first, shard: 0)
        hub.publish(second, shard: 1)
        let readings = hub.readings(
            inputTopics: ["events", "routed"],
            logEnds: [
                CommitPosition(topic: 0, partition: 2, nextOffset: 9),
                CommitPosition(topic: 1, partition: 3, nextOffset: 5),
            ])
        #expect(
            readings == [
                Self.reading(7, left: 2, partition: 2), Self.reading(3, left: 7, partition: 4, topic: nil),
                Self.reading(5, left: 0, partition: 3, topic: "routed", isExcused: true),
            ])
    }
}

struct HealthTests {
    private static func faults(silences: [Int64] = [0, 0], _ change: (inout GroupReport) -> Void = { _ in }) -> String?
    {
        var group = GroupReport()
        change(&group)
        return Health.faults(
            loopSilencesMillis: silences, group: group, nowMillis: 1_000_000, loopLimitMillis: 30_000,
            partitionLimitMillis: 300_000)
    }

    @Test func aWorkerThatGetsOnIsHealthy() {
        #expect(Self.faults() == nil)
        #expect(Self.faults(silences: [30_000, 0]) == nil)
        #expect(Self.faults { $0.lookedAtMillis = 700_000 } == nil)
        // An unreachable Kafka makes the worker unready but not dead, because a restart would not help.
        #expect(Self.faults { $0.errors["kafka"] = "away" } == nil)
    }

    @Test func whatHangsIsNamed() {
        #expect(Self.faults(silences: [0, 30_001]) == "shard 1 has not taken a turn for 30001 ms")
        let stall = PartitionProgress.Stall(
            subject: .init(topic: "events", partition: 3), position: 12, leftCount: 40, millis: 312_000)
        #expect(
            Self.faults { $0.stalls = [stall] } == "events[3] is at offset 12 for 312 s, and 40 records wait")
        #expect(Self.faults { $0.lookedAtMillis = 699_999 } == "the partitions were not looked after for 300 s")
    }
}
