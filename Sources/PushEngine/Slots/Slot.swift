import APNSProtocol
import PushModel

/// The phase of an activity's life (contract: Life cycle).
enum SlotLife: UInt8 {
    /// The slot has no token and no start.
    case awaiting
    /// A registration or another event has brought the slot's token, or the slot needs none.
    case alive
    /// A `start` was taken, and is not accepted yet.
    case starting
    /// A `start` was accepted or has an unknown result. The update token has not arrived yet.
    case started
    /// An `end` was taken, and is not accepted yet.
    case ending
    /// An `end` was accepted.
    case ended
}

/// The last record that a slot has taken of an input topic other than `routed`. The slot's next state record will say
/// so.
struct AppliedPosition: Equatable {
    /// Offset of the record; -1: none.
    var offset: Int64 = -1
    /// Index of the record's topic; -1: none.
    var topic: Int16 = -1

    init() {}

    init(offset: Int64, topic: UInt16) {
        self.offset = offset
        self.topic = Int16(truncatingIfNeeded: topic)
    }

    func isOf(topic: UInt16) -> Bool { self.topic == Int16(truncatingIfNeeded: topic) }
}

/// What APNs has said of a slot's token, or the keeper has said of a channel.
enum TokenStanding: UInt8 {
    /// A push may go to the token. As far as this owner knows, APNs has accepted no push to the token, or none since it
    /// refused the token.
    case usable
    /// The token is usable, and APNs has accepted a push to it.
    case proven
    /// The token is usable and is the previous token (`FormerTokens`). APNs refused the newest token before accepting a
    /// push to it.
    case former
    /// The token was refused, but perhaps through a fault of ours (`TokenRemovalGuard`). The refused update waits for
    /// another token, or for a newer event, which tries this token again.
    case doubted
    /// The token was refused, and no newer one has arrived.
    case dead
    /// The channel is kept for an audience. Events that a publisher sends to the channel itself are not broadcast.
    case kept

    @inline(__always) var isUsable: Bool { self.rawValue <= TokenStanding.former.rawValue }
}

/// What a slot waits to do. For each app and environment, each errand has its own lane, and may have its own route.
enum Errand: UInt8, CaseIterable {
    /// A push to a phone.
    case push
    /// A broadcast to a channel.
    case broadcast
    /// The question to APNs about what a channel stores. Broadcasts wait for the answer, but not for long.
    case question
    /// The question to the keeper, not to APNs, whether a channel is kept for an audience. It goes before anything
    /// else. Nothing leaves while it has no answer, or if the answer was yes.
    case keeperQuestion
    /// A version of an audience, which goes to partitions and not to APNs.
    case version

    /// The kind of the errand's request to APNs; `nil`: it makes no request.
    var requestKind: RequestKind? {
        switch self {
        case .push: .device
        case .broadcast: .broadcast
        case .question: .readChannel
        case .keeperQuestion, .version: nil
        }
    }
}

/// What a channel stores for phones that are off (Apple: "Sending channel management requests to APNs",
/// `message-storage-policy`).
enum StoragePolicy: UInt8 {
    case unknown = 0
    /// Nothing: `apns-expiration` has to be 0.
    case none = 1
    /// The most recent message, up to 8 h.
    case mostRecent = 2
}

/// Everything remembered about one activity, channel or audience, except its bytes (`ByteArena`), its budget
/// (`BudgetStore`) and its updates (`UpdateStore`). Memory holds a million slots, so fields are small, and none is on
/// the heap.
///
/// Any part of the engine may read a slot. Each field has one writer, and `SlotTable` writes whole slots. A test
/// compares the files with this table.
///
/// | who, folder | writes |
/// |---|---|
/// | the table, `Slots` | kind, app, partition, hash, generation, memberIndex, identity, idLastIndex, tokenByteCount, tokenGeneration, applied, hasRoutedPositions |
/// | the activity's life, `Engine` | life, isLeaving, lastAcceptedSeconds, lastTouchedWallMillis, lifeEndsMillis, lastStampSeconds, registeredWallMillis, tokenStanding, tokenMissingSinceMillis, earlierDeaths, frequentUpdates, awaitsTokenOfStart, hasPassedUnrecorded, couldBeReached |
/// | what it sends next, `Coalescing` | pending, behind, inFlight |
/// | when it leaves, `Dispatch` | environment, errand, storage, isAsking, questionSeconds, throttleSteps, budget, countedUnrecordedPush, queuedTicket, queuedPriority, isCountedPending, notBeforeMillis, backoffUntilMillis, attempt |
/// | what is written down, `Journal` | openEntry, openRoutedEntry, isDirty, unguardedRecords, stateVersion, requiredStateVersion, awaitsStateRecord, lastStateWriteMillis, stateWaitExtensions |
/// | owners before, `Partitions` | ownersSinceRecord |
struct Slot {
    // Each event looks at these properties. They are kept together, in one or two cache lines.

