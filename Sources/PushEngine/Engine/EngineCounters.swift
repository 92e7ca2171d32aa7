public import PushModel

/// Plain counts of one shard since start. The loop publishes snapshots of them.
///
/// At every moment `consumed + restored + forwardsRefused == outcomes + pending + forwarded + handedOver` (contract:
/// Conservation).
public struct EngineCounters: Sendable, Equatable {
    /// Events taken from Kafka.
    public var consumed: UInt64 = 0
    /// Events restored from `state` as pending.
    public var restored: UInt64 = 0
    /// Misplaced records written to the topic `routed`.
    public var forwarded: UInt64 = 0
    /// Forwarded records that Kafka refused for good. They have an outcome instead.
    public var forwardsRefused: UInt64 = 0
    /// Events that were still pending when their partition left.
    public var handedOver: UInt64 = 0
    /// Events by outcome. The index is `Outcome.rawValue`.
    public var outcomes = [UInt64](repeating: 0, count: Outcome.allCases.count)
    /// Events without an outcome yet.
    public var pending: UInt64 = 0

    /// Pushes and broadcasts of slots, and pushes to members, that left for APNs.
    public var pushesSent: UInt64 = 0
    /// What became of each app's requests, in the order of `EngineConfiguration.apps`.
    public var apps: [AppCounters] = []
    /// Pushes sent with priority 10.
    public var pushesHighPriority: UInt64 = 0
    /// High-priority updates, and versions of audiences, that were sent with priority 5 because the budget was spent.
    public var pushesDowngraded: UInt64 = 0
    /// Pending events that gave way to a newer event.
    public var eventsMerged: UInt64 = 0
    /// Tokens that APNs called dead, if the verdict was believed.
    public var tokensDead: UInt64 = 0
    /// Times that APNs called a token dead, and the token removal guard kept it.
    public var tokenRemovalsStopped: UInt64 = 0
    /// Times that an app was stopped because APNs refused its `apns-topic`.
    public var appsRefused: UInt64 = 0
    /// Records written to `state`.
    public var stateRecords: UInt64 = 0
    /// Stretches of an owned partition's `state` that another writer wrote.
    public var stateGaps: UInt64 = 0
    /// Records of other writers that were overwritten.
    public var stateRecordsForeign: UInt64 = 0
    /// Dead letters written.
    public var deadLetters: UInt64 = 0
    /// Records forwarded because their key belongs to another partition.
    public var misplaced: UInt64 = 0
    /// Updates and starts whose record was valid.
    public var updatesTaken: UInt64 = 0
    /// Events whose record has an impossible time (`RecordTime`).
    public var untimed: UInt64 = 0

    /// Questions to APNs about what a channel stores.
    public var channelQuestions: UInt64 = 0
    /// Questions to keepers about whether a channel is kept for an audience.
    public var channelKeeperQuestions: UInt64 = 0

    /// Channels that APNs has made for audiences.
    public var channelsCreated: UInt64 = 0
    /// Creations without an answer, including those of an earlier owner.
    public var channelAnswersLost: UInt64 = 0
    /// Channels that a keeper found in Apple's list and adopted, after the answer to a creation had been lost.
    public var channelsAdopted: UInt64 = 0
    /// Channels that operators were shown as possibly ours, because a creation had got no answer.
    public var channelsShown: UInt64 = 0
    /// Kept channels that Mailboat deleted.
    public var channelsDeleted: UInt64 = 0
    /// Kept channels that somebody else deleted.
    public var channelsVanished: UInt64 = 0
    /// Audiences that were refused a channel.
    public var channelWishesRefused: UInt64 = 0
    /// Broadcasts that repeated the end of an audience.
    public var channelBeacons: UInt64 = 0
    /// Times that an operator had to be warned about an app's channels.
    public var channelAlarms: UInt64 = 0
    /// Versions of audiences that were broadcast.
    public var channelBroadcastsSent: UInt64 = 0
    /// Broadcasts of versions that APNs accepted.
    public var channelBroadcastsAccepted: UInt64 = 0
    /// Times that members who listen on a channel were served by their tokens, because APNs did not accept a broadcast
    /// in time.
    public var channelFallbacks: UInt64 = 0
    /// Keepers of channels on this shard. A keeper keeps the channels of one app in one environment.
    public var channelKeepers: Int = 0
    /// Channels that wait for an audience.
    public var channelsWarm: Int = 0
    /// Audiences that wait for a channel.
    public var channelsWaiting: Int = 0
    /// Kept channels of audiences whose life is not over.
    public var channelsKeptOpen: Int = 0
    /// Kept channels of audiences whose life is over.
    public var channelsLingering: Int = 0
    /// Channels that operators are shown as possibly ours now.
    public var channelsPossiblyOurs: Int = 0

