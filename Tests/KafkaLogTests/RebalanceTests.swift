import KafkaLog
import Synchronization
import Testing

/// Tests of a reader's promises while members come and go under load. A round of the embedded cluster's group takes 2.5
/// s. The load never stops, so each rebalance happens under load.
@Suite(.timeLimit(.minutes(5)))
struct RebalanceTests {
    private static let partitionCount: Int32 = 8
    private static let topics = ["events", "routed"]
    /// No member skips an offset while one member stays and others come and go. At each round, librdkafka rewinds the
    /// partitions that a member keeps. If librdkafka then dropped a record, the offsets would have a hole.
    @Test func noOffsetIsSkippedWhileMembersComeAndGoUnderLoad() async throws {
        let kafka = try TestCluster(topics: Self.topics.map { .init($0, partitionCount: Int(Self.partitionCount)) })
        let all = Self.topics.flatMap { topic in
            (0..<Self.partitionCount).map { TopicPartition(topic: kafka[topic], partition: $0) }
        }
        let progress = Progress()
        let load = try Load(kafka.settings)
        try load.write(12_000, to: all)
        load.start(all)
        // The readers are slow and lag by seconds, so a rewind happens in the middle of a read.
        let members = try (0..<5).map { _ in
            try TestMember(
                kafka.group("g", driver: "events", riding: ["routed"]), progress: progress, workPerRecord: 4_000)
        }
        try members[0].join()
        #expect(await progress.wait { members[0].snapshot.held.count == Self.partitionCount })
        for pair in [(1, 2), (3, 4)] {
            let (first, second) = (members[pair.0], members[pair.1])
            try first.join()
            try second.join()
            #expect(await progress.wait { !first.snapshot.held.isEmpty && !second.snapshot.held.isEmpty })
            #expect(await first.leave())
            #expect(await second.leave())
        }
        #expect(await progress.wait { members[0].snapshot.held.count == Self.partitionCount })
        let ends = await load.stop()
        #expect(
            await progress.wait(.seconds(120)) {
                let offsets = members[0].snapshot.offsets
                return all.allSatisfy { offsets[$0]?.last == ends[$0] }
            })
        #expect(await members[0].leave())
        #expect(ends.values.allSatisfy { $0 > 12_000 }, "no load worth the name: \(ends)")
        for member in members {
            let snapshot = member.snapshot
            #expect(snapshot.failures.isEmpty && snapshot.overdue.isEmpty)
            for run in snapshot.runs {
                // Every ownership of a partition reads from the beginning of the log. A short ownership may have read
                // nothing.
                #expect(
                    run.offsets == Array(0..<Int64(run.offsets.count)), "\(run.partition) skipped or repeated an offset"
                )
            }
        }
        // The member that stayed has kept at least one partition through all rounds.
        #expect(members[0].snapshot.runs.contains { run in run.offsets.last == ends[run.partition] })
    }

    /// Writes to every partition until it is stopped.
    private final class Load: Sendable {
        private let writer: TestWriter
        private let isStopping = Atomic(false)
        private let ends = Mutex<[TopicPartition: Int64]?>(nil)
        private let progress = Progress()

        init(_ settings: KafkaSettings) throws { self.writer = try TestWriter(settings) }

        func write(_ count: Int, to partitions: [TopicPartition]) throws {
            for partition in partitions {
                try self.writer.write(count, to: partition.topic, partition: partition.partition)
            }
        }

        func start(_ partitions: [TopicPartition]) {
            NamedThread.start("test-load") {
                var ends: [TopicPartition: Int64] = [:]
                while !self.isStopping.load(ordering: .relaxed) {
                    for partition in partitions {
                        let offsets = try? self.writer.write(20, to: partition.topic, partition: partition.partition)
                        if let last = offsets?.last { ends[partition] = last }
                    }
                }
                self.ends.withLock { $0 = ends }
                self.progress.made()
            }
        }

        /// Stops the load.
        /// - Returns: the last offset of each partition.
        func stop() async -> [TopicPartition: Int64] {
            self.isStopping.store(true, ordering: .relaxed)
            _ = await self.progress.wait { self.ends.withLock { $0 != nil } }
            return self.ends.withLock { $0 ?? [:] }
        }
    }
}
