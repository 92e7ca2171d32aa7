import DequeModule
import PushModel

/// How far a partition has brought one start to the start members of one ring (fan-out, "`start` to start members").
///
/// The ring is walked once, from its first position to its last. Nobody is sent the start before `state` says that he may have been: up to
/// `horizon` for those met in turn, up to a number for those that joined since, and for those in `retries` by naming them no more.
/// So a second card is never put up knowingly, and whoever takes over begins behind what was announced.
struct StartRound {
    /// A position behind all members.
    static let end = Int64(RingPosition.end)

    /// A member that joined while the start went round.
    struct Late {
        var member: MemberID
        /// Of its join's record, counted per crowd.
        var number: UInt32
        /// Where that lies in `state`; -1: not known yet.
        var offset: Int64 = -1
    }

    let ring: RingID
    let environment: PushEnvironment
    /// The next to be met; everybody before it has been.
    private(set) var position = Self.end
    /// Of those at `position` itself, who has been.
    private var metHere: [MemberID] = []
    /// Whom the round still comes to.
    private(set) var aheadCount = 0
    /// Members before it are announced, and `state` has that.
    var horizon: Int64 = 0
    /// The same once the record under way is acknowledged.
    var nextHorizon: Int64 = 0
    /// Announced by it and not met: what a takeover has to call unknown.
    var announcedCount = 0
    /// How many were announced and not met when the last record was written.
    private var announcedAtRecord = 0

    /// In the order of their joins. Of some the number is another in `lateNumbers`, or none: they have left, or are further behind.
    private(set) var late: Deque<Late> = []
    private var lateNumbers: [MemberID: UInt32] = [:]
    /// Of `late`, how many at its front are announced, and will be once the record under way is acknowledged.
    private(set) var lateAnnounced = 0
    private var lateNext = 0
    /// Late members whose record lies below it have been announced.
    private(set) var lateOffset: Int64 = 0
    /// The record of nobody who was taken out to be sent the start lies at it or behind.
    private var lateServedOffset: Int64 = 0
    /// Late members that were sent the start before the round came to them: it passes over them.
    private(set) var servedEarly: Set<MemberID> = []

    /// Members that surely were not started.
    var retries = StartRetries()

    /// Members of whose push of this start nobody knows anything, and who are sent it again (`start.on-unknown`): it counts within their hour.
    private(set) var maybeSent: Set<MemberID> = []

    /// Members that left and were sent a start: which.
    var ghosts: [MemberID: StartStamp] = [:]
    /// Members without an answer.
    var inFlightCount = 0
    /// The first of their pushes; each names the next.
    var firstPush = MemberPushID.none
    /// The next members, from `position` on and up to `upcomingEnd`.
    private var upcoming: [RingEntry] = []
    private var upcomingNext = 0
    private var upcomingEnd: Int64 = 0
    /// It stands in its lane's queue.
    var isQueued = false

    /// A round that is over.
    init(ring: RingID, environment: PushEnvironment) {
        self.ring = ring
        self.environment = environment
    }

    /// Members that are owed the start, those without an answer included.
    var waitingCount: Int { self.aheadCount + self.lateNumbers.count + self.retries.count + self.inFlightCount }
    var lateCount: Int { self.lateNumbers.count }
    var isUnderWay: Bool { self.position < Self.end }

    // MARK: Begin and end
    /// A start goes round.
    /// - Parameter count: members it is for.
    mutating func begin(at position: Int64 = 0, count: Int, lateOffset: Int64 = 0) {
        self.position = position
        self.metHere = []
        self.aheadCount = count
        self.horizon = position
        self.nextHorizon = position
        self.announcedCount = 0
        self.announcedAtRecord = 0
        self.lateOffset = lateOffset
        self.lateServedOffset = lateOffset
        self.forgetUpcoming()
    }
    /// Nobody is owed it any more; pushes in flight still are answered.
    mutating func cease(in table: inout MemberTable) {
        self.position = Self.end
        self.metHere = []
        self.aheadCount = 0
        self.announcedCount = 0
        for member in self.lateNumbers.keys { table.removeFlag(.isLate, of: member) }
        self.lateNumbers = [:]
        self.late = []
        self.lateAnnounced = 0
        self.lateNext = 0
        for member in self.servedEarly { table.removeFlag(.isServedEarly, of: member) }
        self.servedEarly = []
        self.retries = StartRetries()
        self.maybeSent = []
        self.forgetUpcoming()
    }

