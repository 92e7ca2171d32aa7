public import APNSProtocol
public import PushModel

/// One app as the engine sees it. Elsewhere an app is named by its index in `EngineConfiguration.apps`.
public struct AppConfiguration: Sendable {
    /// What happens to a high-priority update when no budget is left: `downgrade` sends it at once with priority 5,
    /// `defer` delays it until budget returns.
    public enum BudgetPolicy: String, Sendable, CaseIterable { case downgrade, `defer` }
    /// What happens to an alert or a `start` if it is unknown whether it arrived: `resend` sends it again, `drop` does
    /// not.
    public enum UnknownAnswerPolicy: String, Sendable, CaseIterable { case resend, drop }

    /// The app's bundle identifier, such as `com.example.pizza`. Events name the app by this identifier.
    public var bundleID: String
    /// High-priority pushes per activity in any rolling hour. 1...3,600.
    public var budgetPerHour: Int = 15
    /// High-priority pushes per activity in any rolling hour, for a registration with `frequent-updates: true`.
    /// 1...3,600.
    public var budgetFrequentPerHour: Int = 120
    /// Versions of an audience that are sent with priority 10 in any rolling hour, for members without
    /// `frequent-updates`. 1...3,600.
    public var budgetAudiencePerHour: Int = 15
    /// Versions of an audience that are sent with priority 10 in any rolling hour, for members with `frequent-updates:
    /// true`. 1...3,600.
    public var budgetAudienceFrequentPerHour: Int = 120
    /// Maximum number of starts of audiences that a push-to-start token gets in any rolling hour.
    /// 1...`startsPerHourMax`.
    public var startsPerHour: Int = 4
    /// The largest value of `startsPerHour`.
    public static var startsPerHourMax: Int { 16 }
    /// How long a start member is kept without joining again, milliseconds.
    public var startMemberLifeMillis: Int64 = 30 * 86_400_000
    /// The time over which the pushes of an audience's start are spread, milliseconds. 0: they are not spread.
    public var audienceSpreadMillis: Int64 = 0
    /// Number of budget units that only starts, ends and pushes with an alert may take. 0..<budgetPerHour.
    public var budgetReserve: Int = 2
    /// What happens to a high-priority update when no budget is left.
    public var budgetPolicy: BudgetPolicy = .downgrade
    /// Whether an alert is sent again if it is unknown whether it arrived. A phone may sound twice.
    public var alertOnUnknown: UnknownAnswerPolicy = .resend
    /// Whether a `start` is sent again if it is unknown whether it arrived. A second card may appear.
    public var startOnUnknown: UnknownAnswerPolicy = .drop
    /// Whether the `stale-date` of an update without `expires` also counts as the update's expiry.
    public var staleDateExpires = false
    /// How long a low-priority update waits for newer ones, from the first unsent event, milliseconds. 0: not at all.
    public var lowPriorityWindowMillis: Int64 = 1_000
    /// The least time between two pushes of an activity, or two versions of an audience, milliseconds. Not below 1,000.
    public var minimumDistanceMillis: Int64 = 1_000
    /// How long an update waits for a usable token, milliseconds.
    public var registrationWaitMillis: Int64 = 300_000
    /// How long an activity, an audience or a channel is remembered after its end, milliseconds.
    public var retentionAfterEndMillis: Int64 = 3_600_000
    /// Share of `EngineSettings.pendingMax` that this app may take, 0...1.
    public var pendingShare: Double = 1.0
    /// The least time between two broadcasts on a channel, milliseconds. Not below 1,000. Each time that APNs throttles
    /// the channel, the time doubles, up to 16 times this value.
    public var channelMinimumDistanceMillis: Int64 = 15_000
    /// High-priority broadcasts per channel in any rolling hour; 0: not counted.
    public var channelBudgetPerHour: Int = 0
    /// How the worker knows what a channel stores for phones that are off.
    public var channelStorage: ChannelStoragePolicy = .ask
    /// Whether channels are opened for the app's audiences. Phones with iOS 18 can listen on them.
    public var audienceChannel: AudienceChannelPolicy = .none
    /// What channels that are opened for audiences store for phones that are off.
    public var audienceChannelStorage: AudienceChannelStorage = .none
    /// How long members that listen on a channel wait for a broadcast that APNs does not accept, milliseconds. After
    /// this time they get pushes by their tokens.
    public var channelFallbackMillis: Int64 = 60_000
    /// How long a channel stays after its audience's end, milliseconds.
    public var channelLingerMillis: Int64 = 8 * 3_600_000
    /// Whether only Mailboat creates channels for this app. If so, a channel that is new in Apple's list after a
    /// creation without an answer counts as ours.
    public var channelsExclusive = false
    /// Number of channels in each environment that are made before an audience asks for one.
    public var channelsWarm = 0
    /// Route for production: index into the transport's routes; `nil`: the environment is not configured.
    public var productionRoute: UInt16?
    /// Route for the development environment; `nil`: the environment is not configured.
    public var developmentRoute: UInt16?
    /// Route for broadcasts in production, for which a host of their own may be configured; `nil`: the environment is
    /// not configured.
    public var productionBroadcastRoute: UInt16?
    /// Route for broadcasts in the development environment; `nil`: the environment is not configured.
    public var developmentBroadcastRoute: UInt16?
    /// Route for making, reading, listing and deleting channels in production; `nil`: it is not configured.
    public var productionManageRoute: UInt16?
    /// Route for making, reading, listing and deleting channels in the development environment; `nil`: it is not
    /// configured.
    public var developmentManageRoute: UInt16?

