import KafkaLog
import Logging
import PushEngine
import PushModel
import PushTransport
import ShardLoop
import Synchronization

/// Carries out what the consumer group decides: which shard gets which partition, from where, and how partitions leave.
/// Events are handled one after the other, in the order Kafka's control thread reported them.
final class GroupCoordinator: Sendable {
    private let configuration: WorkerConfiguration
    private let consumer: KafkaConsumer
    private let shards: [ShardHandle]
    private let committer: Committer
    private let hub: SnapshotHub
    private let logger: Logger
    private let kafkaLines: KafkaLines
    private let fail: @Sendable (String) -> Void
    private let events: AsyncStream<ConsumerEvent>
    private let incoming: AsyncStream<ConsumerEvent>.Continuation
    /// The worker stops: answers from APNs may be awaited longer, and assignments are not worth a try.
    private let isStopping = Mutex(false)

    /// How long positions are asked for before the worker gives up and ends, to be started again.
    private static let positionsDurationMax: Duration = .seconds(100)
    private static let commitDurationMax: Duration = .seconds(3)

    init(
        configuration: WorkerConfiguration, consumer: KafkaConsumer, shards: [ShardHandle], committer: Committer,
        hub: SnapshotHub,
        logger: Logger, kafkaLines: KafkaLines, fail: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.consumer = consumer
        self.shards = shards
        self.committer = committer
        self.hub = hub
        self.logger = logger
        self.kafkaLines = kafkaLines
        self.fail = fail
        (self.events, self.incoming) = AsyncStream.makeStream()
    }

    /// Joins the group. Events wait until `run` handles them.
    func start() throws(KafkaError) {
        try self.consumer.start { [incoming] event in incoming.yield(event) }
    }

    /// Handles events until `finish`.
    func run() async {
        for await event in self.events {
            switch event {
            case .assigned(let assignment): await self.assigned(assignment)
            case .revoked(let revocation): await self.revoked(revocation)
            case .rebalanceOverdue(let partitions, let isAssignment):
                await self.overdue(partitions, isAssignment: isAssignment)
            case .failed(let error): self.failed(error)
            case .statistics: break
            }
        }
    }

    /// From here on partitions leave for good: they may take what the drain allows.
    func beginStopping() { self.isStopping.withLock { $0 = true } }
    func finish() { self.incoming.finish() }

    private func shard(of partition: Int32) -> Int {
        AssignmentPlan.shard(of: partition, shardCount: self.shards.count)
    }

    // MARK: Assignment

    private func assigned(_ assignment: PartitionAssignment) async {
        self.hub.updateGroup { report in
            report.hasJoined = true
            report.given.formUnion(assignment.partitions)
            report.rebalances += 1
        }
        self.logger.info("partitions assigned", metadata: ["partitions": "\(Self.list(assignment.partitions))"])
        guard !assignment.partitions.isEmpty else {
            assignment.complete { _ in nil }
            return
        }
        guard let positions = await self.positions(of: assignment) else { return }
        let topicCount = assignment.topics.count
        var readers: [Int32: [PartitionReader]] = [:]
        for number in assignment.partitions {
            readers[number] = assignment.topics.indices.compactMap {
                assignment.reader(topicIndex: $0, partition: number)
            }
        }
        let plan = AssignmentPlan(
            partitions: assignment.partitions, topics: assignment.topics, positions: positions,
            startFrom: self.configuration.startFrom, shardCount: self.shards.count,
            hasQueues: { readers[$0]?.count == topicCount })
        self.committer.own(assignment.partitions, starts: plan.toRead)
        guard assignment.complete({ plan.starts[$0].map { .offset($0) } }) else {
            // Taken away meanwhile, which its own event tells; or started elsewhere, which the readers notice.
            return
        }
        self.committer.add(plan.toCommit)
        // The shards begin when the group has confirmed that this worker is a member.
        self.committer.ask()
        for (shard, grants) in plan.grants {
            self.shards[shard].assign(grants.map { (grant: $0, readers: readers[$0.number] ?? []) })
        }
    }

