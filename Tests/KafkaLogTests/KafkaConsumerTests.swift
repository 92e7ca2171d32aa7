import Synchronization
import Testing

@testable import KafkaLog

/// Tests of consumers. On the embedded cluster a group's first assignment takes 3 s, and each later round takes 2.5 s.
/// So there are few tests, and each covers several things.
@Suite(.timeLimit(.minutes(5)))
struct KafkaConsumerTests {
    private static let partitionCount: Int32 = 4
    private static let topics = ["events", "routed"]
    private static let named = Self.topics.map { EmbeddedKafka.Topic($0, partitionCount: Int(Self.partitionCount)) }

    private static func all(_ kafka: TestCluster) -> [TopicPartition] {
        Self.topics.flatMap { topic in
            (0..<Self.partitionCount).map { TopicPartition(topic: kafka[topic], partition: $0) }
        }
    }

    /// A reader keeps the promise of `PartitionReader`. Its offsets are consecutive over stalls and rebalances, and no
    /// record is skipped when a partition moves.
    @Test func noOffsetIsSkippedOverStallsAndARebalance() async throws {
        let kafka = try TestCluster(topics: Self.named)
        let all = Self.all(kafka)
        let progress = Progress()
        let perPartition = 2_000
        let writer = try TestWriter(kafka.settings)
        func write() throws {
            for partition in all {
                try writer.write(perPartition, to: partition.topic, partition: partition.partition, valueByteCount: 100)
            }
        }
        try write()
        let first = try TestMember(kafka.group("g", driver: "events", riding: ["routed"]), progress: progress)
        let second = try TestMember(kafka.group("g", driver: "events", riding: ["routed"]), progress: progress)
        let stalled = TopicPartition(topic: kafka["events"], partition: 2)
        first.stall([stalled])
        try first.join()
        let others = all.filter { $0 != stalled }
        #expect(await progress.wait { others.allSatisfy { first.snapshot.offsets[$0]?.count == perPartition } })
        // The stalled partition is held back: none of its records were read, and all records of the others were.
        #expect(first.snapshot.offsets[stalled] == nil)
        #expect(first.snapshot.readers[stalled]?.waitingCount ?? 0 > 0)

        // Records keep coming while the group makes room for a second member.
        let wokenCount = first.consumer.fetchWaker.askedCount
        try second.join()
        try write()
        #expect(
            await progress.wait {
                !second.snapshot.held.isEmpty
                    && first.snapshot.held.union(second.snapshot.held).count == Self.partitionCount
            })
        // For a rebalance, librdkafka pauses all partitions for a second. Partitions that stay are fetched again before
        // that second ends.
        #expect(await progress.wait { first.consumer.fetchWaker.askedCount > wokenCount })
        try write()
        first.stall([])
        let total = perPartition * 3
        #expect(
            await progress.wait {
                let (one, two) = (first.snapshot, second.snapshot)
                return all.allSatisfy {
                    max(one.offsets[$0]?.last ?? 0, two.offsets[$0]?.last ?? 0) == Int64(total - 1)
                }
            })
        let (one, two) = (first.snapshot, second.snapshot)
        for partition in all {
            for offsets in [one.offsets[partition] ?? [], two.offsets[partition] ?? []] where !offsets.isEmpty {
                #expect(
                    offsets == Array(offsets[0]...offsets[offsets.count - 1]),
                    "\(partition) skipped or repeated an offset")
            }
            // The second member reads from the beginning here, so it repeats what the first has read. Together they
            // have every record.
            #expect(
                Set(one.offsets[partition] ?? []).union(two.offsets[partition] ?? []).count == total, "\(partition)")
        }
        #expect(one.held.isDisjoint(with: two.held))
        // The partitions of the riding topic have the same numbers as the member's partitions of the driver topic.
        for member in [one, two] {
            #expect(Set(member.readers.keys) == Set(all.filter { member.held.contains($0.partition) }))
        }
        #expect(one.failures.isEmpty && two.failures.isEmpty)
        #expect(await second.leave())
        #expect(await first.leave())
    }

    @Test func commitsSurviveARestartAndBadPositionsAreReported() async throws {
        let kafka = try TestCluster(topics: Self.named)
        let progress = Progress()
        try TestWriter(kafka.settings).write(10, to: kafka["events"], partition: 1)
        let first = try TestMember(kafka.group("g", driver: "events", riding: ["routed"]), progress: progress)
        try first.join()
        let read = TopicPartition(topic: kafka["events"], partition: 1)
        #expect(await progress.wait { first.snapshot.offsets[read]?.count == 10 })
        let result = Mutex<CommitResult?>(nil)
        first.consumer.commit([.init(topic: kafka["events"], partition: 1, offset: 7)]) { answer in
            result.withLock { $0 = answer }
            progress.made()
        }
        #expect(await progress.wait { result.withLock { $0 != nil } })
        #expect(result.withLock { $0?.committed } == [.init(topic: kafka["events"], partition: 1, offset: 7)])
        let (sync, late) = await NamedThread.run("test") {
            (
                first.consumer.commitSync(
                    [.init(topic: kafka["routed"], partition: 0, offset: 0)], within: .seconds(5)),
                first.consumer.commitSync([.init(topic: kafka["events"], partition: 2, offset: 3)], within: .seconds(5))
            )
        }
        #expect(sync.isSuccess && late.isSuccess)
        func askPositions() async throws -> [PartitionPositions] {
            try await NamedThread.run("test") {
                Result {
                    try first.consumer.positions(
                        of: [read, .init(topic: kafka["routed"], partition: 3)], within: .seconds(5))
                }
            }.get()
        }
        // A position has the metadata of its latest commit.
        var expectedPosition = PartitionPositions(topicPartition: read, committed: 7, lowOffset: 0, endOffset: 10)
        for metadata in ["a note", nil] {
            let again = await NamedThread.run("test") {
                first.consumer.commitSync(
                    [.init(topic: kafka["events"], partition: 1, offset: 7, metadata: metadata)], within: .seconds(5))
            }
            #expect(again.isSuccess)
            expectedPosition.committedMetadata = metadata
            #expect(try await askPositions()[0] == expectedPosition)
        }
        let positions = try await askPositions()
        #expect(positions[1].committed == nil && positions[1].endOffset == 0)
        #expect(await first.leave())
        #expect(first.snapshot.held.isEmpty)
        let closed = await NamedThread.run("test") {
            first.consumer.commitSync([.init(topic: kafka["events"], partition: 1, offset: 8)], within: .seconds(1))
        }
        #expect(!closed.isSuccess)

        // The next member continues at the commit. A partition without a commit (events 0 and 3) and a position outside
        // the log (events 2, routed 3) are errors.
        let second = try TestMember(kafka.group("g", driver: "events", riding: ["routed"]), progress: progress) {
            partition in
            partition.topic == kafka["events"] ? .committed : partition.partition == 3 ? .offset(50) : .beginning
        }
        try second.join()
        let expected: [PartitionFailure] = [
            .noCommittedOffset(.init(topic: kafka["events"], partition: 0)),
            .noCommittedOffset(.init(topic: kafka["events"], partition: 3)),
        ]
        let outside: [TopicPartitionOffset] = [
            .init(topic: kafka["events"], partition: 2, offset: 3),
            .init(topic: kafka["routed"], partition: 3, offset: 50),
        ]
        let isSeen = await progress.wait {
            let failures = second.snapshot.failures
            let positions = failures.compactMap {
                if case .offsetOutOfRange(let position, _) = $0 { position } else { nil }
            }
            return second.snapshot.offsets[read]?.count == 3 && expected.allSatisfy { failures.contains($0) }
                && outside.allSatisfy { positions.contains($0) }
        }
        #expect(isSeen, "\(second.snapshot.failures)")
        #expect(second.snapshot.offsets[read] == [7, 8, 9])
        #expect(await second.leave())
    }

    @Test func aRevocationThatNobodyCompletesIsCompletedInTheEnd() async throws {
        let kafka = try TestCluster(topics: Self.named)
        let progress = Progress()
        let member = try TestMember(kafka.group("g", driver: "events"), progress: progress)
        try member.join(completesRevocations: false)
        #expect(await progress.wait { member.snapshot.held.count == Self.partitionCount })
        let isClosed = await member.consumer.close(within: .seconds(2))
        #expect(isClosed)
        #expect(member.snapshot.overdue == [Array(0..<Self.partitionCount)])
        #expect(await member.leave())
    }

    /// A member that reaches no broker loses its partitions when its session times out. Another member may own them by
    /// then.
    @Test func partitionsAreLostWhenTheSessionTimesOutAndComeBack() async throws {
        let kafka = try EmbeddedKafka(topics: Self.named)
        let progress = Progress()
        try TestWriter(kafka.settings).write(5, to: "events", partition: 0)
        let member = try TestMember(kafka.group("g", driver: "events"), progress: progress)
        try member.join()
        let read = TopicPartition(topic: "events", partition: 0)
        #expect(await progress.wait { member.snapshot.offsets[read]?.count == 5 })
        kafka.setDown()
        #expect(await progress.wait { member.snapshot.held.isEmpty })
        #expect(member.snapshot.isLostSeen)
        kafka.setUp()
        #expect(await progress.wait { member.snapshot.offsets[read]?.count == 10 })
        #expect(member.snapshot.offsets[read] == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
        #expect(await member.leave())
    }

    /// An operator may choose an eager strategy. Then the member must not use `incremental_assign`, which is for
    /// cooperative groups only.
    @Test func anEagerStrategyWorksToo() async throws {
        let kafka = try TestCluster(topics: Self.named)
        let progress = Progress()
        try TestWriter(kafka.settings).write(5, to: kafka["routed"], partition: 3)
        let strategy = KafkaSettings([.init("partition.assignment.strategy", "range")])
        let member = try TestMember(
            kafka.group("g", driver: "events", riding: ["routed"], extra: strategy), progress: progress)
        try member.join()
        #expect(
            await progress.wait { member.snapshot.offsets[.init(topic: kafka["routed"], partition: 3)]?.count == 5 })
        #expect(await member.leave())
        #expect(member.snapshot.held.isEmpty && member.snapshot.errors.isEmpty)
    }

    @Test func aConsumerThatNeverStartedClosesAtOnceAndRefusesCommits() async throws {
        let consumer = try KafkaConsumer(
            ConsumerConfiguration(
                settings: KafkaSettings(bootstrap: "127.0.0.1:1"), groupID: "g", driverTopic: "t", log: { _ in }))
        #expect(await consumer.close(within: .seconds(1)))
        let refused = Mutex(0)
        consumer.commit([.init(topic: "t", partition: 0, offset: 1)]) { result in
            refused.withLock { $0 = result.refused.count }
        }
        #expect(refused.withLock { $0 } == 1)
        #expect(throws: KafkaError.self) { try consumer.start { _ in } }
        #expect(throws: KafkaError.self) {
            try KafkaConsumer(
                ConsumerConfiguration(
                    settings: KafkaSettings([.init("session.timeout.ms", "x")]), groupID: "g", driverTopic: "t"))
        }
    }
}
