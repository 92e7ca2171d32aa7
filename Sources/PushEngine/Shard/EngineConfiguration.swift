import PushModel

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
    /// Share of `EngineSettings.pendingMax` this app may take, 0...1.
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

/// What the engine of one shard is told at start: what was chosen, and what the worker found out.
public struct EngineConfiguration: Sendable {
    public var settings: EngineSettings
    public var apps: [AppConfiguration]
    /// Names of the input topics, in the order of `SourcePosition.topic`; the routed topic is the last.
    public var inputTopics: [String]
    public var routedTopicIndex: UInt16
    public var partitionCount: Int32
    /// Kafka's own name of the cluster, at most 255 bytes; empty: not known. State of another cluster voids positions.
    public var clusterID = ""

    public init(
        settings: EngineSettings, apps: [AppConfiguration], inputTopics: [String], routedTopicIndex: UInt16,
        partitionCount: Int32
    ) {
        self.settings = settings
        self.apps = apps
        self.inputTopics = inputTopics
        self.routedTopicIndex = routedTopicIndex
        self.partitionCount = partitionCount
    }
}
