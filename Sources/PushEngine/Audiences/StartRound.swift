import PushModel

/// How far a partition has brought one start to the start members of one ring (fan-out, "`start` to start members").
///
/// The ring is walked once, from its first position to its last. A member is sent the start only after `state` says
/// that it may have been. For members met in turn that is up to `horizon`. For those that joined since it is up to a
/// number. Those in `retries` must not be named any longer. A second card is never put up knowingly: a new owner begins
/// behind what was announced.
///
/// What every push asks of it is inlined: a round that is passed to a function is copied.
struct StartRound {
    /// A position behind all members.
    static let end = Int64(RingPosition.end)

    /// Whose turn it is.
    enum Turn {
        /// It is this member's turn. The round owes it nothing else from here on.
        case member(MemberID, attempt: UInt8)
        /// It is the turn of a member that no record in Kafka announces.
        case unannounced
        /// It is nobody's turn, for now or for good.
        case nobody
    }

    let ring: RingID
    let environment: PushEnvironment
    /// The next position. All members before it have been met.
    private(set) var position = Self.end
    /// Members at `position` itself that have been met.
    private var metHere: [MemberID] = []
    /// Number of members that the round has yet to reach.
    private var aheadCount = 0
    /// The position before which members are announced by a record in `state`.
    private(set) var horizon: Int64 = 0
    /// The horizon once the record on its way is acknowledged.
    private(set) var nextHorizon: Int64 = 0
    /// Number of members that it announces and that have not been met. A takeover has to call them unknown.
    private var announcedCount = 0
    /// Number of members announced and not met when the last record was written.
    private var announcedAtRecord = 0
    /// Members that joined while the start went round.
    private(set) var late = LateStarts()
    /// Late members that were sent the start before the round reached them. It passes over them.
    private(set) var servedEarly: Set<MemberID> = []
    /// Members that surely were not started.
    private(set) var retries = StartRetries()
    /// Members whose push of this start has an unknown result, and that are sent it again (`start.on-unknown`). It
    /// counts within their hour.
    private(set) var maybeSent: Set<MemberID> = []
    /// Members that left and were sent a start, with that start.
    private(set) var ghosts: [MemberID: StartStamp] = [:]
    /// Its pushes without an answer, those of a former start included.
    private var inFlight = PushesInFlight()
    /// The next members, from `position` on.
    private var upcoming = RingLookAhead()
    /// Whether the round is in its lane's queue.
    private(set) var isQueued = false

    /// Creates a round that is over.
    init(ring: RingID, environment: PushEnvironment) {
        self.ring = ring
        self.environment = environment
    }

    /// Number of members that are owed the start, those without an answer included.
    @inline(__always) var waitingCount: Int {
        self.aheadCount + self.late.count + self.retries.count + self.inFlight.count
    }
    @inline(__always) var isUnderWay: Bool { self.position < Self.end }

    // MARK: Begin and end

    /// Begins the round of a start.
    /// - Parameter count: number of members it is for.
    mutating func begin(at position: Int64 = 0, count: Int, lateOffset: Int64 = 0) {
        self.position = position
        self.metHere = []
        self.aheadCount = count
        self.horizon = position
        self.nextHorizon = position
        self.announcedCount = 0
        self.announcedAtRecord = 0
        self.late.begin(offset: lateOffset)
        self.upcoming.forget()
    }
    /// Ends the round: the start is owed to nobody. Pushes still in flight are answered.
    /// - Returns: the number of members that were owed it.
    mutating func cease(in table: inout MemberTable) -> Int {
        let before = self.waitingCount
        self.position = Self.end
        self.metHere = []
        self.aheadCount = 0
        self.announcedCount = 0
        for member in self.late.cease() { table.removeFlag(.isLate, of: member) }
        for member in self.servedEarly { table.removeFlag(.isServedEarly, of: member) }
        self.servedEarly = []
        self.retries = StartRetries()
        self.maybeSent = []
        self.upcoming.forget()
        return before - self.waitingCount
    }

    // MARK: In turn