    /// Where the group is and where the logs end, asked until Kafka answers; `nil`: not worth it any more.
    private func positions(of assignment: PartitionAssignment) async -> [TopicPartition: PartitionPositions]? {
        let deadline = ContinuousClock.now + Self.positionsDurationMax
        let (consumer, wanted) = (self.consumer, assignment.topicPartitions)
        while true {
            let answer = await NamedThread.run("kafka-positions") { () -> Result<[PartitionPositions], KafkaError> in
                do throws(KafkaError) {
                    return .success(try consumer.positions(of: wanted, within: .seconds(5)))
                } catch {
                    return .failure(error)
                }
            }
            switch answer {
            case .success(let positions):
                self.hub.updateGroup { $0.errors["positions"] = nil }
                return Dictionary(positions.map { ($0.topicPartition, $0) }) { first, _ in first }
            case .failure(let error):
                guard !self.isStopping.withLock({ $0 }) else { return nil }
                self.logger.warning("positions cannot be read; asking again", metadata: ["cause": "\(error)"])
                self.hub.updateGroup { $0.errors["positions"] = "where the group stands cannot be read: \(error)" }
                guard ContinuousClock.now < deadline, !error.isFatal else {
                    self.fail("where the group stands cannot be read: \(error)")
                    return nil
                }
            }
            // The broker that has just failed to answer gets a moment.
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    // MARK: Leaving

    private func revoked(_ revocation: PartitionRevocation) async {
        self.hub.updateGroup { $0.rebalances += 1 }
        self.logger.info(
            revocation.isLost ? "partitions lost" : "partitions revoked",
            metadata: ["partitions": "\(Self.list(revocation.partitions))"])
        if !revocation.isLost { await self.release(revocation) }
        _ = self.committer.take(revocation.partitions)
        await self.forget(revocation.partitions)
        if !revocation.complete() {
            self.logger.warning(
                "partitions were given up late", metadata: ["partitions": "\(Self.list(revocation.partitions))"])
        }
    }

    private func release(_ revocation: PartitionRevocation) async {
        let left = Self.millis(revocation.deadline - .now)
        let isStopping = self.isStopping.withLock { $0 }
        let times = ReleaseTimes(
            leftMillis: left, isStopping: isStopping, quietWaitMillis: self.configuration.quietWaitMillis)
        var positions: [CommitPosition] = []
        var unfinished: [Int32] = []
        await withTaskGroup(of: ReleasedPositions?.self) { group in
            for (number, shard) in self.shards.enumerated() {
                let mine = revocation.partitions.filter { self.shard(of: $0) == number }
                guard !mine.isEmpty else { continue }
                group.addTask { try? await shard.release(mine, times: times) }
            }
            for await released in group {
                positions += released?.positions ?? []
                unfinished += released?.unfinished ?? []
            }
        }
        if !unfinished.isEmpty {
            self.logger.warning(
                "partitions left before Kafka had acknowledged everything; the next owner repeats what is not committed",
                metadata: ["partitions": "\(Self.list(unfinished))"])
        }
        let last = CommitGathering.last(waiting: self.committer.take(revocation.partitions), released: positions)
        await self.committer.settle()
        let wanted = self.committer.named(last)
        guard !wanted.isEmpty else { return }
        let consumer = self.consumer
        let note = ReleaseNote(wallMillis: MachineClock.now().wallMillis)
        let result = await NamedThread.run("kafka-commit") {
            consumer.commitSync(wanted, metadata: note.metadata, within: Self.commitDurationMax)
        }
        if let refusal = result.refused.first {
            self.logger.warning(
                "the last commit of partitions was refused; the next owner repeats",
                metadata: [
                    "partitions": "\(result.refused.count)", "first": "\(refusal.position)",
                    "cause": "\(refusal.error)",
                ])
        }
    }

    private func forget(_ partitions: [Int32]) async {
        defer { self.hub.updateGroup { $0.given.subtract(partitions) } }
        for (number, shard) in self.shards.enumerated() {
            let mine = partitions.filter { self.shard(of: $0) == number }
            guard !mine.isEmpty else { continue }
            // Fails only when the loop has ended, and then there is nothing to forget.
            try? await shard.forget(mine)
        }
    }

    private func overdue(_ partitions: [Int32], isAssignment: Bool) async {
        self.logger.error(
            isAssignment ? "an assignment took too long" : "a revocation took too long",
            metadata: ["partitions": "\(Self.list(partitions))"])
        guard !isAssignment else { return }
        _ = self.committer.take(partitions)
        await self.forget(partitions)
    }

    // MARK: Errors

    private func failed(_ error: KafkaError) {
        if error.isFatal {
            self.fail("the Kafka consumer has ended: \(error)")
        } else {
            self.kafkaLines.warn("Kafka", error)
            self.hub.updateGroup { $0.errors["kafka"] = "Kafka: \(error)" }
        }
    }

    private static func list(_ partitions: [Int32]) -> String { partitions.map { "\($0)" }.joined(separator: ",") }

    private static func millis(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000
    }
}
