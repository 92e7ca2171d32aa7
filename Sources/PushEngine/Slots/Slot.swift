import APNSProtocol
import PushModel

/// Where an activity stands (contract: Life cycle).
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
    var offset: Int64 = -1
    /// -1: none.
    var topic: Int16 = -1

    init() {}

    init(offset: Int64, topic: UInt16) {
        self.offset = offset
        self.topic = Int16(truncatingIfNeeded: topic)
    }

    func isOf(topic: UInt16) -> Bool { self.topic == Int16(truncatingIfNeeded: topic) }
}

/// What APNs has said of a slot's token, or the keeper of a channel.
enum TokenStanding: UInt8 {
    /// Not refused; APNs has accepted no push to it that is known here.
    case usable
    /// Usable: APNs has accepted a push to it since.
    case proven
    /// Usable: the one before the newest (`FormerTokens`), which APNs has refused before it had accepted anything for it.
    case former
    /// Refused, but perhaps for a fault of ours (`TokenRemovalGuard`): the update that was refused waits for another
    /// token in vain, the next one tries this one again.
    case doubted
    /// Refused, and nothing newer has come.
    case dead
    /// Of a channel: it is kept for an audience, and what is sent to it is meant for that.
    case kept

    @inline(__always) var isUsable: Bool { self.rawValue <= TokenStanding.former.rawValue }
}

/// What a slot goes to APNs for: each errand of an app and environment has a lane, and perhaps a route, of its own.
enum Errand: UInt8, CaseIterable {
    /// A push to a phone.
    case push
    /// A broadcast to a channel.
    case broadcast
    /// The question what a channel keeps, before its first broadcast.
    case question
    /// The question whether a channel is kept for an audience, before anything else. It goes to the keeper and not to APNs: while it has no answer,
    /// or was answered with yes, nothing leaves.
    case keeperQuestion
    /// A version of an audience, which goes to partitions and not to APNs.
    case version

    /// `nil`: it is no request.
    var requestKind: RequestKind? {
        switch self {
        case .push: .device
        case .broadcast: .broadcast
        case .question: .readChannel
        case .keeperQuestion, .version: nil
        }
    }
}

/// What a channel keeps for phones that are off (Apple: "Sending channel management requests to APNs", `message-storage-policy`).
enum StoragePolicy: UInt8 {
    case unknown = 0
    /// Nothing: `apns-expiration` has to be 0.
    case none = 1
    /// The most recent message, up to 8 h.
    case mostRecent = 2
}

/// Everything remembered about one activity, channel or audience, but for its bytes (`ByteArena`), its budget (`BudgetStore`) and what waits or is in flight
/// (`UpdateStore`). A million of these lie in memory: fields are small, and nothing in it lives on the heap.
///
/// Any part of the engine reads it. Each field is written by one, and whole slots by `SlotTable`; a test holds the files to this table.
///
/// | who, folder | writes |
/// |---|---|
/// | the table, `Slots` | kind, app, partition, hash, generation, memberIndex, identity, idLastIndex, tokenByteCount, tokenGeneration, applied, hasRoutedPositions |
/// | the activity's life, `Engine` | life, isLeaving, lastAcceptedSeconds, lastTouchedWallMillis, lifeEndsMillis, lastStampSeconds, registeredWallMillis, tokenStanding, tokenMissingSinceMillis, earlierDeaths, frequentUpdates, awaitsTokenOfStart, hasPassedUnrecorded |
/// | what it sends next, `Coalescing` | pending, behind, inFlight |
/// | when it leaves, `Dispatch` | environment, errand, storage, isAsking, questionSeconds, throttleSteps, budget, countedUnrecordedPush, queuedTicket, queuedPriority, isCountedPending, notBeforeMillis, backoffUntilMillis, attempt |
/// | what is written down, `Journal` | openEntry, openRoutedEntry, isDirty, unguardedRecords, stateVersion, requiredStateVersion, awaitsStateRecord, lastStateWriteMillis, stateWaitExtensions |
/// | owners before, `Partitions` | ownersSinceRecord, isHandedOver |
struct Slot {
    // What each event looks at lies together, in one or two cache lines.

    /// Event time of the newest accepted event; `Int64.min`: none.
    var lastAcceptedSeconds: Int64 = .min
    /// Wall time of the last start or update, registration or end: what the life is counted from.
    var lastTouchedWallMillis: Int64 = 0
    /// When the 12 hours, or the retention after an end, are over. Steady.
    var lifeEndsMillis: Int64 = 0
    var applied = AppliedPosition()
    var app: UInt16 = 0
    var pending = UpdateID.none
    /// What must follow `pending` and cannot be merged into it: the end behind an unsent start, content too large beside the kept alert.
    var behind = UpdateID.none
    /// Unresolved offsets not yet covered by a state record.
    var openEntry = EntryID.none
    /// The activity id, then the raw token.
    var identity = ByteArena.none
    var partition = PartitionIndex.none
    var kind = SlotKind.activity
    /// Index of the id's last byte.
    var idLastIndex: UInt8 = 0
    var tokenByteCount: UInt16 = 0
    var life = SlotLife.awaiting
    /// Its life is over; the next state record is a tombstone, unless something comes first.
    var isLeaving = false
    var isDirty = false
    /// It counts among those with something to send or in flight.
    var isCountedPending = false