    /// The position from which members have not been met.
    var unmetPosition: Int64 { self.metHere.isEmpty ? self.position : min(Self.end, self.position + 1) }
    /// Whether the round has yet to reach a member at this position, which is neither late nor served.
    @inline(__always) func isAhead(_ member: MemberID, at ringPosition: UInt64) -> Bool {
        let there = Int64(ringPosition)
        return there > self.position || (there == self.position && !self.metHere.contains(member))
    }
    /// Whether the round has yet to reach the member with something that it has not been sent.
    @inline(__always) private func isOwed(_ entry: RingEntry, in table: borrowing MemberTable) -> Bool {
        Self.isMetInTurn(entry.member, in: table) && self.isAhead(entry.member, at: entry.position)
    }
    /// Whether the member has neither joined late nor left.
    @inline(__always) static func isMetInTurn(_ member: MemberID, in table: borrowing MemberTable) -> Bool {
        table.flags(of: member).isDisjoint(with: [.isLate, .isGhost, .isServedEarly])
    }
    /// The next member of the round and its position; `nil`: the round is over. It stays the next until it has been
    /// met.
    private mutating func next(in table: borrowing MemberTable) -> RingEntry? {
        while self.position < Self.end {
            if self.aheadCount == 0 {
                self.move(to: Self.end)
                return nil
            }
            if let entry = self.upcoming.next {
                guard Int64(entry.position) > self.position || !self.metHere.contains(entry.member) else {
                    self.upcoming.passed()
                    continue
                }
                return entry
            }
            if self.upcoming.end > self.position {
                self.move(to: self.upcoming.end)
                continue
            }
            self.upcoming.lookUp(self.ring, from: self.position, in: table)
            for entry in self.upcoming.entries { table.prefetchToken(entry.member) }
        }
        return nil
    }
    private mutating func move(to position: Int64) {
        guard position > self.position else { return }
        self.position = position
        self.metHere.removeAll(keepingCapacity: true)
    }
    /// Notes that the member that `next` named has had its turn.
    /// - Parameter wasOwed: whether it was neither late nor served nor gone.
    private mutating func met(_ entry: RingEntry, wasOwed: Bool) {
        if wasOwed { self.aheadNoMore(at: entry.position) }
        self.move(to: Int64(entry.position))
        self.metHere.append(entry.member)
        self.upcoming.passed()
    }
    private mutating func aheadNoMore(at ringPosition: UInt64) {
        self.aheadCount -= 1
        if Int64(ringPosition) < self.nextHorizon { self.announcedCount -= 1 }
    }

    /// Says who is sent the start next. First is a member that failed and may be tried again, then one that joined
    /// late, then the next in the ring.
    mutating func nextTurn(resends: Bool, spread: StartSpread, in table: inout MemberTable, now: EngineTime) -> Turn {
        if let member = self.retries.nextDue(sendsNamed: resends, nowMillis: now.steadyMillis) {
            return .member(member, attempt: self.retries.remove(member)?.attempt ?? 0)
        }
        guard !self.retries.isFull else { return .nobody }
        if let member = self.late.popFirst(isFree: resends) {
            table.removeFlag(.isLate, of: member)
            self.sentEarly(to: member, in: &table)
            return .member(member, attempt: 0)
        }
        while let entry = self.next(in: table) {
            guard self.isOwed(entry, in: table) else {
                self.met(entry, wasOwed: false)
                continue
            }
            let position = Int64(entry.position)
            guard spread.dueMillis(position, now: now) <= now.steadyMillis else { return .nobody }
            guard resends || self.isAnnounced(position) else { return .unannounced }
            self.met(entry, wasOwed: true)
            return .member(entry.member, attempt: 0)
        }
        return .nobody
    }
    /// When a member has its turn, steady; `Int64.max`: an acknowledgement or an answer comes first.
    mutating func turnDueMillis(
        resends: Bool, spread: StartSpread, in table: borrowing MemberTable, now: EngineTime
    ) -> Int64 {
        if !self.retries.isFull, self.late.announcedCount > 0 || (resends && self.late.hasUnannounced) { return .min }
        let due = self.retries.nextDueMillis(sendsNamed: resends, nowMillis: now.steadyMillis)
        guard !self.retries.isFull, let next = self.next(in: table),
            resends || self.isAnnounced(Int64(next.position))
        else { return due }
        return min(due, spread.dueMillis(Int64(next.position), now: now))
    }

    // MARK: Pushes