    /// Pushes sent to members of audiences.
    public var memberPushesSent: UInt64 = 0
    /// Versions that audiences made.
    public var versionsPublished: UInt64 = 0
    /// Results for members that were due a version.
    public var members = MemberCounters()
    /// Results for start members that were due a start.
    public var startMembers = MemberCounters()
    /// Update tokens that joined an audience for the first time while one of its starts went round.
    public var startTokensReturned: UInt64 = 0
    /// Times that a start waited, or was not sent, because its token had already got the maximum number of starts per
    /// hour.
    public var startsHeldBack: UInt64 = 0
    /// Members of audiences in memory.
    public var membersHeld: Int = 0
    /// Members of audiences for whom APNs refused the newest version for good.
    public var membersRefused: Int = 0
    /// Members that wait for versions or starts of paused audiences.
    public var membersPaused: Int = 0
    /// Paused audiences, counted once in each partition where they have members.
    public var audiencesPaused: Int = 0
    /// Pauses of audiences that a partition could not keep, or dropped to make room for a later one. The number of
    /// pauses is limited.
    public var pausesDropped: UInt64 = 0
    /// Slots in memory.
    public var slots: Int = 0
    /// Slots in memory that are channels.
    public var channels: Int = 0
    /// Slots with something to send or in flight.
    public var slotsPending: Int = 0
    /// Requests without an answer yet.
    public var inFlight: Int = 0
    /// Records whose acknowledgement by Kafka is awaited.
    public var unacknowledged: Int = 0
    /// Pairs of app and environment that are stopped because APNs refuses the app's `apns-topic`.
    public var appsHeldBack: Int = 0

    /// Creates counters that have counted nothing.
    public init() {}

    /// Requests that APNs accepted.
    public var pushesAccepted: UInt64 { self.apps.reduce(0) { $0 + $1.accepted } }
    /// Requests that APNs answered with a status other than 200.
    public var pushesRefused: UInt64 { self.apps.reduce(0) { $0 + $1.refused } }
    /// Requests that APNs did not process. They are sent again.
    public var pushesNotProcessed: UInt64 { self.apps.reduce(0) { $0 + $1.notProcessed } }
    /// Requests without an answer, whose result is unknown.
    public var pushesUnknown: UInt64 { self.apps.reduce(0) { $0 + $1.unknown } }

    /// Makes room for new apps.
    public mutating func holdApps(_ count: Int) {
        while self.apps.count < count { self.apps.append(AppCounters()) }
    }

    /// Events that have an outcome.
    public var outcomeSum: UInt64 { self.outcomes.reduce(0, +) }

    /// Events with this outcome.
    public func count(_ outcome: Outcome) -> UInt64 { self.outcomes[Int(outcome.rawValue)] }

    /// Whether every event is accounted for exactly once.
    public var isConserved: Bool {
        self.consumed + self.restored + self.forwardsRefused
            == self.outcomeSum + self.pending + self.forwarded + self.handedOver
    }
}

/// Times of one accepted push, for histograms.
public struct AcceptedSample: Sendable, Equatable {
    /// Time of the record of the push's newest event, milliseconds since 1970.
    public var recordMillis: Int64
    /// Time from the arrival of the push's newest event until the push left, milliseconds.
    public var queuedMillis: Int64
    /// Time from the push's departure until the answer, microseconds.
    public var apnsMicros: Int64
    /// Whether the push went to a member of an audience. If so, `recordMillis` is the later of two times: the version's
    /// and the member's join. `queuedMillis` is not known in this case.
    public var isMember = false
}