    // MARK: In turn
    /// Whoever stands there or behind has not been met.
    var unmetPosition: Int64 { self.metHere.isEmpty ? self.position : min(Self.end, self.position + 1) }
    /// The round comes to a member that stands there, which is neither late nor served.
    func isAhead(_ member: MemberID, at ringPosition: UInt64) -> Bool {
        let there = Int64(ringPosition)
        return there > self.position || (there == self.position && !self.metHere.contains(member))
    }
    /// Members are looked up a few together.
    private static var upcomingMax: Int { 64 }
    /// The next member of the round and where it stands; `nil`: the round is over. It stays the next until it has been met.
    mutating func next(in table: borrowing MemberTable) -> RingEntry? {
        while self.position < Self.end {
            if self.aheadCount == 0 {
                self.move(to: Self.end)
                return nil
            }
            if self.upcomingNext < self.upcoming.count {
                let entry = self.upcoming[self.upcomingNext]
                guard Int64(entry.position) > self.position || !self.metHere.contains(entry.member) else {
                    self.upcomingNext += 1
                    continue
                }
                return entry
            }
            if self.upcomingEnd > self.position {
                self.move(to: self.upcomingEnd)
                continue
            }
            self.forgetUpcoming()
            let end = table.fill(
                self.ring, from: UInt64(self.position), limit: Self.upcomingMax, into: &self.upcoming)
            self.upcomingEnd = Int64(end)
            for entry in self.upcoming { table.prefetchToken(entry.member) }
        }
        return nil
    }
    private mutating func move(to position: Int64) {
        guard position > self.position else { return }
        self.position = position
        self.metHere.removeAll(keepingCapacity: true)
    }
    private mutating func forgetUpcoming() {
        self.upcoming.removeAll(keepingCapacity: true)
        self.upcomingNext = 0
        self.upcomingEnd = 0
    }
    /// The member that `next` named has had its turn.
    /// - Parameter wasOwed: it was neither late nor served nor gone.
    mutating func met(_ entry: RingEntry, wasOwed: Bool) {
        if wasOwed {
            self.aheadCount -= 1
            if Int64(entry.position) < self.nextHorizon { self.announcedCount -= 1 }
        }
        self.move(to: Int64(entry.position))
        self.metHere.append(entry.member)
        self.upcomingNext += 1
    }
    /// One that the round would have come to leaves.
    mutating func leftAhead(at ringPosition: UInt64) {
        self.aheadCount -= 1
        if Int64(ringPosition) < self.nextHorizon { self.announcedCount -= 1 }
    }
    /// The member's number may be used again from here on.
    mutating func forget(_ member: MemberID, in table: inout MemberTable) {
        self.forgetLate(member, in: &table)
        self.retries.forget(member)
        self.ghosts[member] = nil
        self.maybeSent.remove(member)
        if self.servedEarly.remove(member) != nil { table.removeFlag(.isServedEarly, of: member) }
        self.metHere.removeAll { $0 == member }
        self.forgetUpcoming()
    }