    /// Notes that the round is in its lane's queue.
    /// - Returns: `false` if it was before.
    @inline(__always) mutating func queued() -> Bool {
        defer { self.isQueued = true }
        return !self.isQueued
    }
    /// Notes that the round has left its lane's queue.
    @inline(__always) mutating func dequeued() { self.isQueued = false }
    /// Notes that a push to a member of the round has left.
    @inline(__always) mutating func pushLeft(_ push: MemberPushID, in pushes: inout MemberPushStore) {
        self.inFlight.left(push, in: &pushes)
    }
    /// Notes that the push was answered.
    @inline(__always) mutating func pushAnswered(_ push: MemberPushID, in pushes: inout MemberPushStore) {
        self.inFlight.answered(push, in: &pushes)
    }
    /// Moves the round to another crowd.
    mutating func crowdChanged(to crowd: CrowdID, generation: UInt32, pushes: inout MemberPushStore) {
        self.isQueued = false
        var push = self.inFlight.first
        while push.isSome {
            pushes[push].crowd = crowd
            pushes[push].crowdGeneration = generation
            push = pushes[push].next
        }
    }
    /// Lets the member wait, which surely was not sent the start.
    /// - Parameter notBeforeMillis: steady; `Int64.max`: until the answer to a push of another start arrives.
    mutating func hold(_ member: MemberID, notBeforeMillis: Int64, attempt: UInt8) {
        self.retries.set(StartRetries.Entry(notBeforeMillis: notBeforeMillis, attempt: attempt), for: member)
    }
    /// Ends the member's wait for an answer, which has arrived, if it waited.
    @inline(__always) mutating func wake(_ member: MemberID, nowMillis: Int64) {
        guard let entry = self.retries[member], entry.notBeforeMillis == .max else { return }
        self.hold(member, notBeforeMillis: nowMillis, attempt: entry.attempt)
    }
    /// Notes that a late member has been sent the start before the round reached its position.
    mutating func sentEarly(to member: MemberID, in table: inout MemberTable) {
        table.insertFlag(.isServedEarly, of: member)
        self.servedEarly.insert(member)
    }
    /// Notes that a push of this start to the member may have arrived, and that it is sent another.
    mutating func mayHaveArrived(at member: MemberID) { self.maybeSent.insert(member) }

    // MARK: Members

