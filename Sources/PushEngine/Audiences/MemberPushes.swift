import APNSProtocol
import PushModel

/// A push to a member that is in flight.
struct MemberPush {
    var crowd = CrowdID.none
    var crowdGeneration: UInt32 = 0
    var pass = 0
    /// Still the member's number, even if it has left meanwhile.
    var member = MemberID.none
    var partition = PartitionIndex.none
    var partitionGeneration: UInt32 = 0
    /// The version it brings. Of a start its life, too.
    var stampSeconds: Int64 = 0
    var life: Int64 = 0
    /// Which start it brings.
    var start: StartStamp { StartStamp(life: self.life, stampSeconds: self.stampSeconds) }
    var recordMillis: Int64 = 0
    var sentMillis: Int64 = 0
    var priority = PushPriority.low
    /// Stamp of the version whose alert the push brings; 0: none.
    var alertStampSeconds: Int64 = 0
    var hasAlert: Bool { self.alertStampSeconds != 0 }
    /// What the member's entry said while it waited: `RetrySet.Entry.alertsMissedSinceSeconds`.
    var alertsMissedSinceSeconds: Int64 = .max
    /// The alert's own version, beside which the newest content does not fit.
    var isAlone = false
    /// A unit of the audience's ledger was there for it.
    var mayBeHigh = false
    /// The member has left its audience since. Whatever the answer is, the member is not owed this now.
    var isDetached = false
    var app: UInt16 = 0
    var lane = LaneIndex.none
    var apnsID: (UInt64, UInt64) = (0, 0)
    /// What the member waited with before, if it was tried again: how often that has failed in a row, at most 20; or, above `earlierDeathMark`, how often
    /// in a row APNs has said that the token died before it joined.
    var attempt: UInt8 = 0
    /// It starts a card: `pass` is a start round of the crowd.
    var isStart = false
    var sequence: UInt32 = 0
    var isLive = false
    /// Others of its pass.
    var previous = MemberPushID.none
    var next = MemberPushID.none
}

extension MemberPush {
    private static var earlierDeathMark: UInt8 { 0x80 }
    /// How often it was tried before.
    var tries: UInt8 { self.attempt & ~Self.earlierDeathMark }
    /// See `attempt`.
    var earlierDeaths: UInt8 { self.attempt & Self.earlierDeathMark == 0 ? 0 : self.tries }
    /// What it waits with now that it has failed.
    func nextAttempt(isEarlierDeath: Bool) -> UInt8 {
        isEarlierDeath ? Self.earlierDeathMark | (self.earlierDeaths + 1) : min(self.tries + 1, 20)
    }
}

/// Names a push to a member in flight: an element of `MemberPushStore`.
struct MemberPushID: Identifier { let rawValue: Int32 }

/// Pushes to members without an answer: as many as there are streams.
struct MemberPushStore: ~Copyable {
    private var pushes = ChunkedStore<MemberPushID, MemberPush>()
    private var free: [MemberPushID] = []
    /// Told apart from updates and questions by this bit of the lower half, which their numbers do not reach.
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
    // MARK: Those of one pass
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
        PushID(
            rawValue: UInt64(UInt32(bitPattern: id.rawValue) | Self.mark) | UInt64(self.pushes[id].sequence) << 32)
    }
    /// An answer to it will be taken soon.
    func prefetch(of push: PushID) {
        guard Self.isMember(push) else { return }
        let id = Self.identifier(of: push)
        if self.pushes.contains(id) { self.pushes.prefetch(id) }
    }
    /// Whether it is a member's push, and not an update's or a question.
    static func isMember(_ push: PushID) -> Bool {
        let low = UInt32(truncatingIfNeeded: push.rawValue)
        return low & Self.mark != 0 && low & 0x8000_0000 == 0
    }
    private static func identifier(of push: PushID) -> MemberPushID {
        MemberPushID(rawValue: Int32(UInt32(truncatingIfNeeded: push.rawValue) & ~Self.mark))
    }
    /// `nil`: it is in flight no more.
    func id(of push: PushID) -> MemberPushID? {
        guard Self.isMember(push) else { return nil }
        let id = Self.identifier(of: push)
        guard self.pushes.contains(id), self.pushes[id].isLive,
            self.pushes[id].sequence == UInt32(truncatingIfNeeded: push.rawValue >> 32)
        else { return nil }
        return id
    }
    /// The push in flight to a member; looks at all of them.
    func identifier(of member: MemberID, partition: PartitionIndex) -> MemberPushID? {
        for id in self.pushes.identifiers
        where self.pushes[id].isLive && self.pushes[id].member == member && self.pushes[id].partition == partition {
            return id
        }
        return nil
    }
    /// Those of a partition that has left are forgotten: their answers mean nothing.
    mutating func forget(partition: PartitionIndex) {
        for id in self.pushes.identifiers where self.pushes[id].isLive && self.pushes[id].partition == partition {
            self.release(id)
        }
    }
}
