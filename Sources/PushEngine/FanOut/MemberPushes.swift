import APNSProtocol
import PushModel

/// A push in flight to a member.
struct MemberPush {
    var crowd = CrowdID.none
    var crowdGeneration: UInt32 = 0
    var pass = 0
    /// The member's number. It is kept for the push even if the member has left.
    var member = MemberID.none
    var partition = PartitionIndex.none
    var partitionGeneration: UInt32 = 0
    /// Stamp of the version that the push brings. For a start, it is part of the start's identity, together with
    /// `life`.
    var stampSeconds: Int64 = 0
    var life: Int64 = 0
    /// The start that the push brings.
    var start: StartStamp { StartStamp(life: self.life, stampSeconds: self.stampSeconds) }
    var recordMillis: Int64 = 0
    var sentMillis: Int64 = 0
    var priority = PushPriority.low
    /// Stamp of the version whose alert the push brings; 0: none.
    var alertStampSeconds: Int64 = 0
    var hasAlert: Bool { self.alertStampSeconds != 0 }
    /// The value that the member's entry had while it waited: see `RetrySet.Entry.alertsMissedSinceSeconds`.
    var alertsMissedSinceSeconds: Int64 = .max
    /// Whether the push brings the alert's own version, because the newest content does not fit beside the alert.
    var isAlone = false
    /// Whether the push may have the version's own priority, unless the member has moved here within the hour.
    var mayBeHigh = false
    /// Whether the member has left the ring for which the push was sent. A failed push is then not repeated.
    var isDetached = false
    var app: UInt16 = 0
    var lane = LaneIndex.none
    var apnsID: (UInt64, UInt64) = (0, 0)
    /// Failures of earlier pushes to the member.
    var failures = FailureStreak.none
    /// Whether the push starts a card. If so, `pass` is a start round of the crowd.
    var isStart = false
    var sequence: UInt32 = 0
    var isLive = false
    /// The push that left just after this one, among the unanswered pushes of the same pass; `none`: this one is the
    /// newest. The newest push is the first in the list.
    var previous = MemberPushID.none
    /// The push that left just before this one, among the unanswered pushes of the same pass; `none`: this one is the
    /// oldest.
    var next = MemberPushID.none
}

extension MemberPush {
    /// Fills the push with the start that it brings.
    @inline(__always) mutating func brings(_ order: borrowing StartOrder) {
        self.isStart = true
        self.life = order.life
        self.stampSeconds = order.stampSeconds
        self.recordMillis = order.layer.recordMillis
        self.priority = order.isHigh ? .high : .low
    }
}

/// Names a push to a member in flight: an element of `MemberPushStore`.
struct MemberPushID: Identifier { let rawValue: Int32 }

/// Unanswered pushes to members. Their number cannot exceed the number of open streams to APNs.
struct MemberPushStore: ~Copyable {
    private var pushes = ChunkedStore<MemberPushID, MemberPush>()
    private var free: [MemberPushID] = []
    /// The bit in the lower half that marks numbers of pushes to members. Indexes of updates and questions stay below
    /// it.
    private static let mark: UInt32 = 0x4000_0000

    var liveCount: Int { self.pushes.count - self.free.count }
    subscript(_ id: MemberPushID) -> MemberPush {
        unsafeAddress { unsafe self.pushes.address(of: id) }
        unsafeMutableAddress { unsafe self.pushes.mutableAddress(of: id) }
    }
    mutating func make() -> MemberPushID {
        let id = self.free.popLast() ?? self.pushes.append(MemberPush())
        self.pushes[id].isLive = true
        return id
    }
    mutating func release(_ id: MemberPushID) {
        let sequence = self.pushes[id].sequence
        self.pushes[id] = MemberPush()
        self.pushes[id].sequence = sequence &+ 1
        self.free.append(id)
    }
    // MARK: Pushes of one pass
    mutating func link(_ id: MemberPushID, into first: inout MemberPushID) {
        self.pushes[id].next = first
        if first.isSome { self.pushes[first].previous = id }
        first = id
    }
    mutating func unlink(_ id: MemberPushID, from first: inout MemberPushID) {
        let (previous, next) = (self.pushes[id].previous, self.pushes[id].next)
        if previous.isSome { self.pushes[previous].next = next } else { first = next }
        if next.isSome { self.pushes[next].previous = previous }
        self.pushes[id].previous = .none
        self.pushes[id].next = .none
    }

    func pushID(of id: MemberPushID) -> PushID {
        PushID(rawValue: UInt64(UInt32(bitPattern: id.rawValue) | Self.mark) | UInt64(self.pushes[id].sequence) << 32)
    }
    /// Prefetches a push whose answer will be taken soon.
    func prefetch(of push: PushID) {
        guard Self.isMember(push) else { return }
        let id = Self.identifier(of: push)
        if self.pushes.contains(id) { self.pushes.prefetch(id) }
    }
    /// Whether the number belongs to a push to a member, rather than to an update or a question.
    static func isMember(_ push: PushID) -> Bool {
        let low = UInt32(truncatingIfNeeded: push.rawValue)
        return low & Self.mark != 0 && low & 0x8000_0000 == 0
    }
    private static func identifier(of push: PushID) -> MemberPushID {
        MemberPushID(rawValue: Int32(UInt32(truncatingIfNeeded: push.rawValue) & ~Self.mark))
    }
    /// The push with that number; `nil`: it is no longer in flight.
    func id(of push: PushID) -> MemberPushID? {
        guard Self.isMember(push) else { return nil }
        let id = Self.identifier(of: push)
        guard self.pushes.contains(id), self.pushes[id].isLive,
            self.pushes[id].sequence == UInt32(truncatingIfNeeded: push.rawValue >> 32)
        else { return nil }
        return id
    }
    /// The push in flight to a member. The search looks at all pushes.
    func identifier(of member: MemberID, partition: PartitionIndex) -> MemberPushID? {
        for id in self.pushes.identifiers
        where self.pushes[id].isLive && self.pushes[id].member == member && self.pushes[id].partition == partition {
            return id
        }
        return nil
    }
    /// Forgets pushes of a partition that has left. Their answers are ignored.
    mutating func forget(partition: PartitionIndex) {
        for id in self.pushes.identifiers where self.pushes[id].isLive && self.pushes[id].partition == partition {
            self.release(id)
        }
    }
}