    /// Whether a member was sent the start that goes round, or may have been.
    @inline(__always) func wasSent(_ current: StartStamp, to member: MemberID, in table: borrowing MemberTable) -> Bool
    {
        if !self.ghosts.isEmpty, let sent = self.ghosts[member] { return sent.names(current) }
        let flags = table.flags(of: member)
        if flags.contains(.isLate) || self.retries[member] != nil { return false }
        return flags.contains(.isServedEarly) || !self.isAhead(member, at: table.position(of: member))
    }
    /// Takes a token in the ring that has joined, or joined again.
    /// - Parameters:
    ///   - current: the start that goes round; `nil`: none does.
    ///   - isBack: whether it was no member before, or a ghost.
    /// - Returns: whether it waits for that start.
    mutating func joined(
        _ member: MemberID, isBack: Bool, current: StartStamp?, in table: inout MemberTable
    ) -> Bool {
        let ghost = self.ghosts.removeValue(forKey: member)
        guard isBack, let current, !(ghost?.names(current) ?? false),
            !table.flags(of: member).contains(.isServedEarly)
        else { return false }
        // The member has not been sent the start that goes round, whatever else it was sent.
        table.insertFlag(.isLate, of: member)
        return true
    }
    /// Makes the record of a member, which is written now. With it a late member gets its place behind the others.
    /// - Parameters:
    ///   - current: the start that goes round; `nil`: none does.
    ///   - number: the record's number.
    mutating func record(
        of member: MemberID, current: StartStamp?, number: UInt32, in table: borrowing MemberTable
    ) -> StartMemberRecord {
        let flags = table.flags(of: member)
        var record = StartMemberRecord()
        record.environment = self.environment
        record.isFrequent = flags.contains(.isFrequent)
        record.isChannelCapable = flags.contains(.isChannelCapable)
        record.joinedSeconds = table.joinedSeconds(of: member)
        if flags.contains(.isGhost) {
            record.hasLeft = true
            record.mark = .sent
            record.start = self.ghosts[member] ?? StartStamp()
        } else if let current, flags.contains(.isLate) || flags.contains(.isServedEarly) {
            record.mark = flags.contains(.isLate) ? .waits : .sent
            record.start = current
            if flags.contains(.isLate) { self.late.joined(member, number: number) }
        }
        return record
    }
    /// Notes that Kafka has the record of a member.
    mutating func memberAcknowledged(_ number: UInt32, offset: Int64) {
        self.late.written(number, at: offset)
    }
    /// Lets the round owe nothing to the member, which does not wait either.
    /// - Returns: how many fewer are owed the start.
    private mutating func owesNothing(to member: MemberID, in table: inout MemberTable) -> Int {
        let before = self.waitingCount
        let flags = table.flags(of: member)
        if flags.contains(.isLate) {
            self.forgetLate(member, in: &table)
        } else if self.retries[member] != nil {
            self.retries.remove(member)
        } else if flags.isDisjoint(with: [.isServedEarly, .isGhost]), self.isUnderWay {
            let position = table.position(of: member)
            if self.isAhead(member, at: position) { self.aheadNoMore(at: position) }
        }
        return before - self.waitingCount
    }
    private mutating func forgetLate(_ member: MemberID, in table: inout MemberTable) {
        if self.late.left(member) { table.removeFlag(.isLate, of: member) }
    }
    /// Keeps a member that has left as a ghost.
    /// - Parameter sent: the start that it is remembered to have been sent.
    /// - Returns: how many fewer are owed the start.
    mutating func leftAsGhost(_ member: MemberID, sent: StartStamp, in table: inout MemberTable) -> Int {
        let fewer = self.owesNothing(to: member, in: &table)
        table.insertFlag(.isGhost, of: member)
        self.ghosts[member] = sent
        return fewer
    }
    /// Notes that the ghost surely was not sent the start after all. It need not be remembered for it.
    mutating func ghostWasNotSent(_ member: MemberID) { self.ghosts[member] = StartStamp() }
    /// Takes over a ghost that a restore has read; `nil`: the record is of another member.
    mutating func ghostRead(_ member: MemberID, sent: StartStamp?) { self.ghosts[member] = sent }
    /// Forgets a member that is removed: nothing is owed to it, and its number may be used again.
    /// - Returns: how many fewer are owed the start.
    mutating func removed(_ member: MemberID, in table: inout MemberTable) -> Int {
        let fewer = self.owesNothing(to: member, in: &table)
        self.forgetLate(member, in: &table)
        self.retries.forget(member)
        self.ghosts[member] = nil
        self.maybeSent.remove(member)
        if self.servedEarly.remove(member) != nil { table.removeFlag(.isServedEarly, of: member) }
        self.metHere.removeAll { $0 == member }
        self.upcoming.forget()
        return fewer
    }

    // MARK: Announcing

