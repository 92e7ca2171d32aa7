import KafkaLog
import PushEngine
import ShardLoop

/// What follows from an assignment: the shard of each partition, where reading begins, and what is committed
/// immediately.
struct AssignmentPlan {
    /// The grants of each shard, in the order of the partitions.
    private(set) var grants: [Int: [PartitionGrant]] = [:]
    /// The offset from which each log is read.
    private(set) var starts: [TopicPartition: Int64] = [:]
    /// The offsets from which logs are read, by topic index. The committer treats them as committed.
    private(set) var toRead: [CommitPosition] = []
    /// Positions that are committed immediately.
    private(set) var toCommit: [CommitPosition] = []
    /// Positions that are committed again once an owner is at work; see `StartPositions.toConfirm`.
    private(set) var toConfirm: [CommitPosition] = []
    /// The metadata for the next commits of each position: that of the last commit, with what was found in the logs.
    private(set) var metadata: [(position: CommitPosition, metadata: CommitMetadata)] = []

    /// The shard of a partition. It does not change while the worker runs.
    static func shard(of partition: Int32, shardCount: Int) -> Int { Int(partition) % shardCount }

    /// - Parameters:
    ///   - partitions: the new partitions.
    ///   - topics: the input topics; the routed one is the last.
    ///   - positions: the group's offsets and the ends of the logs.
    ///   - inlets: partitions that were added after `state` was written.
    ///   - findings: what else was found in the logs, by partition number.
    ///   - stateTopic: name of the `state` topic.
    ///   - hasQueues: whether every topic of a partition can be read.
    init(
        partitions: [Int32], topics: [String], positions: [TopicPartition: PartitionPositions],
        startFrom: WorkerConfiguration.StartFrom, findings: [Int32: LogFindings] = [:], stateTopic: String = "",
        shardCount: Int, inlets: Set<Int32> = [], hasQueues: (Int32) -> Bool
    ) {
        for number in partitions {
            if inlets.contains(number) {
                self.addInlet(
                    InletStart(
                        partition: number, topics: topics.dropLast(), positions: positions,
                        canBeRead: hasQueues(number)
                    ).grant, topics: topics, shardCount: shardCount)
                continue
            }
            let mine = topics.compactMap { positions[TopicPartition(topic: $0, partition: number)] }
            let start = StartPositions(
                partition: number, positions: mine, startFrom: startFrom,
                findings: findings[number] ?? LogFindings(), stateTopic: stateTopic)
            for position in start.starts {
                self.starts[TopicPartition(topic: topics[Int(position.topic)], partition: number)] = position.nextOffset
            }
            // A halted partition may have no commit. None is made then, because a commit would hide why it is halted.
            self.toRead +=
                start.haltReason == nil
                ? start.starts : start.starts.filter { mine[Int($0.topic)].committed != nil }
            self.toCommit += start.haltReason == nil ? start.toCommit : []
            self.toConfirm += start.toConfirm
            for (position, sample) in zip(start.starts, StartPositions.samples(mine)) {
                var metadata = start.metadata[Int(position.topic)] ?? CommitMetadata()
                metadata.sample = sample
                // The next owner compares its log of `state` with this offset. So the offset is the present beginning
                // of `state`. If the partition halts, the offset stays the former beginning.
                metadata.stateStart =
                    start.haltReason == nil ? findings[number]?.stateLogStart ?? start.stateStart : start.stateStart
                self.metadata.append((position, metadata))
            }
            let grant = PartitionGrant(
                number: number, starts: start.starts, logEnds: start.logEnds,
                releasedWallMillis: start.releasedWallMillis, stateEnd: start.stateEnd, isOfNewLog: start.isOfNewLog,
                haltReason: hasQueues(number) ? start.haltReason : "a queue of the partition is missing")
            self.grants[Self.shard(of: number, shardCount: shardCount), default: []].append(grant)
        }
    }

    private mutating func addInlet(_ grant: PartitionGrant, topics: [String], shardCount: Int) {
        for start in grant.starts {
            self.starts[TopicPartition(topic: topics[Int(start.topic)], partition: grant.number)] = start.nextOffset
        }
        self.toRead += grant.starts
        self.grants[Self.shard(of: grant.number, shardCount: shardCount), default: []].append(grant)
    }
}
