import KafkaLog
import PushEngine
import ShardLoop

/// What follows from an assignment: which shard gets which partition, where reading begins, and what is committed at once.
struct AssignmentPlan {
    /// By shard, in the order of the partitions.
    private(set) var grants: [Int: [PartitionGrant]] = [:]
    /// Where each log is read from.
    private(set) var starts: [TopicPartition: Int64] = [:]
    /// The same, by index of the topic: what the committer takes to be committed.
    private(set) var toRead: [CommitPosition] = []
    /// What is committed at once.
    private(set) var toCommit: [CommitPosition] = []

    /// Each partition has one shard for as long as the worker lives.
    static func shard(of partition: Int32, shardCount: Int) -> Int { Int(partition) % shardCount }

    /// - Parameters:
    ///   - partitions: that came, all topics of each.
    ///   - topics: the input topics; the routed one is the last.
    ///   - positions: where the group stands and where the logs end.
    ///   - inlets: those that lie beyond the partitions that `state` was written for.
    ///   - hasQueues: whether every topic of a partition can be read.
    init(
        partitions: [Int32], topics: [String], positions: [TopicPartition: PartitionPositions],
        startFrom: WorkerConfiguration.StartFrom, shardCount: Int, inlets: Set<Int32> = [],
        hasQueues: (Int32) -> Bool
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
            let start = StartPositions(partition: number, positions: mine, startFrom: startFrom)
            for position in start.starts {
                self.starts[TopicPartition(topic: topics[Int(position.topic)], partition: number)] = position.nextOffset
            }
            self.toRead += start.starts
            self.toCommit += start.toCommit
            let grant = PartitionGrant(
                number: number, starts: start.starts, logEnds: start.logEnds,
                releasedWallMillis: start.releaseNote?.wallMillis,
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