    /// Event time of the newest accepted event; `Int64.min`: none.
    var lastAcceptedSeconds: Int64 = .min
    /// Wall time of the last start, update, registration or end. The length of the slot's life is counted from this
    /// time.
    var lastTouchedWallMillis: Int64 = 0
    /// When the slot's lifetime, or the retention after an end, is over (steady clock).
    var lifeEndsMillis: Int64 = 0
    var applied = AppliedPosition()
    var app: UInt16 = 0
    var pending = UpdateID.none
    /// The update that must follow `pending` and cannot be merged into it: an end behind an unsent start, or content
    /// that does not fit beside an unsent alert.
    var behind = UpdateID.none
    /// The ledger entry of events that no state record of the slot covers yet. They are from an input topic other than
    /// `routed`.
    var openEntry = EntryID.none
    /// The slot's id, then the raw token.
    var identity = ByteArena.none
    var partition = PartitionIndex.none
    var kind = SlotKind.activity
    /// Index of the id's last byte.
    var idLastIndex: UInt8 = 0
    var tokenByteCount: UInt16 = 0
    var life = SlotLife.awaiting
    /// Whether the slot's life is over. Its next state record is a tombstone, unless an event arrives first.
    var isLeaving = false
    var isDirty = false
    /// Whether the slot is counted as pending: it has something to send or in flight.
    var isCountedPending = false

    /// Wall time of the registration. A 410 from APNs with an older time does not make the token dead, except after
    /// `earlierDeathsIgnoredMax` such answers in a row.
    var registeredWallMillis: Int64 = 0
    /// The last stamp that a push or version of the slot was given; 0: none.
    var lastStampSeconds: Int64 = 0
    /// Earliest time of the next push by the minimum distance (steady clock).
    var notBeforeMillis: Int64 = .min
    /// Earliest time of the next attempt (steady clock).
    var backoffUntilMillis: Int64 = .min
    /// Time since which the slot has had no usable token (steady clock). It means nothing while the slot has one.
    var tokenMissingSinceMillis: Int64 = 0
    /// Holds `recordOffset` until this owner has written a record, and `lastStateWriteMillis` from then on: a slot has
    /// no byte to spare.
    private var writeTimeOrRecordOffset: Int64 = .min

    var hash: UInt32 = 0
    var generation: UInt32 = 0
    /// Number of the token, different for each new one. A verdict about an older token does not apply to this one.
    var tokenGeneration: UInt32 = 0
    var budget = BudgetID.none

    var inFlight = UpdateID.none
    /// Number of the ready-queue entry that is valid; 0: none.
    var queuedTicket: UInt32 = 0
    var stateVersion: UInt32 = 0
    /// The state version that must be acknowledged before the next push. It has a meaning only with
    /// `awaitsStateRecord`.
    var requiredStateVersion: UInt32 = 0
    /// Number of outcomes and dead letters that must be acknowledged before the next state record is written.
    var unguardedRecords: UInt32 = 0
    var openRoutedEntry = EntryID.none
    /// The slot's index among the members of its partition.
    var memberIndex: Int32 = 0
    /// A time of a channel in seconds (steady clock). With the errand `question`: when the question is given up; 0: no
    /// question waits. With other errands: when the question may be asked at the earliest.
    var questionSeconds: UInt32 = 0