    // MARK: Late
    /// It joins behind the others; or its record is written once more.
    mutating func wait(late member: MemberID, number: UInt32) {
        self.late.append(Late(member: member, number: number))
        self.lateNumbers[member] = number
    }
    /// The record of that number lies there.
    mutating func noteLate(_ number: UInt32, offset: Int64) {
        guard let first = self.late.first else { return }
        var range = 0..<self.late.count
        let wanted = number &- first.number
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            let found = self.late[middle].number &- first.number
            if found == wanted {
                self.late[middle].offset = offset
                return
            }
            range = found < wanted ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
    }
    /// Late members that could be announced.
    var hasLateToAnnounce: Bool { self.lateAnnounced < self.late.count && self.late[self.lateAnnounced].offset >= 0 }
    /// Takes out the first that is announced.
    /// - Parameter isFree: it need not be.
    mutating func popLate(isFree: Bool) -> MemberID? {
        while let first = self.late.first, self.lateAnnounced > 0 || (isFree && first.offset >= 0) {
            self.late.removeFirst()
            self.lateOffset = max(self.lateOffset, first.offset + 1)
            self.lateAnnounced = max(0, self.lateAnnounced - 1)
            self.lateNext = max(0, self.lateNext - 1)
            guard self.lateNumbers[first.member] == first.number else { continue }
            self.lateNumbers[first.member] = nil
            self.lateServedOffset = max(self.lateServedOffset, first.offset + 1)
            return first.member
        }
        return nil
    }
    /// It is not late any more.
    mutating func forgetLate(_ member: MemberID, in table: inout MemberTable) {
        guard self.lateNumbers.removeValue(forKey: member) != nil else { return }
        table.removeFlag(.isLate, of: member)
    }
    /// It was late, stands where the round has not been, and has been sent the start.
    mutating func noteServedEarly(_ member: MemberID, in table: inout MemberTable) {
        table.insertFlag(.isServedEarly, of: member)
        self.servedEarly.insert(member)
    }

    /// A push of this start to the member may have arrived, and it is sent another.
    mutating func noteMaybeSent(_ member: MemberID) { self.maybeSent.insert(member) }

    // MARK: Announcing
    /// Whether Kafka has the record that announces the member at this position. No other is sent the start in turn, or the next owner could send a second.
    func isAnnounced(_ position: Int64) -> Bool { position < self.horizon }
    /// Half of what was announced last has left, or nothing is.
    var isShort: Bool { 2 * self.announcedCount <= self.announcedAtRecord }
    /// Members up to a new horizon are announced with the record that follows.
    /// - Parameter count: of those between the last one and it that are owed the start.
    mutating func extend(to horizon: Int64, count: Int) {
        self.nextHorizon = horizon
        self.announcedCount += count
        self.announcedAtRecord = self.announcedCount
    }
    /// What a record names is settled: late members up to here, and of `retries` whoever is not due.
    /// - Parameter lateMax: members that are late and announced at a time.
    /// - Returns: who is named.
    mutating func announce(lateMax: Int, nowMillis: Int64, namesAll: Bool) -> [MemberID] {
        // A record that is under way has announced those before it: it may come to lie there.
        var index = self.lateNext
        while index < self.late.count, index < lateMax, self.late[index].offset >= 0 {
            self.lateOffset = max(self.lateOffset, self.late[index].offset + 1)
            index += 1
        }
        self.lateNext = index
        return self.retries.announce(nowMillis: nowMillis, namesAll: namesAll)
    }
    /// The record is there.
    mutating func announced() {
        self.horizon = self.nextHorizon
        self.lateAnnounced = self.lateNext
        self.retries.announced()
    }
    /// Nothing more leaves here, or not for a while: whoever is announced and was not sent to is not announced any more.
    mutating func withdrawAnnouncements() {
        self.nextHorizon = self.unmetPosition
        // Whoever lies behind it may leave no more, although `state` says so until the next record is there.
        self.horizon = min(self.horizon, self.nextHorizon)
        self.announcedCount = 0
        self.lateAnnounced = 0
        self.lateNext = 0
        for entry in self.late where entry.offset >= 0 && self.lateNumbers[entry.member] == entry.number {
            self.lateOffset = min(self.lateOffset, entry.offset)
        }
        // Records may lie in another order than they were written in: rather none for one of those than a second for one who was served.
        self.lateOffset = max(self.lateOffset, self.lateServedOffset)
    }
    /// Members that are announced, and that the round does not come to in turn: who joined late, and who is tried again.
    /// - Parameter max: so many at most.
    func announcedApart(max: Int) -> [MemberID] {
        var members = self.retries.unnamed(max: max)
        for late in self.late.prefix(self.lateNext) where members.count < max {
            if self.lateNumbers[late.member] == late.number { members.append(late.member) }
        }
        return members
    }
    /// Members that are announced, without an answer that says otherwise.
    var unansweredCount: Int {
        self.announcedCount + self.inFlightCount
            + self.late.prefix(self.lateNext).count { self.lateNumbers[$0.member] == $0.number }
            + self.retries.unnamedCount
    }
}
