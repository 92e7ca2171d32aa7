import PushModel

/// Where an activity stands (contract §3, life cycle).
enum SlotLife: UInt8 {
    /// Known by updates alone: no token, no start.
    case awaiting
    /// Registered, or a token came with an event.
    case alive
    /// A `start` was taken and is not accepted yet.
    case starting
    /// A `start` was accepted, or nobody knows; the update token has not come yet.
    case started
    /// An `end` was taken and is not accepted yet.
    case ending
    /// An `end` was accepted.
    case ended
}

/// The last record a slot has taken from one log, as far as a state record written now would cover it.
struct AppliedPosition: Equatable {
    /// -1: none.
    var topic: Int32 = -1
    var offset: Int64 = -1
}

/// Everything remembered about one activity. What waits or is in flight lies in `UpdateStore`.
struct Slot {
    static let none: Int32 = -1

    var generation: UInt32 = 0
    var isLive = false
    var app: UInt16 = 0
    /// Index into the engine's partitions.
    var partition: Int32 = 0
    var hash: UInt64 = 0
    /// The activity id, then the raw token.
    var identity: [UInt8] = []
    var idByteCount: UInt16 = 0
    var environment = PushEnvironment.production
    var life = SlotLife.awaiting
    var frequentUpdates = false
    /// A `start` was accepted, or nobody knows, and the card's update token has not come yet.
    var awaitsTokenOfStart = false
    /// The one push that may have left unrecorded before this process took over has been counted against the budget.
    var countedUnrecordedPush = false
    /// The token was refused as dead and nothing newer has come.
    var tokenIsDead = false
    /// Differs with each new token; a verdict about an older one says nothing of this one.
    var tokenGeneration: UInt32 = 0
    /// Wall time of the registration, for a 410 with an older time.
    var registeredWallMillis: Int64 = 0
    /// Event time of the newest accepted event; `Int64.min`: none.
    var lastAcceptedSeconds: Int64 = .min
    /// The last wire stamp given; 0: none.
    var lastStampSeconds: Int64 = 0
    /// Wall time of the last start or update, registration or end: what the life is counted from.
    var lastTouchedWallMillis: Int64 = 0
    /// When the 12 hours, or the retention after an end, are over. Steady.
    var lifeEndsMillis: Int64 = 0
    var budget = RollingBudget()

    var pending = Slot.none
    /// What must follow `pending` and cannot be merged into it: the end behind an unsent start, content too large beside the kept alert.
    var behind = Slot.none
    var inFlight = Slot.none

    /// No push before this; minimum distance. Steady.
    var notBeforeMillis: Int64 = .min
    /// No retry before this. Steady.
    var backoffUntilMillis: Int64 = .min
    var attempt: UInt8 = 0
    /// Since when the update waits for a token, steady; meaningful while there is none.
    var tokenMissingSinceMillis: Int64 = 0

    /// Which ready-queue entry stands; 0: none.
    var queuedTicket: UInt32 = 0
    var queuedPriority = PushPriority.low

    /// Its life is over; the next state record is a tombstone, unless something comes first.
    var isLeaving = false
    var isDirty = false
    /// The record of the last push has not been acknowledged: nothing may leave.
    var awaitsStateRecord = false
    var stateVersion: UInt32 = 0
    /// Version that must be acknowledged before the next push; meaningful with `awaitsStateRecord`.
    var requiredStateVersion: UInt32 = 0
    var lastStateWriteMillis: Int64 = .min
    /// Outcomes and dead letters that must be acknowledged before the next state record is written.
    var unguardedRecords: UInt32 = 0

    /// Unresolved offsets not yet covered by a state record.
    var openEntry = OffsetLedger.none
    var openRoutedEntry = OffsetLedger.none
    var applied = AppliedPosition()
    var appliedRoutedOffset: Int64 = -1
    /// Original position of the last forwarded record.
    var appliedOrigin = SourcePosition(topic: 0, partition: -1, offset: -1)

    var tokenByteCount: Int { self.identity.count - Int(self.idByteCount) }
    var hasToken: Bool { self.tokenByteCount > 0 }
    var hasUsableToken: Bool { self.hasToken && !self.tokenIsDead }
    var hasWork: Bool { self.pending >= 0 || self.inFlight >= 0 }

    mutating func setToken(_ token: Span<UInt8>) {
        self.identity.removeLast(self.tokenByteCount)
        self.identity.reserveCapacity(self.identity.count + token.count)
        for index in token.indices { self.identity.append(token[index]) }
        self.tokenIsDead = false
        self.tokenGeneration &+= 1
    }

    mutating func clearToken() {
        self.identity.removeLast(self.tokenByteCount)
        self.tokenIsDead = false
        self.tokenGeneration &+= 1
    }

    func tokenEquals(_ token: Span<UInt8>) -> Bool {
        guard self.tokenByteCount == token.count else { return false }
        for index in token.indices where self.identity[Int(self.idByteCount) + index] != token[index] { return false }
        return true
    }

    func idEquals(_ id: Span<UInt8>) -> Bool {
        guard Int(self.idByteCount) == id.count else { return false }
        for index in id.indices where self.identity[index] != id[index] { return false }
        return true
    }
}
