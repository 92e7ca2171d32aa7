public import PushModel

/// Plain counts of one shard since start; the loop publishes snapshots of them.
///
/// At every moment `consumed + restored + forwardsRefused == outcomes + pending + forwarded + handedOver` (contract: Conservation).
public struct EngineCounters: Sendable, Equatable {
    /// Events taken from Kafka.
    public var consumed: UInt64 = 0
    /// Events that came out of `state` as pending.
    public var restored: UInt64 = 0
    /// Misplaced records written to the routed topic.
    public var forwarded: UInt64 = 0
    /// Of these, those that Kafka refused for good: they have an outcome instead.
    public var forwardsRefused: UInt64 = 0
    /// Events that were still pending when their partition left.
    public var handedOver: UInt64 = 0
    /// By `Outcome.rawValue`.
    public var outcomes = [UInt64](repeating: 0, count: Outcome.allCases.count)
    /// Events without an outcome yet.
    public var pending: UInt64 = 0

    /// Requests that left for APNs.
    public var pushesSent: UInt64 = 0
    /// What became of each app's requests, in the order of `EngineConfiguration.apps`.
    public var apps: [AppCounters] = []
    /// Sent with priority 10, and so counted against a budget.
    public var pushesHighPriority: UInt64 = 0
    /// High-priority updates sent with priority 5 because the budget was spent.
    public var pushesDowngraded: UInt64 = 0
    /// Events taken into a push that already had one: those replaced before they were sent.
    public var eventsMerged: UInt64 = 0
    /// Tokens that APNs called dead, and that were believed to be.
    public var tokensDead: UInt64 = 0
    /// Verdicts that would have removed a token but for the guard.
    public var tokenRemovalsStopped: UInt64 = 0
    /// Times that an app was held back because APNs refuses its topic.
    public var topicsRefused: UInt64 = 0
    /// Records written to `state`.
    public var stateRecords: UInt64 = 0
    /// Stretches of `state` that another wrote, and the records of others that were overwritten.
    public var stateGaps: UInt64 = 0
    /// Records of others that were overwritten.
    public var stateRecordsForeign: UInt64 = 0
    /// Dead letters written.
    public var deadLetters: UInt64 = 0
    /// Records forwarded because their key belongs to another partition.
    public var misplaced: UInt64 = 0
    /// Updates and starts that were taken, and no dead letters.
    public var updatesTaken: UInt64 = 0
    /// Events whose record has a time that cannot be one (`RecordTime`).
    public var untimed: UInt64 = 0

    /// Questions to APNs what a channel keeps.
    public var channelQuestions: UInt64 = 0
    /// Questions to keepers whether a channel is kept for an audience.
    public var channelKeeperQuestions: UInt64 = 0

    /// Channels that APNs has made for audiences.
    public var channelsCreated: UInt64 = 0
    /// Creations without an answer, those that an owner before left behind included.
    public var channelAnswersLost: UInt64 = 0
    /// Channels adopted after a lost answer.
    public var channelsAdopted: UInt64 = 0
    /// Channels that are shown as possibly ours after a lost answer.
    public var channelsShown: UInt64 = 0
    /// Channels of ours that are deleted.
    public var channelsDeleted: UInt64 = 0
    /// Channels of ours that somebody else has deleted.
    public var channelsVanished: UInt64 = 0
    /// Audiences that were refused a channel.
    public var channelWishesRefused: UInt64 = 0
    /// Ends that were broadcast again.
    public var channelBeacons: UInt64 = 0
    /// Times that an operator was to be told of an app's channels.
    public var channelAlarms: UInt64 = 0
    /// Versions of audiences that were broadcast.
    public var channelBroadcastsSent: UInt64 = 0
    /// Of these, accepted.
    public var channelBroadcastsAccepted: UInt64 = 0
    /// Times that members listening on a channel were served by their tokens instead.
    public var channelFallbacks: UInt64 = 0
    /// Keepers of channels: apps and environments whose channels this shard keeps.
    public var channelKeepers: Int = 0
    /// Channels that wait for an audience.
    public var channelsWarm: Int = 0
    /// Audiences that wait for a channel.
    public var channelsWaiting: Int = 0
    /// Channels of audiences that live.
    public var channelsKeptOpen: Int = 0
    /// Channels whose audience's life is over.
    public var channelsLingering: Int = 0
    /// Channels that are shown as possibly ours.
    public var channelsPossiblyOurs: Int = 0

