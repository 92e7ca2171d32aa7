public import PushModel

/// One app as the engine sees it. `AppIndex` is its place in `EngineConfiguration.apps`.
public struct AppConfiguration: Sendable {
    public enum BudgetPolicy: String, Sendable, CaseIterable { case downgrade, `defer` }
    public enum UnknownAnswerPolicy: String, Sendable, CaseIterable { case resend, drop }

    public var bundleID: String
    /// High-priority pushes per activity in any rolling hour. 1...3,600.
    public var budgetPerHour: Int = 15
    /// The same for a registration with `frequent-updates: true`.
    public var budgetFrequentPerHour: Int = 120
    /// Units kept for pushes with an alert and for `end`. 0..<budgetPerHour.
    public var budgetReserve: Int = 2
    public var budgetPolicy: BudgetPolicy = .downgrade
    public var alertOnUnknown: UnknownAnswerPolicy = .resend
    public var startOnUnknown: UnknownAnswerPolicy = .drop
    public var lowPriorityWindowMillis: Int64 = 1_000
    /// Not below 1,000.
    public var minimumDistanceMillis: Int64 = 1_000
    public var registrationWaitMillis: Int64 = 300_000
    /// How long an ended activity is remembered.
    public var retentionAfterEndMillis: Int64 = 3_600_000
    /// Share of `EngineConfiguration.pendingMax` this app may take, 0...1.
    public var pendingShare: Double = 1.0
    /// Route for each environment: index into the transport's routes; `nil`: the environment is not configured.
    public var productionRoute: UInt16?
    public var developmentRoute: UInt16?

    public init(bundleID: String) { self.bundleID = bundleID }

    /// The route to one environment; `nil`: it is not configured.
    func route(_ environment: PushEnvironment) -> UInt16? {
        environment == .production ? self.productionRoute : self.developmentRoute
    }
}

/// What the engine of one shard is told at start. Limits are per shard.
public struct EngineConfiguration: Sendable {
    public var apps: [AppConfiguration]
    /// Names of the input topics, in the order of `SourcePosition.topic`; the routed topic is the last.
    public var inputTopics: [String]
    public var routedTopicIndex: UInt16
    public var partitionCount: Int32
    /// Kafka's own name of the cluster, at most 255 bytes; empty: not known. State of another cluster voids positions.
    public var clusterID = ""
    public var trustPlacement = false
    public var outcomePublication: OutcomePublication = .pushes
    /// Slots that may hold something to send. Past it partitions are not read.
    public var pendingMax = 200_000
    /// Slots in memory, idle ones included. Past it partitions are not read.
    public var activitiesMax = 2_000_000
    /// Records waiting for Kafka's acknowledgement. Past it partitions are not read and nothing new is sent.
    public var unacknowledgedMax = 50_000
    /// An activity lives this long after its start or last update (Apple: 8 h active, 4 h shown).
    public var lifetimeMillis: Int64 = 12 * 3_600_000
    /// A pending update held longer than this is written to `state`; the same is the least time between two such writes of a slot.
    public var pendingDurableAfterMillis: Int64 = 1_000
    /// State records of one turn are gathered this long.
    public var stateFlushMillis: Int64 = 50
    /// Low priority is taken as if it had become ready this much later.
    public var agingMillis: Int64 = 2_000
    /// The ownership marker is written again this often, so that a record of somebody who has lost the partition is noticed. Well below
    /// the compaction lag of `state` (30 min).
    public var markerRefreshMillis: Int64 = 300_000
    /// After a takeover nothing is pushed before what lay in the log has been read, for so long at most: of what an owner before may have
    /// sent unrecorded the newest is known then, and no phone goes back to something older.
    public var catchUpMaxMillis: Int64 = 10_000
    public var retryBackoffMinMillis: Int64 = 1_000
    public var retryBackoffMaxMillis: Int64 = 60_000
    /// The longest wait of a push that was refused for a fault of its route and not its own.
    public var routeBackoffMaxMillis: Int64 = 4_000

    public init(apps: [AppConfiguration], inputTopics: [String], routedTopicIndex: UInt16, partitionCount: Int32) {
        self.apps = apps
        self.inputTopics = inputTopics
        self.routedTopicIndex = routedTopicIndex
        self.partitionCount = partitionCount
    }
}
