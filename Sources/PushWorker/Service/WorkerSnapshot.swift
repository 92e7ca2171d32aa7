public import PushEngine
public import PushTransport
public import ShardLoop

/// A worker's counters and state, as one value. Each shard's part was taken between two of its turns. So every event
/// that was taken is also counted as pending, by its outcome, or as passed on.
public struct WorkerSnapshot: Sendable {
    /// The phase of an owned partition.
    public enum PartitionPhase: String, Sendable, CaseIterable {
        /// The partition has not begun; `reason` says why. Most often it begins when Kafka can be asked about it.
        case waiting
        /// The ownership marker is on its way, or positions are being asked for.
        case claiming
        /// The partition's `state` is being read.
        case restoring
        /// The partition's records are taken and pushed.
        case running
        /// The partition was added after `state` was written. Its records are forwarded to the partitions of their
        /// keys.
        case inlet
        /// The partition is leaving: answers are awaited, the rest is written down.
        case releasing
        /// The partition cannot go on until a person acts; `reason` says why.
        case halted
    }

    /// One partition that the worker owns.
    public struct Partition: Sendable, Equatable {
        /// The number of the partition, from 0.
        public var number: Int32
        /// The shard that owns the partition, from 0.
        public var shard: Int
        /// The partition's phase.
        public var phase: PartitionPhase
        /// Number of `state` records read so far.
        public var restoredRecords: Int64
        /// Maximum number of `state` records that have to be read.
        public var restoreRecordsMax: Int64
        /// Why the partition is halted or waits; empty otherwise.
        public var reason: String
    }

    /// One route of one shard.
    public struct Route: Sendable {
        /// The route's name in logs and metrics, such as `production/ABC123DEFG`.
        public var name: String
        /// The shard that the route belongs to, from 0.
        public var shard: Int
        /// The route's counters.
        public var counters: RouteCounters
        /// The route's state.
        public var status = RouteStatus()
    }

    /// The engines' counters, summed over all shards.
    public var engine = EngineCounters()
    /// Bundle ids of `engine.apps`, in their order.
    public var bundleIDs: [String] = []
    /// The routes of all shards. A route that several shards have is listed for each of them.
    public var routes: [Route] = []
    /// The partitions of all shards.
    public var partitions: [Partition] = []
    /// How many channels are on Apple's list, for each app and environment whose channels this worker keeps.
    public var channelListings: [ChannelListing] = []
    /// The configuration that the worker uses.
    public var configuration = ConfigurationStatus()
    /// Number of shards.
    public var shardCount = 0
    /// Time from a record's timestamp to APNs' acceptance of its push.
    public var recordToAccepted = LatencyDistribution()
    /// Time from taking a record out of Kafka to APNs' acceptance of its push.
    public var takenToAccepted = LatencyDistribution()
    /// Age of an audience's newest version when APNs accepts the version for a member.
    public var memberFreshness = LatencyDistribution()
    /// Estimated time to send members what they are owed, at the recent pace of the slowest shard. 0 without work, an
    /// hour at most.
    public var fanoutDrainSeconds = 0.0
    /// Whether the group has assigned partitions at least once (perhaps none).
    public var hasJoinedGroup = false
    /// Number of assigned partitions whose shards have not reported their phase yet.
    public var awaitedPartitionCount = 0
    /// Whether the worker is stopping and takes nothing new.
    public var isDraining = false
    /// Present errors in plain words, each once; readiness shows them.
    public var errors: [String] = []
    /// Faults that readiness shows, but that do not make the worker unready. Another worker in its place would have
    /// them, too.
    public var degraded: [String] = []
    /// Whether events arrive and no push leaves. `degraded` has a text about it.
    public var nothingLeaves = false
    /// Kafka's counters, summed over all shards, with the commits and rebalances of the worker.
    public var kafka = KafkaCounters()
    /// Counters of tracing, summed over all shards. The tracer's own counters are not included.
    var tracing = TracingCounters()

    /// The snapshot of a worker that has not started.
    public init() {}

    /// Whether the worker has joined the group, is not stopping, has no errors, and has restored every partition that
    /// it owns. A partition that waits does not count, because no worker could begin it.
    public var isReady: Bool {
        self.hasJoinedGroup && !self.isDraining && self.errors.isEmpty && self.awaitedPartitionCount == 0
            && self.partitions.allSatisfy { $0.phase == .running || $0.phase == .waiting || $0.phase == .inlet }
    }

    /// Whether every event taken has its outcome, and Kafka has acknowledged every record written.
    public var isSettled: Bool {
        self.engine.pending == 0 && self.engine.inFlight == 0 && self.engine.unacknowledged == 0
    }

    /// Number of partitions whose records are being taken.
    public var runningPartitionCount: Int { self.partitions.count { $0.phase == .running } }
}

/// Counters of records and commits sent to Kafka, and of its answers.
public struct KafkaCounters: Sendable, Equatable {
    /// What the shards wrote, and Kafka's answers.
    public var outbox = OutboxCounters()
    /// Number of batches of offsets that were committed.
    public var commits: UInt64 = 0
    /// Number of commits in which Kafka refused at least one offset.
    public var commitsFailed: UInt64 = 0
    /// Number of assignments and revocations.
    public var rebalances: UInt64 = 0
    /// Number of records read from the topic `state`.
    public var restoredRecords: UInt64 = 0

    /// An instance whose counters are 0.
    public init() {}
}
