/// What one record of the `state` topic says, for a person or a tool. Times are since 1970. A token is never shown, only its hash, the same
/// as in outcomes.
public struct StateRecordDescription: Equatable, Sendable {
    /// What kind of record it is, and what it says.
    public enum Content: Equatable, Sendable {
        /// Everything about one activity or channel.
        case slot(Slot)
        /// A member of an audience.
        case member(Member)
        /// How far the members of one audience in this partition are.
        case crowd(Crowd)
        /// An operator has stopped the pushes to members of an audience, or of all audiences of an app, in this partition.
        case pause(Pause)
        /// A channel that is kept for an audience, or the wish for one.
        case keptChannel(KeptChannel)
        /// An owner took the partition, or said once more that it has it.
        case marker(Marker)
        /// The slot has left; with the epoch of the owner that said so, where it did.
        case tombstone(epoch: Int64?)
        /// Written by a release that this one does not know.
        case unknownVersion(UInt8)
        /// Not what any release writes, and why.
        case malformed(String)
    }

    /// Where a record of an input topic lies. `topic` is `?` where its name was not given to the reader.
    public struct Position: Equatable, Sendable, Encodable {
        /// The topic's name.
        public var topic: String
        /// `nil`: the same as that of the `state` record.
        public var partition: Int32?
        /// Its offset in that partition.
        public var offset: Int64
    }

    /// An activity or a channel.
    public struct Slot: Equatable, Sendable, Encodable {
        /// Offset of the marker of the owner that wrote the record.
        public var epoch: Int64
        /// `awaiting`, `alive`, `starting`, `started`, `ending` or `ended`.
        public var life: String
        /// `production` or `development`.
        public var environment: String
        /// The registration asked for the larger budget (`frequent-updates: true`).
        public var frequentUpdates: Bool
        /// 16 hex digits; `nil`: no token.
        public var tokenHash: String?
        /// APNs has called the token dead.
        public var tokenIsDead: Bool
        /// When the token was registered, milliseconds since 1970; `nil`: no registration is known.
        public var registeredMillis: Int64?
        /// Timestamp of the newest event that APNs has accepted.
        public var lastAcceptedSeconds: Int64?
        /// `aps.timestamp` last given.
        public var lastStampSeconds: Int64?
        /// When it was last registered, started, updated or ended, milliseconds since 1970: its life in memory is
        /// counted from here.
        public var lastTouchedMillis: Int64
        /// The newest record of an input topic that is done with.
        public var applied: Position?
        /// Offset of the last applied record of the routed topic, and where that record was first stored.
        public var appliedRoutedOffset: Int64?
        /// Where the record that `appliedRoutedOffset` names first lay.
        public var appliedRoutedOrigin: Position?
        /// The last record that was forwarded from another partition than that.
        public var formerRoutedOrigin: Position?
        /// High-priority pushes of the last hour.
        public var budgetUnitsOut: Int
        /// When the first of them is back.
        public var budgetReturnsMillis: Int64?
        /// The channel, in a channel's record.
        public var channel: Channel?
        /// It is an audience, as its owner has it.
        public var isAudience = false
        /// What only an audience has.
        public var book: Book?
        /// What waits or was on its way.
        public var updates: [Update]
    }

    /// What the owner of an audience keeps.
    public struct Book: Equatable, Sendable, Encodable {
        /// Which life of the audience this is.
        public var audienceLife: Int64
        /// Partitions that have members. Each names the version up to which nobody there gets priority 10 now; 0: none.
        public var partitions: [Partition]
        /// The newest last.
        public var versions: [Version]
        /// Units of the two ledgers that are out: of members without `frequent-updates`, and with.
        public var budgetUnitsOut: Int
        /// Units of the ledger for members with `frequent-updates` that are out.
        public var frequentBudgetUnitsOut: Int
        /// Its channels, at most one in each environment.
        public var channels: [Channel] = []

        /// One that has asked for the audience's versions.
        public struct Partition: Equatable, Sendable, Encodable {
            /// Its number, from 0.
            public var partition: Int32
            /// `aps.timestamp` of a version; 0: none.
            public var doneStampSeconds: Int64
        }
        /// A channel that is kept for the audience, or is wanted.
        public struct Channel: Equatable, Sendable, Encodable {
            /// `production` or `development`.
            public var environment: String
            /// `wanted`, `open` or `dead`.
            public var standing: String
            /// As Apple spells it; `nil`: none has been opened. While another is wanted, that of the one that has vanished.
            public var id: String?
            /// Members that listen get the newest version by broadcast; otherwise by their tokens.
            public var serves: Bool
            /// `aps.timestamp` of the newest version that APNs has taken on it; `nil`: none.
            public var takenStampSeconds: Int64?
        }
        /// A version that the owner has made of an event.
        public struct Version: Equatable, Sendable, Encodable {
            /// Its `aps.timestamp`.
            public var stampSeconds: Int64
            /// Not every partition has it: its event has no outcome.
            public var isOpen: Bool
            /// `update` or `end`.
            public var event: String
            /// Events that went into it.
            public var mergedCount: Int
        }
    }

    /// Says that pushes to members are stopped.
    public struct Pause: Equatable, Sendable, Encodable {
        /// Offset of the marker of the owner that wrote the record.
        public var epoch: Int64
        /// Milliseconds since 1970.
        public var sinceMillis: Int64
        /// All audiences of the app are meant.
        public var isOfApp: Bool
    }

