import DequeModule
import PushModel

/// Brings versions and starts to the members of audiences. It holds the crowds, the tables of their members, the pushes
/// to members in flight, and the times at which crowds have something to do.
///
/// Only this type changes crowds and tables of members. Its methods get the shard's core, and do not know activities.
/// The audience's owner (`AudiencePublisher`) decides when a version is made, and what it costs.
struct FanOut: ~Copyable {
    var crowds: CrowdTable
    var pushes = MemberPushStore()
    var deadlines = DeadlineQueue<CrowdID>()
    /// Pushes in flight to members that have left since, by partition and ring position of the token.
    var departed: [DepartedKey: MemberPushID] = [:]
    /// When the phones of members that have left may be pushed to again, in case they join again at once.
    var departures = RecentDepartures()
    var forwarded = ForwardedRecords()
    /// Members that have left an audience within the last hour.
    var leavers = RecentLeavers()
    /// Voids that `state` must have before more records are processed.
    var voids = VoidsUnderWay()
    /// Passes that are reported in traces.
    var traces = PassTraces()
    /// The raw token of the record that is being processed.
    var scratchToken: [UInt8] = []
    var scratchEntries: [RingEntry] = []
    private let addressOnly = AddressOnly()

    struct DepartedKey: Hashable {
        var partition: PartitionIndex
        var position: UInt64
    }

    init(seed: UInt64) { self.crowds = CrowdTable(seed: seed) }

    /// Counts the push as answered.
    /// - Returns: whether the crowd that the push was sent for still exists. If so, the crowd has counted the push as
    ///   answered.
    @inline(__always) mutating func pushAnswered(_ push: MemberPushID) -> Bool {
        let crowd = self.pushes[push].crowd
        let isCrowdThere = self.crowds.contains(crowd, generation: self.pushes[push].crowdGeneration)
        if isCrowdThere { self.crowds[crowd].pushAnswered(push, in: &self.pushes) }
        self.pushes.release(push)
        return isCrowdThere
    }

    /// When a crowd has something to do, or a leaver is forgotten (steady clock); `Int64.max`: nothing waits for a
    /// time.
    var nextDeadlineMillis: Int64 { min(self.deadlines.earliestMillis ?? .max, self.leavers.nextOverMillis) }
}

/// Tokens that left an audience shortly after a push, each with the time before which its phone gets no other push.
struct RecentDepartures {
    /// Maximum number of tokens; beyond it the oldest are forgotten.
    static let countMax = 65_536
    private var millis: [FanOut.DepartedKey: Int64] = [:]
    private var order: Deque<(key: FanOut.DepartedKey, millis: Int64)> = []

    mutating func remember(_ key: FanOut.DepartedKey, notBeforeMillis: Int64, nowMillis: Int64) {
        while let first = self.order.first, first.millis <= nowMillis || self.order.count >= Self.countMax {
            self.order.removeFirst()
            if self.millis[first.key] == first.millis { self.millis[first.key] = nil }
        }
        guard notBeforeMillis > nowMillis else { return }
        self.millis[key] = notBeforeMillis
        self.order.append((key, notBeforeMillis))
    }
    func notBeforeMillis(_ key: FanOut.DepartedKey) -> Int64 {
        self.millis.isEmpty ? .min : self.millis[key] ?? .min
    }
}

/// A pass in its lane's queue.
struct PassReference: Equatable {
    var crowd: CrowdID
    var generation: UInt32
    var pass: Int
    /// Whether the pass is one of the crowd's start rounds.
    var isStart = false
}

/// Passes of one lane that have members to serve. Passes with an alert go first. Each pass serves some members, then
/// the next pass does.
struct PassQueue {
    /// Number of members of one pass that are served before the next pass becomes the first.
    static let quantum = 64
    private var alerts: Deque<PassReference> = []
    private var others: Deque<PassReference> = []
    private var servedCount = 0
    /// Number of pushes of slots since a member was last served.
    var singlesSinceMember = 0
    /// Maximum number of pushes of slots in a row while a pass waits. At least one push in four is then a member's.
    static let singlesBetweenMembersMax = 3

    var isEmpty: Bool { self.alerts.isEmpty && self.others.isEmpty }
    var first: PassReference? { self.alerts.first ?? self.others.first }
    mutating func append(_ reference: PassReference, hasAlert: Bool) {
        if hasAlert { self.alerts.append(reference) } else { self.others.append(reference) }
    }
    mutating func removeFirst() {
        self.servedCount = 0
        if !self.alerts.isEmpty { self.alerts.removeFirst() } else { _ = self.others.popFirst() }
    }
    /// Counts one more served member of the first pass. After `quantum` members, the next pass becomes the first.
    mutating func served() {
        self.singlesSinceMember = 0
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
