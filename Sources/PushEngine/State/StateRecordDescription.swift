public import ChannelKeeping

/// What one record of the `state` topic says, for a person or a tool. Times are since 1970. A token is never shown,
/// only the hash that outcomes have, too.
public struct StateRecordDescription: Equatable, Sendable {
    /// The kind of a record, and what it says.
    public enum Content: Equatable, Sendable {
        /// Everything about one activity, channel or audience.
        case slot(Slot)
        /// A member of an audience.
        case member(Member)
        /// What this partition keeps of one audience that has members there: versions, progress, starts, or its end.
        case crowd(Crowd)
        /// An operator has stopped the pushes to members of an audience, or of all audiences of an app, in this
        /// partition.
        case pause(Pause)
        /// A channel that is kept for an audience, or the wish for one.
        case keptChannel(KeptChannel)
        /// An owner took the partition or confirmed that it still has it, or a person accepted that `state` is lost.
        case marker(Marker)
        /// A tombstone: the slot, member or other thing that the key names is forgotten. The epoch is the epoch of its
        /// writer; `nil`: not known.
        case tombstone(epoch: Int64?)
        /// The record has a version that this release cannot read.
        case unknownVersion(UInt8)
        /// No release writes such a record. The text says why.
        case malformed(String)
    }

    /// The position of a record in an input topic. `topic` is `?` if its name was not given to the reader.
    public struct Position: Equatable, Sendable, Encodable {
        /// The topic's name.
        public var topic: String
        /// Number of the partition; `nil`: the partition of the `state` record.
        public var partition: Int32?
        /// The record's offset in that partition.
        public var offset: Int64
    }

    /// An activity, a channel or an audience.
    public struct Slot: Equatable, Sendable, Encodable {
        /// Offset of the marker of the owner that wrote the record.
        public var epoch: Int64
        /// `awaiting`, `alive`, `starting`, `started`, `ending` or `ended`.
        public var life: String
        /// `production` or `development`.
        public var environment: String
        /// Whether the registration asked for the larger budget (`frequent-updates: true`).
        public var frequentUpdates: Bool
        /// Hash of the token, 16 hex digits; `nil`: no token.
        public var tokenHash: String?
        /// Whether APNs has called the token dead.
        public var tokenIsDead: Bool
        /// When the token was registered, milliseconds since 1970; `nil`: no registration is known.
        public var registeredMillis: Int64?
        /// Timestamp of the newest event that APNs has accepted.
        public var lastAcceptedSeconds: Int64?
        /// The last `aps.timestamp` that a push or version of the slot was given.
        public var lastStampSeconds: Int64?
        /// When the slot was last registered, started, updated or ended, milliseconds since 1970. How long the slot
        /// stays in memory is counted from this time.
        public var lastTouchedMillis: Int64
        /// Position of the last applied record of an input topic other than `routed`.
        public var applied: Position?
        /// Offset of the last applied record of the routed topic.
        public var appliedRoutedOffset: Int64?
        /// First position of the record that `appliedRoutedOffset` names.
        public var appliedRoutedOrigin: Position?
        /// First position of the last forwarded record that came from another topic or partition than
        /// `appliedRoutedOrigin` names.
        public var formerRoutedOrigin: Position?
        /// Number of budget units that are out: one for each high-priority push within the last hour.
        public var budgetUnitsOut: Int
        /// When the first of `budgetUnitsOut` returns, milliseconds since 1970.
        public var budgetReturnsMillis: Int64?
        /// The fields that only a channel has; `nil`: the record is not about a channel.
        public var channel: Channel?
        /// Whether the record describes an audience, as its owner knows it.
        public var isAudience = false
        /// The fields that only an audience has; `nil`: the record is not about an audience.
        public var book: Book?
        /// Pushes that waited or were on their way.
        public var updates: [Update]
    }