    /// Of the pushes sent, those to members of audiences.
    public var memberPushesSent: UInt64 = 0
    /// Versions that audiences made.
    public var versionsPublished: UInt64 = 0
    /// What became of what members were due.
    public var members = MemberCounters()
    /// What became of starts that start members were due.
    public var startMembers = MemberCounters()
    /// Update tokens that joined an audience, and were no members, while a start of it went round.
    public var startTokensReturned: UInt64 = 0
    /// Times that a start waited, or was not sent, because its token had had its starts of the hour.
    public var startsHeldBack: UInt64 = 0
    /// Members of audiences in memory.
    public var membersHeld: Int = 0
    /// Of these, those for whom APNs refused the newest version for good.
    public var membersRefused: Int = 0
    /// Of the members waiting, for versions or starts, those of audiences that are paused.
    public var membersPaused: Int = 0
    /// Audiences that are paused, in each partition where they have members.
    public var audiencesPaused: Int = 0
    /// Pauses of audiences that a partition could not keep, or forgot for a later one: it remembers so many at most.
    public var pausesDropped: UInt64 = 0
    /// Slots in memory, and how many of them have something to send or in flight.
    public var activities: Int = 0
    /// Of these, channels.
    public var channels: Int = 0
    /// Slots with something to send or in flight.
    public var activitiesPending: Int = 0
    /// Requests without an answer yet.
    public var inFlight: Int = 0
    /// Records whose acknowledgement by Kafka is awaited.
    public var unacknowledged: Int = 0
    /// Apps, per environment, held back because APNs refuses their topic.
    public var topicsClosed: Int = 0

    /// Nothing counted yet.
    public init() {}

    /// Pushes that APNs accepted.
    public var pushesAccepted: UInt64 { self.apps.reduce(0) { $0 + $1.accepted } }
    /// Pushes that APNs answered with a status other than 200.
    public var pushesRefused: UInt64 { self.apps.reduce(0) { $0 + $1.refused } }
    /// Pushes that APNs did not process; they are sent again.
    public var pushesNotProcessed: UInt64 { self.apps.reduce(0) { $0 + $1.notProcessed } }
    /// Pushes without an answer: nobody knows what became of them.
    public var pushesUnknown: UInt64 { self.apps.reduce(0) { $0 + $1.unknown } }

    /// Makes room for apps that are new.
    public mutating func holdApps(_ count: Int) {
        while self.apps.count < count { self.apps.append(AppCounters()) }
    }

    /// Events that have an outcome.
    public var outcomeSum: UInt64 { self.outcomes.reduce(0, +) }

    /// Events with this outcome.
    public func count(_ outcome: Outcome) -> UInt64 { self.outcomes[Int(outcome.rawValue)] }

    /// Nothing appeared and nothing vanished.
    public var isConserved: Bool {
        self.consumed + self.restored + self.forwardsRefused
            == self.outcomeSum + self.pending + self.forwarded + self.handedOver
    }
}

/// Times of one accepted push, for histograms.
public struct AcceptedSample: Sendable, Equatable {
    /// The newest event's record time, milliseconds since 1970.
    public var recordMillis: Int64
    /// From being taken out of Kafka to leaving for APNs.
    public var queuedMillis: Int64
    /// From leaving to the answer, microseconds.
    public var apnsMicros: Int64
    /// It went to a member of an audience. `recordMillis` is the version's, or the member's join if that came later, and nothing is known of
    /// the queue.
    public var isMember = false
}