    /// Whether Kafka has the record that announces the member at this position. No other is sent the start in turn, or
    /// the next owner could send a second.
    @inline(__always) func isAnnounced(_ position: Int64) -> Bool { position < self.horizon }
    /// Whether half of the last announcement has left, or nothing is announced, and there are more members.
    @inline(__always) var isShort: Bool {
        self.nextHorizon < Self.end && 2 * self.announcedCount <= self.announcedAtRecord
    }
    /// When a record has to announce a member, or to stop naming one; steady.
    /// - Parameters:
    ///   - lateMax: number of late members announced at a time.
    ///   - gatheredMillis: not before this, unless the round would stop.
    mutating func announcementDueMillis(
        lateMax: Int, gatheredMillis: Int64, spread: StartSpread, in table: borrowing MemberTable, now: EngineTime
    ) -> Int64 {
        var due = Int64.max
        if self.late.hasUnannounced, self.late.announcedCount < lateMax, !self.retries.isFull { due = gatheredMillis }
        let named = self.retries.nextNamedDueMillis(nowMillis: now.steadyMillis)
        if named != .max { due = min(due, max(named, gatheredMillis)) }
        guard let next = self.next(in: table), self.isShort, !self.retries.isFull else { return due }
        return min(due, spread.dueMillis(max(Int64(next.position), self.nextHorizon), now: now))
    }
    /// Number of members of the ring that one record looks at in search of those that are owed the start.
    private static var scannedMax: Int { 16_384 }
    /// Smallest number of members that are looked up together, even if fewer are wanted.
    private static var scannedMin: Int { 64 }
    /// Announces members up to a new horizon with the record that follows: the next member, and those whose turn comes
    /// soon.
    private mutating func extendHorizon(
        countMax: Int, resends: Bool, spread: StartSpread, in table: borrowing MemberTable,
        entries: inout [RingEntry], now: EngineTime
    ) {
        guard let next = self.next(in: table) else {
            self.nextHorizon = Self.end
            return
        }
        guard !resends, !self.retries.isFull else { return }
        let count = countMax - self.announcedCount
        let due = max(
            Int64(next.position) + 1, spread.position(atMillis: now.steadyMillis + StartPace.aheadMillis, now: now))
        var (horizon, announced, scanned) = (self.nextHorizon, 0, 0)
        while horizon < min(due, Self.end), announced < count, scanned < Self.scannedMax {
            entries.removeAll(keepingCapacity: true)
            let end = table.fill(
                self.ring, from: UInt64(horizon), limit: max(count - announced, Self.scannedMin), into: &entries)
            horizon = max(horizon, min(Int64(end), due))
            scanned += max(1, entries.count)
            for entry in entries where Int64(entry.position) < horizon && self.isOwed(entry, in: table) {
                announced += 1
            }
        }
        self.nextHorizon = horizon
        self.announcedCount += announced
        self.announcedAtRecord = self.announcedCount
    }
    /// What a record says of the round, which is written now.
    /// - Parameters:
    ///   - start: the start that goes round.
    ///   - announced: number of members announced at a time; `nil`: nothing leaves, and nobody is announced.
    mutating func record(
        of start: StartStamp, announcing announced: Int?, resends: Bool, spread: StartSpread,
        in table: borrowing MemberTable, pushes: borrowing MemberPushStore, entries: inout [RingEntry], now: EngineTime
    ) -> StartProgressRecord.Round {
        if let announced {
            self.extendHorizon(
                countMax: announced, resends: resends, spread: spread, in: table, entries: &entries, now: now)
        }
        self.late.announce(max: resends || self.retries.isFull ? 0 : announced ?? 0)
        var named = self.retries.announce(nowMillis: now.steadyMillis, namesAll: resends || announced == nil)
        var part = StartProgressRecord.Round()
        part.environment = self.environment
        part.horizon = self.nextHorizon
        if resends {
            // Every push without an answer is sent again.
            part.horizon = self.unmetPosition
            var push = self.inFlight.first
            while push.isSome {
                named.append(pushes[push].member)
                push = pushes[push].next
            }
        } else {
            part.unansweredCount = UInt64(clamping: self.unansweredCount)
            part.unmet = min(part.horizon, self.unmetPosition)
            part.unanswered = self.unansweredApart(of: start, pushes: pushes).map { Int64(table.position(of: $0)) }
        }
        part.lateOffset = self.late.offset
        part.named = named.map { Int64(table.position(of: $0)) }.sorted()
        return part
    }
    /// Number of members that are announced and whose answer says nothing else.
    private var unansweredCount: Int {
        self.announcedCount + self.inFlight.count + self.late.unansweredCount + self.retries.unnamedCount
    }
    /// Some of those members, which the round does not reach in turn.
    private func unansweredApart(of start: StartStamp, pushes: borrowing MemberPushStore) -> [MemberID] {
        let most = StartProgressRecord.unansweredMax
        var members = self.retries.unnamed(max: most)
        members += self.late.unanswered(max: most - members.count)
        var push = self.inFlight.first
        while push.isSome, members.count < most {
            if pushes[push].start == start { members.append(pushes[push].member) }
            push = pushes[push].next
        }
        return members
    }
    /// Notes that Kafka has the record.
    mutating func announced() {
        self.horizon = self.nextHorizon
        self.late.announced()
        self.retries.announced()
    }
    /// Withdraws the announcement of members that were not sent to: nothing leaves here from now on, or not for a
    /// while.
    mutating func withdrawAnnouncements() {
        self.nextHorizon = self.unmetPosition
        // Members behind it may not be sent to, although `state` says so until the next record is there.
        self.horizon = min(self.horizon, self.nextHorizon)
        self.announcedCount = 0
        self.late.withdraw()
    }

    // MARK: Restoring

    /// Takes over members that a record names and that surely were not started.
    mutating func namedRead(_ members: [MemberID]) { self.retries.restoreNamed(members) }
    /// Takes over a late member, which waits, from its record at this offset.
    /// - Parameter number: number of the record, as if it had been written here.
    mutating func lateRead(_ member: MemberID, number: UInt32, offset: Int64, in table: inout MemberTable) {
        table.insertFlag(.isLate, of: member)
        self.late.joined(member, number: number)
        self.late.written(number, at: offset)
    }
}