    /// What the owner of an audience keeps.
    public struct Book: Equatable, Sendable, Encodable {
        /// The current life of the audience.
        public var audienceLife: Int64
        /// Partitions that have asked for the audience's versions.
        public var partitions: [Partition]
        /// The audience's versions, the newest last.
        public var versions: [Version]
        /// Units that are out in the ledger for members without `frequent-updates`.
        public var budgetUnitsOut: Int
        /// Units that are out in the ledger for members with `frequent-updates`.
        public var frequentBudgetUnitsOut: Int
        /// The audience's channels, at most one in each environment.
        public var channels: [Channel] = []

        /// A partition that has asked for the audience's versions.
        public struct Partition: Equatable, Sendable, Encodable {
            /// The partition's number, from 0.
            public var partition: Int32
            /// `aps.timestamp` up to which the partition no longer sends versions with priority 10; 0: no such time is
            /// known.
            public var doneStampSeconds: Int64
        }
        /// A channel that is kept for the audience, or is wanted.
        public struct Channel: Equatable, Sendable, Encodable {
            /// `production` or `development`.
            public var environment: String
            /// `wanted`, `open` or `dead`.
            public var standing: String
            /// The channel's id as Apple spells it; `nil`: none has been opened. If the channel has vanished and
            /// another is wanted, this is still the old channel's id.
            public var id: String?
            /// Whether members that listen get the newest version by broadcast. If not, they get it by their tokens.
            public var serves: Bool
            /// `aps.timestamp` of the newest version that APNs has accepted on the channel; `nil`: none.
            public var takenStampSeconds: Int64?
        }
        /// A version that the owner has made of an event.
        public struct Version: Equatable, Sendable, Encodable {
            /// The version's `aps.timestamp`.
            public var stampSeconds: Int64
            /// Whether some partition does not have the version yet, so that its event has no outcome.
            public var isOpen: Bool
            /// `update` or `end`.
            public var event: String
            /// Number of events merged into the version.
            public var mergedCount: Int
        }
    }

    /// A stop of pushes to members.
    public struct Pause: Equatable, Sendable, Encodable {
        /// Offset of the marker of the owner that wrote the record.
        public var epoch: Int64
        /// When the pushes were stopped, milliseconds since 1970.
        public var sinceMillis: Int64
        /// Whether all audiences of the app are meant.
        public var isOfApp: Bool
    }

    /// The fields that only a channel has.
    public struct Channel: Equatable, Sendable, Encodable {
        /// What the channel keeps for phones that are off, `none` or `most-recent`; `nil`: not known yet.
        public var storage: String?
        /// Steps by which APNs' refusals have stretched the channel's distance. Four steps double it, and a doubling
        /// that has begun counts in full.
        public var throttleSteps: Int
        /// When the channel's next broadcast may leave, milliseconds since 1970.
        public var notBeforeMillis: Int64
    }

    /// One push that APNs had not accepted yet.
    public struct Update: Equatable, Sendable, Encodable {
        /// `start`, `update` or `end`.
        public var event: String
        /// Priority: 10, 5 or 1.
        public var priority: Int
        /// The stamp that the push was given; `nil`: none yet, because the push was not about to leave.
        public var stampSeconds: Int64?
        /// The timestamp of the push's newest event, seconds since 1970.
        public var timestampSeconds: Int64
        /// When the push expires, seconds since 1970; `nil`: never.
        public var expiresSeconds: Int64?
        /// Number of events merged into the push.
        public var mergedCount: Int
        /// Number of events in the push that have no outcome yet.
        public var openCount: Int
        /// Number of bytes kept of the push's events.
        public var byteCount: Int
        /// Whether the push's newest content has an alert.
        public var hasAlert: Bool
        /// Whether the push may be on the phone already: an attempt got no answer, or a former owner may have sent it.
        public var mayBeSent: Bool
        /// Position of the newest event.
        public var newest: Position
        /// The content state as the events brought it, JSON text; empty: none.
        public var contentState: String
        /// The alert as the event brought it, JSON text; empty: none.
        public var alert: String
    }

