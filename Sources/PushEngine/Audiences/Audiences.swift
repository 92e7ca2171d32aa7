import DequeModule
import PushModel

/// The members of audiences: crowds, their passes, pushes to members in flight, and when a crowd has something to do.
///
/// Only this type changes crowds and tables of members. What a version costs and when its audience makes one is decided
/// by the audience's owner, a slot like any other (`AudienceOwner`).
struct Audiences: ~Copyable {
    var crowds: CrowdTable
    var pushes = MemberPushStore()
    var deadlines = DeadlineQueue<CrowdID>()
    /// Pushes in flight to members that have left since, by partition and position of the token.
    var departed: [DepartedKey: MemberPushID] = [:]
    /// When phones of members that have left may be pushed to again, should they come back at once.
    var departures = RecentDepartures()
    var forwarded = ForwardedRecords()
    /// Members that left an audience within the last hour, or were marked as moved by then.
    var leavers = RecentLeavers()
    /// Records that `state` must have before more is read.
    var voids = VoidsUnderWay()
    /// Audiences and apps whose pushes an operator has stopped.
    var pauses = PauseTable()
    /// Passes that are traced.
    var traces = PassTraces()
    /// The raw token of the record that is being taken.
    var scratchToken: [UInt8] = []
    var scratchEntries: [RingEntry] = []
    private let addressOnly = AddressOnly()

    struct DepartedKey: Hashable {
        var partition: PartitionIndex
        var position: UInt64
    }

    init(seed: UInt64) { self.crowds = CrowdTable(seed: seed) }

    /// Notes that the push is in flight from now on.
    @inline(__always) mutating func pushLeft(_ push: MemberPushID, crowd: CrowdID, pass: Int) {
        self.crowds[crowd].passes[pass].pushLeft(push, in: &self.pushes)
    }
    /// Notes that the push has been answered.
    /// - Returns: whether the crowd that it was sent for still exists, and with it the place where the push was
    ///   counted.
    @inline(__always) mutating func pushAnswered(_ push: MemberPushID) -> Bool {
        let (crowd, pass) = (self.pushes[push].crowd, self.pushes[push].pass)
        let isCrowdThere = self.crowds[crowd].generation == self.pushes[push].crowdGeneration
        if isCrowdThere { self.crowds[crowd].passes[pass].pushAnswered(push, in: &self.pushes) }
        self.pushes.release(push)
        return isCrowdThere
    }

    /// When a crowd has something to do, steady; `Int64.max`: none waits for a time.
    var nextDeadlineMillis: Int64 { min(self.deadlines.earliestMillis ?? .max, self.leavers.nextOverMillis) }
}

/// Tokens that have left a moment after they were pushed to.
struct RecentDepartures {
    /// Maximum number of tokens; beyond it the oldest are forgotten.
    static let countMax = 65_536
    private var millis: [Audiences.DepartedKey: Int64] = [:]
    private var order: Deque<(key: Audiences.DepartedKey, millis: Int64)> = []

    mutating func note(_ key: Audiences.DepartedKey, notBeforeMillis: Int64, nowMillis: Int64) {
        while let first = self.order.first, first.millis <= nowMillis || self.order.count >= Self.countMax {
            self.order.removeFirst()
            if self.millis[first.key] == first.millis { self.millis[first.key] = nil }
        }
        guard notBeforeMillis > nowMillis else { return }
        self.millis[key] = notBeforeMillis
        self.order.append((key, notBeforeMillis))
    }
    func notBeforeMillis(_ key: Audiences.DepartedKey) -> Int64 {
        self.millis.isEmpty ? .min : self.millis[key] ?? .min
    }
}

/// A pass in its lane's queue.
struct PassReference: Equatable {
    var crowd: CrowdID
    var generation: UInt32
    var pass: Int
    /// The pass is one of the crowd's start rounds.
    var isStart = false
}

/// Passes of one lane that have somebody to serve. Those with an alert are first; each has the lane for a while.
struct PassQueue {
    /// Members of one pass that are served before the next has its turn.
    static let quantum = 64
    private var alerts: Deque<PassReference> = []
    private var others: Deque<PassReference> = []
    private var servedCount = 0
    /// Pushes of single slots since a member was last served.
    var singlesInTurn = 0
    /// At least one of four pushes is a member's while a pass waits.
    static let singlesInTurnMax = 3

    var isEmpty: Bool { self.alerts.isEmpty && self.others.isEmpty }
    var first: PassReference? { self.alerts.first ?? self.others.first }
    mutating func append(_ reference: PassReference, hasAlert: Bool) {
        if hasAlert { self.alerts.append(reference) } else { self.others.append(reference) }
    }
    mutating func removeFirst() {
        self.servedCount = 0
        if !self.alerts.isEmpty { self.alerts.removeFirst() } else { _ = self.others.popFirst() }
    }
    /// Notes that a member of the first pass was served. The other passes get their turn after a while.
    mutating func served() {
        self.singlesInTurn = 0
        self.servedCount += 1
        guard self.servedCount >= Self.quantum else { return }
        self.servedCount = 0
        if self.alerts.count > 1 {
            self.alerts.append(self.alerts.removeFirst())
        } else if self.alerts.isEmpty, self.others.count > 1 {
            self.others.append(self.others.removeFirst())
        }
    }
}

/// What became of what members were due (fan-out contract: Conservation for members). What a takeover finds owed counts
/// as due there; there is no separate count of what was restored.
public struct MemberCounters: Sendable, Equatable {
    /// Pairs of a member and a version that it has to be shown.
    public var due: UInt64 = 0
    /// APNs accepted the push.
    public var accepted: UInt64 = 0
    /// A newer version replaced it before it was sent.
    public var superseded: UInt64 = 0
    /// It was not sent in time.
    public var expired: UInt64 = 0
    /// The token was dead.
    public var gone: UInt64 = 0
    /// APNs refused it for good.
    public var failed: UInt64 = 0
    /// The result is not known, and the push is not sent again.
    public var unknown: UInt64 = 0
    /// The member left before.
    public var left: UInt64 = 0
    /// Its partition left before.
    public var handedOver: UInt64 = 0
    /// Owed now, including pushes without an answer.
    public var waiting: UInt64 = 0
    /// Pushes that were sent again.
    public var repeated: UInt64 = 0
    /// Nothing counted yet.
    public init() {}
    /// Nothing appeared and nothing vanished.
    public var isConserved: Bool {
        self.due
            == self.accepted &+ self.superseded &+ self.expired &+ self.gone &+ self.failed &+ self.unknown
            &+ self.left &+ self.handedOver &+ self.waiting
    }
}