    /// What only a channel has.
    public struct Channel: Equatable, Sendable, Encodable {
        /// What it keeps for phones that are off, `none` or `most-recent`; `nil`: nobody has said so yet.
        public var storage: String?
        /// How far APNs' refusals have stretched its distance, in quarters of a doubling.
        public var throttleSteps: Int
        /// When its next broadcast may leave, milliseconds since 1970.
        public var notBeforeMillis: Int64
    }

    /// One push that was still to be accepted.
    public struct Update: Equatable, Sendable, Encodable {
        /// `start`, `update` or `end`.
        public var event: String
        /// 10, 5 or 1.
        public var priority: Int
        /// The stamp it was given; `nil`: it was not about to leave.
        public var stampSeconds: Int64?
        /// The timestamp of its newest event, seconds since 1970.
        public var timestampSeconds: Int64
        /// `nil`: never.
        public var expiresSeconds: Int64?
        /// Events that went into it, and those of them whose outcome is open.
        public var mergedCount: Int
        /// Number of these events whose outcome is open.
        public var openCount: Int
        /// Bytes kept of its events.
        public var byteCount: Int
        /// Its newest content has an alert.
        public var hasAlert: Bool
        /// An attempt got no answer: it may be on the phone already.
        public var mayBeSent: Bool
        /// The newest event.
        public var newest: Position
        /// JSON texts as the events brought them; empty: none.
        public var contentState: String
        /// The alert as the event brought it; empty: none.
        public var alert: String
    }

    /// A token in an audience.
    public struct Member: Equatable, Sendable, Encodable {
        /// Offset of the marker of the owner that wrote the record.
        public var epoch: Int64
        /// 16 hex digits.
        public var tokenHash: String
        /// The token starts cards.
        public var isStartToken = false
        /// It has left, and is kept for a while to remember what it was sent.
        public var hasLeft = false
        /// `production` or `development`.
        public var environment: String
        /// The registration asked for the larger budget (`frequent-updates: true`).
        public var frequentUpdates: Bool
        /// Its join says that it listens on a channel.
        public var listens = false
        /// When it joined, seconds since 1970; of an update token that has left, when it did.
        public var joinedSeconds: Int64
        /// How records of members name their audience: 16 hex digits.
        public var audienceReference: String
    }

    /// What a partition keeps of an audience that it has members of.
    public struct Crowd: Equatable, Sendable, Encodable {
        /// `versions`, `progress`, `voided` or `starts`.
        public var record: String
        /// Offset of the marker of the owner that wrote the record.
        public var epoch: Int64
        /// Which life of the audience is meant.
        public var life: Int64
        /// `aps.timestamp` of the versions kept, the newest last; of progress, of the one that it tells of.
        public var stampSeconds: [Int64] = []
        /// What the newest version says.
        public var contentState: String?
        /// How far each pass is.
        public var passes: [Pass] = []

        /// The members of one environment.
        public struct Pass: Equatable, Sendable, Encodable {
            /// `production` or `development`.
            public var environment: String
            /// How much of the round is done, 0 to 1.
            public var shareMet: Double
            /// Members that are unanswered or wait to be tried again.
            public var waitingCount: Int
        }
        /// What became of its members so far, by name; of a progress record.
        public var counts: [String: UInt64]?
    }

    /// What the keeper of an app's channels knows about one of them, from the wish for it until Apple's list shows it no more.
    public struct KeptChannel: Equatable, Sendable, Encodable {
        /// Offset of the marker of the owner that wrote the record.
        public var epoch: Int64
        /// `production` or `development`.
        public var environment: String
        /// The keeper's own number of it.
        public var number: Int64
        /// `wanted`, `asked`, `open`, `ended`, `deleting`, `deleted` or `possiblyOurs`.
        public var phase: String
        /// When the phase began, milliseconds since 1970.
        public var sinceMillis: Int64
        /// Its audience's owner has been told what the phase has to say.
        public var isAnnounced: Bool
        /// What it keeps for phones that are off, `none` or `most-recent`.
        public var storage: String
        /// As Apple spells it; `nil`: Apple has not answered yet.
        public var id: String?
        /// When Apple's answer came, milliseconds since 1970.
        public var openedMillis: Int64?
        /// Whom it is for; `nil`: nobody yet, or not known to be ours.
        public var audience: String?
        /// Which of the audience's lives, seconds since 1970.
        public var audienceLife: Int64?
        /// When that life ended, milliseconds since 1970.
        public var endedMillis: Int64?
        /// How many times of the schedule have been served after the end.
        public var beaconsSent: Int
        /// Bytes of what is broadcast again after the end.
        public var endByteCount: Int
    }

    /// Says that an owner took the partition.
    public struct Marker: Equatable, Sendable, Encodable {
        /// Offset of the owner's first marker; `nil`: this one is it.
        public var epoch: Int64?
        /// When the owner took the partition over, milliseconds since 1970.
        public var takenOverMillis: Int64
        /// Partitions of the input topics when it was written.
        public var partitionCount: Int32
        /// Empty: not known.
        public var cluster: String
        /// Records of `state` below this offset name positions of another cluster; `nil`: none does.
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
    /// Offset of the marker of the owner that wrote it; `nil`: it does not say, or is a first marker.
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
