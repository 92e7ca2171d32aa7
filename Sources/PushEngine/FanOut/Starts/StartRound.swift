import PushModel

/// How far a partition has brought one start to the start members of a ring (fan-out contract: Starts of an audience).
///
/// The ring is walked once, from its first position to its last. Before a member is sent the start, a record in `state`
/// announces that the member may have been sent it. The record announces members in the ring's order up to `horizon`,
/// and late members up to an offset in `state`. The record also names members in `retries`, which still have to be sent
/// the start. They are sent it only after a record no longer names them. A new owner begins after the announced
/// members, so that it does not knowingly send a second card. Nothing has to be announced if the app resends starts
/// (`StartTerms.resends`).
///
/// Functions that every push calls are inlined, because a round that is passed to a function is copied.
struct StartRound {
    /// The position after all members.
    static let end = Int64(RingPosition.end)

    /// Who is sent the start next.
    enum Step {
        /// This member is next. It has been taken out of the members that wait.
        case member(MemberID, failures: FailureStreak)
        /// No record in Kafka announces the next member.
        case unannounced
        /// Nobody can be sent the start at the moment, or the round is over.
        case nobody
    }

    let ring: RingID
    let environment: PushEnvironment
    /// The position that the round has reached. All members before it have been met, here or under a former owner.
    private(set) var position = Self.end
    /// Members at `position` itself that have been met.
    private var metHere: [MemberID] = []
    /// Number of members that are owed the start in the ring's order, and have not been met.
    private var aheadCount = 0
    /// Members before this position are announced by a record in `state`.
    private(set) var horizon: Int64 = 0
    /// The value that the horizon gets when the record on its way is acknowledged.
    private(set) var nextHorizon: Int64 = 0
    /// Number of members announced up to `nextHorizon` that have not been met. A takeover has to count them as unknown.
    private var announcedCount = 0
    /// Number of members that were announced and not met when the last record was written.
    private var announcedAtRecord = 0
    /// Members that joined while the start went round, and wait for it.
    private(set) var late = LateStarts()
    /// Members that were sent the start apart from the ring's order, such as late members. If the round comes to their
    /// position, it skips them.
    private(set) var servedEarly: Set<MemberID> = []
    /// Members that wait for another attempt, or for the answer to a push of an earlier start.
    private(set) var retries = StartRetries()
    /// Members whose push of this start has an unknown result, and that are sent the start again (`start.on-unknown`).
    /// The push with the unknown result counts among their starts of the hour.
    private(set) var maybeSent: Set<MemberID> = []
    /// Members that have left, each with the start that it was sent. For an empty stamp see `CrowdStarts.formerSent`.
    private(set) var ghosts: [MemberID: StartStamp] = [:]
    /// The round's unanswered pushes, including those of a former start.
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

    /// Number of members that are owed the start, including those whose push is unanswered.
    @inline(__always) var waitingCount: Int {
        self.aheadCount + self.late.count + self.retries.count + self.inFlight.count
    }
    @inline(__always) var isUnderWay: Bool { self.position < Self.end }

    // MARK: Begin and end

    /// Begins the round of a start.
    /// - Parameter count: number of members from `position` on that are owed the start.
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
    /// Ends the round. Members are no longer owed the start, but pushes in flight still get their answers.
    /// - Returns: number of members that are no longer owed the start. Members with a push in flight do not count.
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

    // MARK: The round

    /// The first position from which on no member has been met.
    var unmetPosition: Int64 { self.metHere.isEmpty ? self.position : min(Self.end, self.position + 1) }
    /// Whether the round has yet to reach the member at this position. The member's flags are not considered.
    @inline(__always) func isAhead(_ member: MemberID, at ringPosition: UInt64) -> Bool {
        let there = Int64(ringPosition)
        return there > self.position || (there == self.position && !self.metHere.contains(member))
    }
    /// Whether the member is owed the start by the round, and the round has not reached it yet.
    @inline(__always) private func isOwed(_ entry: RingEntry, in table: borrowing MemberTable) -> Bool {
        Self.isMetInRound(entry.member, in: table) && self.isAhead(entry.member, at: entry.position)
    }
    /// Whether the round itself serves the member. It does not if the member joined late, has left, or was sent the
    /// start early.
    @inline(__always) static func isMetInRound(_ member: MemberID, in table: borrowing MemberTable) -> Bool {
        table.flags(of: member).isDisjoint(with: [.isLate, .isGhost, .isServedEarly])
    }
    /// The next member of the round and its position; `nil`: the round is over. The member stays the next until it has
    /// been met.
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
    /// Moves the round on, past the member that `next` returned.
    /// - Parameter wasOwed: whether the round itself owed the member the start: see `isMetInRound`.
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

