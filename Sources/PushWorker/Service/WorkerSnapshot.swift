public import PushEngine
public import PushTransport

/// What a worker has done and how it stands, as one value. Each shard's part was taken between two of its turns, so
/// that the conservation identity holds in it at every moment.
public struct WorkerSnapshot: Sendable {
    /// Where an owned partition stands.
    public enum PartitionPhase: String, Sendable, CaseIterable {
        /// The ownership marker is on its way, or positions are being asked for.
        case claiming
        /// `state` is being read.
        case restoring
        case running
        /// It leaves: answers are awaited, the rest is written down.
        case releasing
        /// It cannot go on without a person; `reason` says why.
        case halted
    }

    public struct Partition: Sendable, Equatable {
        public var number: Int32
        public var shard: Int
        public var phase: PartitionPhase
        /// Records of `state` read so far, and how many there are to read at most.
        public var restoredRecords: Int64
        public var restoreRecordsMax: Int64
        /// Why it is halted; empty otherwise.
        public var reason: String
    }

    public struct Route: Sendable {
        public var name: String
        public var shard: Int
        public var counters: RouteCounters
        public var standing = RouteStanding()
    }

    /// Sums over all shards.
    public var engine = EngineCounters()
    public var routes: [Route] = []
    public var partitions: [Partition] = []
    public var shardCount = 0
    /// From the record's time to APNs' acceptance; and from being taken out of Kafka to it. Milliseconds.
    public var recordToAccepted = LatencyDistribution()
    public var takenToAccepted = LatencyDistribution()
    /// The group has given partitions at least once (none, perhaps).
    public var hasJoinedGroup = false
    /// Partitions the group has given and whose shards have not said yet where they stand.
    public var awaitedPartitionCount = 0
    public var isDraining = false
    /// What is wrong now, in plain words; readiness shows it. Each once.
    public var errors: [String] = []
    /// What is wrong and makes no worker unready, as another in its place would do no better; readiness shows it, too.
    public var degraded: [String] = []
    public var kafka = KafkaCounters()

    public init() {}

    /// Takes part in the group, every partition it owns is restored, and nothing is wrong.
    public var isReady: Bool {
        self.hasJoinedGroup && !self.isDraining && self.errors.isEmpty && self.awaitedPartitionCount == 0
            && self.partitions.allSatisfy { $0.phase == .running }
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
    public var recordsProduced: UInt64 = 0
    public var deliveriesFailed: UInt64 = 0
    /// Records that wait to be produced again.
    public var retriesWaiting = 0
    public var queueFull: UInt64 = 0
    public var commits: UInt64 = 0
    public var commitsFailed: UInt64 = 0
    public var rebalances: UInt64 = 0
    public var restoredRecords: UInt64 = 0

    public init() {}
}