    /// A token in an audience.
    public struct Member: Equatable, Sendable, Encodable {
        /// Offset of the marker of the owner that wrote the record.
        public var epoch: Int64
        /// Hash of the token, 16 hex digits.
        public var tokenHash: String
        /// Whether the token starts cards.
        public var isStartToken = false
        /// Whether the member has left, and is kept for a while to remember what it was sent.
        public var hasLeft = false
        /// `production` or `development`.
        public var environment: String
        /// Whether the registration asked for the larger budget (`frequent-updates: true`).
        public var frequentUpdates: Bool
        /// Whether the member's join says that it listens on a channel.
        public var listens = false
        /// When the member joined, seconds since 1970. For an update token that has left, when it left.
        public var joinedSeconds: Int64
        /// The number by which records of members name the audience: 16 hex digits.
        public var audienceReference: String
    }

    /// What a partition keeps of an audience that has members there.
    public struct Crowd: Equatable, Sendable, Encodable {
        /// `versions`, `progress`, `voided` or `starts`.
        public var record: String
        /// Offset of the marker of the owner that wrote the record.
        public var epoch: Int64
        /// Number of the audience's life.
        public var life: Int64
        /// `aps.timestamp` of the versions kept, the newest last. A record of progress or of starts has only the stamp
        /// of its version or start.
        public var stampSeconds: [Int64] = []
        /// Content state of the newest version.
        public var contentState: String?
        /// How far each pass has got.
        public var passes: [Pass] = []

        /// A pass over members of one environment.
        public struct Pass: Equatable, Sendable, Encodable {
            /// `production` or `development`.
            public var environment: String
            /// Share of the round that is done, 0 to 1.
            public var shareMet: Double
            /// Number of members whose push is unanswered, or that wait for another attempt.
            public var waitingCount: Int
        }
        /// Counts of what became of the audience's members so far, by name. Only a progress record has them.
        public var counts: [String: UInt64]?
    }

    /// See `KeptChannelDescription`.
    public typealias KeptChannel = KeptChannelDescription

    /// A marker: an owner says that it has taken the partition over, or a person accepts that `state` is lost.
    public struct Marker: Equatable, Sendable, Encodable {
        /// Offset of the owner's first marker; `nil`: this marker is the first, or a person has written it.
        public var epoch: Int64?
        /// When the owner took the partition over, milliseconds since 1970.
        public var takenOverMillis: Int64
        /// Number of partitions of the input topics when the marker was written.
        public var partitionCount: Int32
        /// Kafka's name of the cluster; empty: not known.
        public var cluster: String
        /// Positions in records of `state` below this offset are void. They are from another cluster, or from before
        /// the topics were made anew. `nil`: no positions are void.
        public var voidBefore: Int64?
    }

    /// Bundle id that the key names; `nil`: it names none.
    public var app: String?
    /// The channel's id, base64: the record's key in the input topic. `nil`: the record names none.
    public var channel: String?
    /// The activity's identifier: the record's key in the input topic. `nil`: the key names none.
    public var activity: String?
    /// The audience's identifier: the record's key in the input topic. `nil`: the record names none.
    public var audience: String?
    /// The activity's, the channel's or the audience's identifier.
    public var id: String? { self.activity ?? self.channel ?? self.audience }
    /// Offset of the marker of the owner that wrote the record; `nil`: the record does not say, or is a first marker.
    public var epoch: Int64? {
        switch self.content {
        case .slot(let slot): slot.epoch
        case .member(let member): member.epoch
        case .crowd(let crowd): crowd.epoch
        case .pause(let pause): pause.epoch
        case .keptChannel(let channel): channel.epoch
        case .marker(let marker): marker.epoch
        case .tombstone(let epoch): epoch
        case .unknownVersion, .malformed: nil
        }
    }

    /// What the record says.
    public var content: Content
}