    /// Chooses who is sent the start next. First comes a member in `retries` whose wait is over, then a late member,
    /// then the next member in the ring.
    mutating func nextStep(resends: Bool, spread: StartSpread, in table: inout MemberTable, now: EngineTime) -> Step {
        if let member = self.retries.nextDue(sendsNamed: resends, nowMillis: now.steadyMillis) {
            return .member(member, failures: self.retries.remove(member)?.failures ?? .none)
        }
        guard !self.retries.isFull else { return .nobody }
        if let member = self.late.popFirst(isFree: resends) {
            table.removeFlag(.isLate, of: member)
            self.sentEarly(to: member, in: &table)
            return .member(member, failures: .none)
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
            return .member(entry.member, failures: .none)
        }
        return .nobody
    }
    /// When the next member can be sent the start (steady clock); `Int64.max`: at no known time.
    mutating func stepDueMillis(
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

    /// Marks the round as in its lane's queue.
    /// - Returns: `false`: the round was in the queue already.
    @inline(__always) mutating func queued() -> Bool {
        defer { self.isQueued = true }
        return !self.isQueued
    }
    /// Marks the round as out of its lane's queue.
    @inline(__always) mutating func dequeued() { self.isQueued = false }
    /// Adds a push that has left to the round's pushes in flight.
    @inline(__always) mutating func pushLeft(_ push: MemberPushID, in pushes: inout MemberPushStore) {
        self.inFlight.left(push, in: &pushes)
    }
    /// Removes an answered push from the round's pushes in flight.
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
    /// Lets a member wait for the next attempt to send it the start.
    /// - Parameter notBeforeMillis: earliest time of that attempt (steady clock); `Int64.max`: the answer to the
    ///   member's push of an earlier start has to arrive first.
    mutating func hold(_ member: MemberID, notBeforeMillis: Int64, failures: FailureStreak) {
        self.retries.set(StartRetries.Entry(notBeforeMillis: notBeforeMillis, failures: failures), for: member)
    }
    /// Ends the member's wait for an answer, if it waited for one: the answer has arrived.
    @inline(__always) mutating func wake(_ member: MemberID, nowMillis: Int64) {
        guard let entry = self.retries[member], entry.notBeforeMillis == .max else { return }
        self.hold(member, notBeforeMillis: nowMillis, failures: entry.failures)
    }
    /// Remembers a member that has been sent the start apart from the ring's order, or may have been.
    mutating func sentEarly(to member: MemberID, in table: inout MemberTable) {
        table.insertFlag(.isServedEarly, of: member)
        self.servedEarly.insert(member)
    }
    /// Remembers a member that a push of this start may have reached, and that is sent another push.
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
    /// Whether a member was sent the start apart from the ring's order, and may not have got it. Its push is
    /// unanswered, or the member waits for another attempt.
    func isServedEarlyInDoubt(_ member: MemberID, in table: borrowing MemberTable) -> Bool {
        let flags = table.flags(of: member)
        return flags.contains(.isServedEarly) && (flags.contains(.isInFlight) || self.retries[member] != nil)
    }
    /// Takes a token that has joined the ring, or joined again.
    /// - Parameters:
    ///   - current: the start that goes round; `nil`: none does.
    ///   - isBack: whether the token was a ghost before, or not a member of the ring.
    /// - Returns: whether the token has become a late member, which waits for that start.
    mutating func joined(
        _ member: MemberID, isBack: Bool, current: StartStamp?, in table: inout MemberTable
    ) -> Bool {
        let ghost = self.ghosts.removeValue(forKey: member)
        guard isBack, let current, !(ghost?.names(current) ?? false),
            !table.flags(of: member).contains(.isServedEarly)
        else { return false }
        // The member has not been sent the start that goes round, even if it was sent another start.
        table.insertFlag(.isLate, of: member)
        return true
    }
    /// Makes the record of a member, for writing at once. This queues a late member behind the others.
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
    /// Takes Kafka's acknowledgement of a member's record.
    mutating func memberAcknowledged(_ number: UInt32, offset: Int64) {
        self.late.written(number, at: offset)
    }
    /// Takes the member out of those that wait for the start. The round owes the member nothing from then on.
    /// - Returns: how many fewer members are now owed the start.
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
    /// Keeps a member as a ghost, because it has left.
    /// - Parameter sent: the start that it was sent.
    /// - Returns: how many fewer members are now owed the start.
    mutating func leftAsGhost(_ member: MemberID, sent: StartStamp, in table: inout MemberTable) -> Int {
        // A member in `retries` still has to be sent the start, and is sent it if it joins again.
        if self.retries[member] != nil { self.wasNotSentEarly(member, in: &table) }
        let fewer = self.owesNothing(to: member, in: &table)
        table.insertFlag(.isGhost, of: member)
        self.ghosts[member] = sent
        return fewer
    }
    /// Forgets which start a ghost was sent, because its push failed. If the ghost joins again, it may be sent a start.
    mutating func ghostWasNotSent(_ member: MemberID, in table: inout MemberTable) {
        self.ghosts[member] = StartStamp()
        self.wasNotSentEarly(member, in: &table)
    }
    private mutating func wasNotSentEarly(_ member: MemberID, in table: inout MemberTable) {
        if self.servedEarly.remove(member) != nil { table.removeFlag(.isServedEarly, of: member) }
    }
    /// Takes over from a restored record whether the member is a ghost.
    /// - Parameter sent: the start that the ghost was sent; `nil`: the member is not a ghost.
    mutating func ghostRead(_ member: MemberID, sent: StartStamp?) { self.ghosts[member] = sent }
    /// Forgets a member that is removed. It is owed nothing now, and another member may get its number.
    /// - Returns: how many fewer members are now owed the start.
    mutating func removed(_ member: MemberID, in table: inout MemberTable) -> Int {
        let fewer = self.owesNothing(to: member, in: &table)
        self.forgetLate(member, in: &table)
        self.retries.forget(member)
        self.ghosts[member] = nil
        self.maybeSent.remove(member)
        self.wasNotSentEarly(member, in: &table)
        self.metHere.removeAll { $0 == member }
        self.upcoming.forget()
        return fewer
    }

    // MARK: Announcing

    /// Whether Kafka has the record that announces the member at this position. Without that record the round does not
    /// send a member the start, because the next owner could send it a second one.
    @inline(__always) func isAnnounced(_ position: Int64) -> Bool { position < self.horizon }
    /// Whether more members have to be announced soon: the round has met at least half of those that the last record
    /// announced. `false` if all are announced already.
    @inline(__always) var isShort: Bool {
        self.nextHorizon < Self.end && 2 * self.announcedCount <= self.announcedAtRecord
    }
    /// When a record must be written (steady clock), because members must be announced, or a named member is due.
    /// - Parameters:
    ///   - lateMax: number of late members announced at a time.
    ///   - gatheredMillis: earliest time of a record for late and named members (steady clock). A record for members in
    ///     the ring's order does not wait until then.
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
    /// Maximum number of the ring's members that are looked at for one record, to find those that are owed the start.
    private static var scannedMax: Int { 16_384 }
    /// Minimum number of members that are looked up together, even if fewer are wanted.
    private static var scannedMin: Int { 64 }
    /// Moves `nextHorizon` on, for the record that is about to be written. The record then announces the next member,
    /// and members that the round reaches soon.
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
    /// Makes the round's part of the record that is about to be written.
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
            // After a takeover, each member whose push of this start is unanswered is sent the start again.
            part.horizon = self.unmetPosition
            var push = self.inFlight.first
            while push.isSome {
                if pushes[push].start == start { named.append(pushes[push].member) }
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
    /// Number of members that are announced and have no known result. Unanswered pushes of an earlier start count, too.
    private var unansweredCount: Int {
        self.announcedCount + self.inFlight.count + self.late.unansweredCount + self.retries.unnamedCount
    }
    /// Some of the members counted in `unansweredCount`: those that will not be met in the ring's order.
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
    /// Allows pushes to the members that the last record announces, because Kafka has that record.
    mutating func announced() {
        self.horizon = self.nextHorizon
        self.late.announced()
        self.retries.announced()
    }
    /// Withdraws the announcement of members that have not been sent the start. They have to be announced again before
    /// they are sent it.
    mutating func withdrawAnnouncements() {
        self.nextHorizon = self.unmetPosition
        // Members from `unmetPosition` on must not be sent the start now, although `state` still announces them.
        self.horizon = min(self.horizon, self.nextHorizon)
        self.announcedCount = 0
        self.late.withdraw()
    }

    // MARK: Restoring

    /// Takes over members that a restored record names. They still have to be sent the start.
    mutating func namedRead(_ members: [MemberID]) { self.retries.restoreNamed(members) }
    /// Takes over a late member that waits. A restore has read its record, at this offset in `state`.
    /// - Parameter number: number of the record, as if it had been written here.
    mutating func lateRead(_ member: MemberID, number: UInt32, offset: Int64, in table: inout MemberTable) {
        table.insertFlag(.isLate, of: member)
        self.late.joined(member, number: number)
        self.late.written(number, at: offset)
    }
}
