public import PushEngine
public import PushTransport
public import ShardLoop

/// What a worker has done and how it stands, as one value. Each shard's part was taken between two of its turns, so
/// that the conservation identity holds in it at every moment.
public struct WorkerSnapshot: Sendable {
    /// Where an owned partition stands.
    public enum PartitionPhase: String, Sendable, CaseIterable {
        /// It has not begun; `reason` says why. It begins when Kafka can be asked about it.
        case waiting
        /// The ownership marker is on its way, or positions are being asked for.
        case claiming
        /// `state` is being read.
        case restoring
        /// Its records are taken and pushed.
        case running
        /// It lies beyond the partitions that `state` was written for: its records are forwarded to those.
        case inlet
        /// It leaves: answers are awaited, the rest is written down.
        case releasing
        /// It cannot go on without a person; `reason` says why.
        case halted
    }

    /// One partition that the worker owns.
    public struct Partition: Sendable, Equatable {
        /// The number of the partition, from 0.
        public var number: Int32
        /// The shard that has it, from 0.
        public var shard: Int
        /// Where it stands.
        public var phase: PartitionPhase
        /// Records of `state` read so far, and how many there are to read at most.
        public var restoredRecords: Int64
        /// Records of `state` that there are to read at most.
        public var restoreRecordsMax: Int64
        /// Why it is halted or waits; empty otherwise.
        public var reason: String
    }

    /// One route of one shard.
    public struct Route: Sendable {
        /// What logs and metrics call the route, such as `production/ABC123DEFG`.
        public var name: String
        /// The shard it belongs to, from 0.
        public var shard: Int
        /// What happened on it.
        public var counters: RouteCounters
        /// How it stands.
        public var status = RouteStatus()
    }

    /// Sums over all shards.
    public var engine = EngineCounters()
    /// The apps of `engine.apps`, in their order.
    public var bundleIDs: [String] = []
    /// The routes of all shards, each shard's apart.
    public var routes: [Route] = []
    /// The partitions of all shards.
    public var partitions: [Partition] = []
    /// What the worker knows of channels, for the apps and environments whose channels it keeps.
    public var channelListings: [ChannelListing] = []
    /// Which configuration it goes by.
    public var configuration = ConfigurationStatus()
    /// Event loops that carry partitions.
    public var shardCount = 0
    /// From the record's time to APNs' acceptance; and from being taken out of Kafka to it. Milliseconds.
    public var recordToAccepted = LatencyDistribution()
    /// From being taken out of Kafka to APNs' acceptance, milliseconds.
    public var takenToAccepted = LatencyDistribution()
    /// Age of the newest state of an audience when APNs takes it for a member, milliseconds.
    public var memberFreshness = LatencyDistribution()
    /// How long what members are owed will take, at the pace of late: that of the shard with the most left. 0 without work, at most an hour.
    public var fanoutDrainSeconds = 0.0
    /// The group has given partitions at least once (none, perhaps).
    public var hasJoinedGroup = false
    /// Partitions the group has given and whose shards have not said yet where they stand.
    public var awaitedPartitionCount = 0
    /// The worker is stopping: it takes nothing new.
    public var isDraining = false
    /// What is wrong now, in plain words; readiness shows it. Each once.
    public var errors: [String] = []
    /// What is wrong and makes no worker unready, as another in its place would do no better; readiness shows it, too.
    public var degraded: [String] = []
    /// Events come and nothing leaves; `degraded` says so in words.
    public var nothingLeaves = false
    /// Sums over all shards, with the commits and rebalances of the worker.
    public var kafka = KafkaCounters()
    /// Sums over all shards, without what a tracer counts.
    var tracing = TracingCounters()

    /// A worker that has done nothing yet.
    public init() {}

    /// Takes part in the group, every partition it owns is restored unless nobody can begin it, and nothing is wrong.
    public var isReady: Bool {
        self.hasJoinedGroup && !self.isDraining && self.errors.isEmpty && self.awaitedPartitionCount == 0
            && self.partitions.allSatisfy { $0.phase == .running || $0.phase == .waiting || $0.phase == .inlet }
    }

    /// Everything consumed has its outcome and everything written is acknowledged.
    public var isSettled: Bool {
        self.engine.pending == 0 && self.engine.inFlight == 0 && self.engine.unacknowledged == 0
    }

    /// Partitions whose records are being taken.
    public var runningPartitionCount: Int { self.partitions.count { $0.phase == .running } }
}

/// What was said to Kafka and how it answered.
public struct KafkaCounters: Sendable, Equatable {
    /// Records handed to the producers.
    public var recordsProduced: UInt64 = 0
    /// Records that Kafka did not take; they are produced again.
    public var deliveriesFailed: UInt64 = 0
    /// Records that wait to be produced again.
    public var retriesWaiting = 0
    /// Times that a producer had no room: back-pressure.
    public var queueFull: UInt64 = 0
    /// Producers that took the place of one that had ended.
    public var producersRenewed: UInt64 = 0
    /// Answers other than a success, by topic and kind.
    public var refusals = RefusalTable()
    /// Dead letters that were written without their value.
    public var deadLettersShrunk: UInt64 = 0
    /// Dead letters that were given up.
    public var deadLettersGivenUp: UInt64 = 0
    /// Outcomes that Kafka refused for good.
    public var outcomesUnpublished: UInt64 = 0
    /// Batches of offsets committed.
    public var commits: UInt64 = 0
    /// Batches with something that was refused.
    public var commitsFailed: UInt64 = 0
    /// Assignments and revocations.
    public var rebalances: UInt64 = 0
    /// Records read from the topic `state`.
    public var restoredRecords: UInt64 = 0

    /// Nothing counted yet.
    public init() {}
}