    /// Wall time of the registration, for a 410 with an older time.
    var registeredWallMillis: Int64 = 0
    /// The last wire stamp given; 0: none.
    var lastStampSeconds: Int64 = 0
    /// No push before this; minimum distance. Steady.
    var notBeforeMillis: Int64 = .min
    /// No retry before this. Steady.
    var backoffUntilMillis: Int64 = .min
    /// Since when the update waits for a token, steady; meaningful while there is none.
    var tokenMissingSinceMillis: Int64 = 0
    /// Steady. As long as this owner has written none: `Int64.min`, or so far above it as the record lies that was restored.
    var lastStateWriteMillis: Int64 = .min

    var hash: UInt32 = 0
    var generation: UInt32 = 0
    /// Differs with each new token; a verdict about an older one says nothing of this one.
    var tokenGeneration: UInt32 = 0
    var budget = BudgetID.none

    var inFlight = UpdateID.none
    /// Which ready-queue entry stands; 0: none.
    var queuedTicket: UInt32 = 0
    var stateVersion: UInt32 = 0
    /// Version that must be acknowledged before the next push; meaningful with `awaitsStateRecord`.
    var requiredStateVersion: UInt32 = 0
    /// Outcomes and dead letters that must be acknowledged before the next state record is written.
    var unguardedRecords: UInt32 = 0
    var openRoutedEntry = EntryID.none
    /// Where it stands among the members of its partition.
    var memberIndex: Int32 = 0
    /// Of a channel, steady seconds: with the errand `question` when that is given up, 0 while it does not wait for it; otherwise it is not asked
    /// before.
    var questionSeconds: UInt32 = 0

    /// `attempt`, at most 31, and `earlierDeaths` above it: a slot has no byte to spare.
    private var failures: UInt8 = 0
    /// How many further events that need no push the state record that is due waits for.
    var stateWaitExtensions: UInt8 = 0
    var environment = PushEnvironment.production
    /// What it goes to APNs for next.
    var errand = Errand.push
    /// Of a channel: what it keeps for phones that are off.
    var storage = StoragePolicy.unknown
    /// Of a channel: APNs is being asked what it keeps.
    var isAsking = false
    /// Of a channel: how far its distance has grown, in quarters of a doubling.
    var throttleSteps: UInt8 = 0
    var frequentUpdates = false
    /// `awaitsTokenOfStart` and `hasPassedUnrecorded`: a slot has no byte to spare.
    private var lifeFlags: UInt8 = 0
    /// What may have left unrecorded before this process took over has been counted against the budget.
    var countedUnrecordedPush = false
    /// Owners that have run after the one that wrote the record which was restored, and before this one; `FormerOwners.countMax`: there was none.
    var ownersSinceRecord: UInt8 = 0
    /// The owner before gave the partition back in order: `state` knows of all it has taken and sent.
    var isHandedOver = false
    var tokenStanding = TokenStanding.usable
    var queuedPriority = PushPriority.low
    /// The record of the last push has not been acknowledged: nothing may leave.
    var awaitsStateRecord = false
    /// The table knows its `RoutedPositions`.
    var hasRoutedPositions = false

    /// How often in a row it has failed.
    @inline(__always) var attempt: UInt8 {
        get { self.failures & 0x1f }
        set { self.failures = self.failures & ~0x1f | newValue & 0x1f }
    }
    /// How often in a row APNs has said that the token died before it was registered: at most 7.
    @inline(__always) var earlierDeaths: UInt8 {
        get { self.failures >> 5 }
        set { self.failures = self.failures & 0x1f | newValue << 5 }
    }
    /// A `start` was accepted, or nobody knows, and the card's update token has not come yet.
    @inline(__always) var awaitsTokenOfStart: Bool {
        get { self.lifeFlags & 1 != 0 }
        set { self.lifeFlags = self.lifeFlags & ~1 | (newValue ? 1 : 0) }
    }
    /// This owner's stamps are past those that owners before may have given unrecorded.
    @inline(__always) var hasPassedUnrecorded: Bool {
        get { self.lifeFlags & 2 != 0 }
        set { self.lifeFlags = self.lifeFlags & ~2 | (newValue ? 2 : 0) }
    }
    /// A record of it was read. A slot has no byte to spare, and this owner has written nothing of it.
    mutating func noteRecord(at offset: Int64) { self.lastStateWriteMillis = .min + max(0, offset) }
    /// Where the newest record lies that was read of it, as long as this owner has written none.
    var recordOffset: Int64 { self.lastStateWriteMillis &- .min }
    /// It has been made and not been removed.
    var isLive: Bool { self.identity != ByteArena.none }
    /// What each event looks at lies in the first so many bytes.
    static var ofEachEventByteCount: Int { 64 }
    /// 1 to 256.
    @inline(__always) var idByteCount: Int { Int(self.idLastIndex) + 1 }
    var identityByteCount: Int { self.idByteCount + Int(self.tokenByteCount) }
    /// A channel's id is its token, and an audience needs none.
    var hasToken: Bool { self.tokenByteCount > 0 || self.kind != .activity }
    var hasUsableToken: Bool { self.hasToken && self.tokenStanding.isUsable }
    /// Unresolved offsets wait for its next state record.
    var isOpen: Bool { self.openEntry.isSome || self.openRoutedEntry.isSome }
    var hasWork: Bool { self.pending.isSome || self.inFlight.isSome }
}