    /// Holds `attempt` in the lower five bits and `earlierDeaths` in the upper three: a slot has no byte to spare.
    private var attemptAndEarlierDeaths: UInt8 = 0
    /// Number of superseded events that have delayed a due state record, at most `Journal.stateWaitExtensionsMax`.
    var stateWaitExtensions: UInt8 = 0
    var environment = PushEnvironment.production
    /// What the slot waits to do next.
    var errand = Errand.push
    /// What a channel stores for phones that are off.
    var storage = StoragePolicy.unknown
    /// Whether APNs is being asked what the channel stores.
    var isAsking = false
    /// Steps by which refusals have stretched a channel's distance. Four steps double it, and a doubling that has begun
    /// counts in full.
    var throttleSteps: UInt8 = 0
    var frequentUpdates = false
    /// Holds `awaitsTokenOfStart`, `hasPassedUnrecorded` and `couldBeReached`: a slot has no byte to spare.
    private var lifeFlags: UInt8 = 0
    /// Whether the budget was charged for pushes that former owners may have sent without a record.
    var countedUnrecordedPush = false
    /// Number of owners between the owner that wrote the restored record and this owner. `FormerOwners.countMax`: there
    /// are that many or more, or no record was restored.
    var ownersSinceRecord: UInt8 = 0
    var tokenStanding = TokenStanding.usable
    var queuedPriority = PushPriority.low
    /// Whether a record of `state`, such as that of the last push, must be acknowledged before anything leaves the
    /// slot.
    var awaitsStateRecord = false
    /// Whether the table has `RoutedPositions` for the slot.
    var hasRoutedPositions = false

    /// Number of failed attempts in a row.
    @inline(__always) var attempt: UInt8 {
        get { self.attemptAndEarlierDeaths & 0x1f }
        set { self.attemptAndEarlierDeaths = self.attemptAndEarlierDeaths & ~0x1f | newValue & 0x1f }
    }
    /// How often in a row APNs has said that the token died before it was registered, at most 7.
    @inline(__always) var earlierDeaths: UInt8 {
        get { self.attemptAndEarlierDeaths >> 5 }
        set { self.attemptAndEarlierDeaths = self.attemptAndEarlierDeaths & 0x1f | newValue << 5 }
    }
    /// Whether a `start` was accepted, or may have been, and the card's update token has not arrived yet.
    @inline(__always) var awaitsTokenOfStart: Bool {
        get { self.lifeFlags & 1 != 0 }
        set { self.lifeFlags = self.lifeFlags & ~1 | (newValue ? 1 : 0) }
    }
    /// Whether this owner's stamps are later than all stamps that former owners may have used without a record.
    @inline(__always) var hasPassedUnrecorded: Bool {
        get { self.lifeFlags & 2 != 0 }
        set { self.lifeFlags = self.lifeFlags & ~2 | (newValue ? 2 : 0) }
    }
    /// Whether the slot has had a token or a start since it was made here, or its restored record says so. If not, no
    /// former owner has sent a push of the slot, unless a registration has yet to be read again.
    @inline(__always) var couldBeReached: Bool {
        get { self.lifeFlags & 4 != 0 }
        set { self.lifeFlags = self.lifeFlags & ~4 | (newValue ? 4 : 0) }
    }
    /// Time of the last state write (steady clock). It is in the distant past until this owner has written a record.
    @inline(__always) var lastStateWriteMillis: Int64 {
        get { self.writeTimeOrRecordOffset }
        set { self.writeTimeOrRecordOffset = newValue }
    }
    /// Remembers that a record of the slot was read.
    mutating func rememberRecord(at offset: Int64) { self.writeTimeOrRecordOffset = .min + max(0, offset) }
    /// Offset of the newest record read of the slot. It is valid until this owner has written a record.
    var recordOffset: Int64 { self.writeTimeOrRecordOffset &- .min }
    /// Whether the slot has been made and not removed.
    var isLive: Bool { self.identity != ByteArena.none }
    /// Number of leading bytes that contain what each event looks at.
    static var ofEachEventByteCount: Int { 64 }
    /// Number of bytes of the id, 1 to 256.
    @inline(__always) var idByteCount: Int { Int(self.idLastIndex) + 1 }
    var identityByteCount: Int { self.idByteCount + Int(self.tokenByteCount) }
    /// Whether the slot has a token, dead or not, or needs none. A channel's id is its token, and an audience needs no
    /// token.
    var hasToken: Bool { self.tokenByteCount > 0 || self.kind != .activity }
    var hasUsableToken: Bool { self.hasToken && self.tokenStanding.isUsable }
    /// Whether unresolved offsets wait for the slot's next state record.
    var isOpen: Bool { self.openEntry.isSome || self.openRoutedEntry.isSome }
    var hasWork: Bool { self.pending.isSome || self.inFlight.isSome }
}
