/// What one record of the `state` topic says, for a person or a tool. Times are since 1970. A token is never shown, only its hash, the same
/// as in outcomes.
public struct StateRecordDescription: Equatable, Sendable {
    public enum Content: Equatable, Sendable {
        case slot(Slot)
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
        public var topic: String
        /// `nil`: the same as that of the `state` record.
        public var partition: Int32?
        public var offset: Int64
    }

    /// An activity.
    public struct Slot: Equatable, Sendable, Encodable {
        /// Offset of the marker of the owner that wrote the record.
        public var epoch: Int64
        /// `awaiting`, `alive`, `starting`, `started`, `ending` or `ended`.
        public var life: String
        public var environment: String
        public var frequentUpdates: Bool
        /// 16 hex digits; `nil`: no token.
        public var tokenHash: String?
        /// APNs has called the token dead.
        public var tokenIsDead: Bool
        public var registeredMillis: Int64?
        /// Timestamp of the newest event that APNs has accepted.
        public var lastAcceptedSeconds: Int64?
        /// `aps.timestamp` last given.
        public var lastStampSeconds: Int64?
        public var lastTouchedMillis: Int64
        /// The newest record of an input topic that is done with.
        public var applied: Position?
        /// The same of the routed topic, and where that record first lay.
        public var appliedRoutedOffset: Int64?
        public var appliedRoutedOrigin: Position?
        /// High-priority pushes of the last hour.
        public var budgetUnitsOut: Int
        /// When the first of them is back.
        public var budgetReturnsMillis: Int64?
        /// What waits or was on its way.
        public var updates: [Update]
    }

    /// One push that was still to be accepted.
    public struct Update: Equatable, Sendable, Encodable {
        /// `start`, `update` or `end`.
        public var event: String
        /// 10 or 5.
        public var priority: Int
        /// The stamp it was given; `nil`: it was not about to leave.
        public var stampSeconds: Int64?
        public var timestampSeconds: Int64
        /// `nil`: never.
        public var expiresSeconds: Int64?
        /// Events that went into it, and those of them whose outcome is open.
        public var mergedCount: Int
        public var openCount: Int
        /// Bytes kept of its events.
        public var byteCount: Int
        public var hasAlert: Bool
        /// An attempt got no answer: it may be on the phone already.
        public var mayBeSent: Bool
        /// The newest event.
        public var newest: Position
        /// JSON texts as the events brought them; empty: none.
        public var contentState: String
        public var alert: String
    }

    /// Says that an owner took the partition.
    public struct Marker: Equatable, Sendable, Encodable {
        /// Offset of the owner's first marker; `nil`: this one is it.
        public var epoch: Int64?
        public var takenOverMillis: Int64
        public var partitionCount: Int32
        /// Empty: not known.
        public var cluster: String
    }

    /// Bundle id and activity that the key names; `nil`: it names none.
    public var app: String?
    public var activity: String?
    public var content: Content
}