    public init(bundleID: String) { self.bundleID = bundleID }

    /// The route of a request of this kind in one environment; `nil`: the route is not configured.
    public func route(_ environment: PushEnvironment, _ kind: RequestKind = .device) -> UInt16? {
        let isProduction = environment == .production
        return switch kind {
        case .device: isProduction ? self.productionRoute : self.developmentRoute
        case .broadcast: isProduction ? self.productionBroadcastRoute : self.developmentBroadcastRoute
        case .createChannel, .readChannel, .deleteChannel, .listChannels:
            isProduction ? self.productionManageRoute : self.developmentManageRoute
        }
    }
}

/// Whether channels are opened for an app's audiences.
public enum AudienceChannelPolicy: String, Sendable, CaseIterable {
    /// No channels are opened.
    case none
    /// An audience's first event opens one channel for the audience in each environment.
    case auto
}

/// What channels that are opened for audiences store.
public enum AudienceChannelStorage: String, Sendable, CaseIterable {
    /// The channels store nothing.
    case none
    /// The channels store the most recent message.
    case mostRecent = "most-recent"

    /// The policy in APNs' terms.
    public var policy: MessageStoragePolicy {
        switch self {
        case .none: .none
        case .mostRecent: .mostRecent
        }
    }
}

/// How the worker knows what a channel stores for phones that are off during a broadcast. What a channel stores is
/// fixed when the channel is made, and `apns-expiration` has to follow it (Apple: "Sending channel management requests
/// to APNs").
public enum ChannelStoragePolicy: String, Sendable, CaseIterable {
    /// APNs is asked once for each channel.
    case ask
    /// No channel of the app stores anything.
    case none
    /// Every channel of the app stores the most recent message.
    case mostRecent = "most-recent"
}

/// The configuration of one shard's engine: what an operator chose, and what the worker found out.
public struct EngineConfiguration: Sendable {
    /// What an operator may choose.
    public var settings: EngineSettings
    /// The apps whose events are taken. Pushes name an app by its index here.
    public var apps: [AppConfiguration]
    /// Names of the input topics; `SourcePosition.topic` is an index into this list. The routed topic is the last.
    public var inputTopics: [String]
    /// Index of the routed topic in `inputTopics`.
    public var routedTopicIndex: UInt16
    /// Number of partitions of each co-partitioned topic. A record's key decides which partition the record belongs to.
    public var partitionCount: Int32
    /// Kafka's own name of the cluster, at most 255 bytes; empty: not known. Positions that `state` recorded in another
    /// cluster do not count.
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
