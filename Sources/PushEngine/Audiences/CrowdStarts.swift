import PushModel

/// A partition's start members of an audience: their rings, the start that goes round, and starts of the last hour. It
/// decides; its owner lends it the table of members, writes its records, and sends.
struct CrowdStarts {
    private(set) var phase = Phase.over
    private(set) var trace = Trace.untold
    /// The start that goes round: one element, or none. It is large, and rarely there.
    private var orders: [StartOrder] = []
    /// The identity of the start that goes round, and its end; 0: none goes round.
    private(set) var orderStamp = StartStamp()
    private(set) var orderExpiresSeconds: Int64 = 0
    /// The newest start that goes round here, or has. Neither it nor an older one begins again, whatever a clock shows.
    private var newestMet = StartStamp()
    /// When the start began here, wall milliseconds; 0: it has not.
    private var beganMillis: Int64 = 0
    /// The rounds, one for each environment.
    private(set) var rounds: [StartRound] = []
    /// Starts whose pushes left within the hour.
    private(set) var past = PastStarts()
    private(set) var records = StartBookkeeping()
    private(set) var restored = RestoredStarts()
    private(set) var sweep = StartSweep()
    private var bodies = StartBodies()
    /// When the newest of its members joined, seconds since 1970.
    private(set) var lastJoinSeconds: Int64 = 0

    /// Results of the start, and of the previous one until the next begins.
    var reports = StartReports()

    var waitingCount: Int { self.rounds.reduce(0) { $0 + $1.waitingCount } }
    /// The start that goes round; `nil`: none, or it has expired.
    var order: StartOrder? { self.orders.first }
    @inline(__always) var hasOrder: Bool { self.phase != .over }
    /// The stamp of the start that goes round; `nil`: none does.
    @inline(__always) private var current: StartStamp? { self.hasOrder ? self.orderStamp : nil }
    /// When the start's own content is stale. Asked without copying the start.
    @inline(__always) var orderStaleSeconds: Int64 { self.orders.isEmpty ? .max : self.orders[0].layer.staleSeconds }
    /// Whether the start shows the newest version: see `StartOrder.shows`.
    @inline(__always) func orderShows(_ newest: borrowing Version) -> Bool {
        self.hasOrder && self.orders[0].shows(newest)
    }
    /// Whether there is nothing to do and nothing to remember.
    @inline(__always) var isIdle: Bool {
        mutating get { self.rounds.isEmpty && !self.hasOrder && !self.records.progress.isDue }
    }
    /// Whether the start goes round, and joins from before it are in `state`.
    @inline(__always) var mayLeave: Bool { self.hasOrder && self.records.hasMembersFromBefore }
    private func spread(_ terms: StartTerms) -> StartSpread {
        StartSpread(
            beganMillis: self.beganMillis, wishedMillis: self.hasOrder ? terms.spreadMillis : 0,
            expiresSeconds: self.orderExpiresSeconds)
    }

    // MARK: The start

    /// Says what becomes of the start.
    /// - Parameter new: the start of the newest version; `nil`: none goes round.
    func coming(_ new: StartOrder?) -> Coming {
        guard let new else { return self.hasOrder ? .ceases : .nothing }
        if self.hasOrder, new.stamp == self.orderStamp { return .goesOn }
        if self.mayBegin(new.stamp) { return .begins(new) }
        return self.hasOrder ? .ceases : .nothing
    }
    /// Whether the start has not been over here: it is new, or a takeover continues it.
    private func mayBegin(_ start: StartStamp) -> Bool {
        if let known = self.restored.progress, !known.isOver, known.start == start { return true }
        return start > self.newestMet
    }
    /// Begins a start; none went round. After a restore it continues behind the members that were announced.
    mutating func startCame(
        _ order: StartOrder, in table: inout MemberTable, entries: inout [RingEntry]
    ) -> Begun {
        self.orders = [order]
        // No other start begins.
        self.newestMet = order.stamp
        self.orderStamp = order.stamp
        self.orderExpiresSeconds = order.expiresSeconds
        self.trace = .toBegin
        self.beganMillis = 0
        self.phase = .goesRound
        self.reports = StartReports(of: order)
        self.records.startCame()
        self.contentChanged()
        if !self.restored.isEmpty { return self.resume(in: &table, entries: &entries) }
        var begun = Begun()
        for index in self.rounds.indices {
            let before = self.rounds[index].waitingCount
            self.rounds[index].begin(
                count: table.count(of: self.rounds[index].ring) - self.rounds[index].ghosts.count)
            begun.dueCount += self.rounds[index].waitingCount - before
        }
        return begun
    }
    /// Continues a start that `state` has.
    private mutating func resume(in table: inout MemberTable, entries: inout [RingEntry]) -> Begun {
        let start = self.orderStamp
        let (known, marks) = self.restored.take(start)
        self.beganMillis = known?.beganMillis ?? 0
        self.reports.resumed(known?.report)
        var begun = Begun()
        for index in self.rounds.indices {
            let part = known?.rounds.first { $0.environment == self.rounds[index].environment }
            for (member, mark) in marks where table.ring(of: member) == self.rounds[index].ring {
                let number = self.records.memberRestored()
                self.rounds[index].resumeMember(member, mark, part: part, number: number, in: &table)
            }
            begun.unheard += self.rounds[index].resume(
                start, part: part,
                // Members of a ring that is not in the record came late.
                at: part?.horizon ?? (known == nil ? 0 : StartRound.end),
                unheardMax: self.reports.untoldMembersMax - begun.unheard.count, in: &table, entries: &entries)
            begun.unknownCount += part?.unansweredCount ?? 0
            begun.dueCount += self.rounds[index].waitingCount
        }
        return begun
    }
    /// Gives the start up for members that have not been sent it.
    /// - Returns: the number of members that were owed it.
    mutating func ceased(in table: inout MemberTable) -> Int {
        var count = 0
        for index in self.rounds.indices { count += self.rounds[index].cease(in: &table) }
        return count
    }
    /// Ends the start and counts what was still owed. None goes round then.
    mutating func over() {
        self.phase = .over
        self.orders = []
        self.orderStamp = StartStamp()
        self.orderExpiresSeconds = 0
        self.contentChanged()
        self.records.progressed()
    }
    /// Notes that the start may leave.
    mutating func began(now: EngineTime) {
        if self.hasOrder, self.beganMillis == 0 { self.beganMillis = now.wallMillis }
    }
    /// Drops the bodies: the start shows something else from here on, or phones are told to listen on another channel.
    mutating func contentChanged() { self.bodies = StartBodies() }
    /// Appends the body of a push of the start that goes round.
    /// - Parameter channel: the channel on which phones that can listen are told to listen; empty: none.
    mutating func appendBody(newest: Version?, isChannelCapable: Bool, channel: [UInt8], to body: inout [UInt8]) {
        guard self.hasOrder else { return }
        self.bodies.append(
            self.orders[0], newest: newest, isChannelCapable: isChannelCapable, channel: channel, to: &body)
    }

    // MARK: Traces

    /// Notes that the check whether the start's trace begins has been made.
    /// - Returns: the start, if its trace begins.
    mutating func traceLooked() -> StartOrder? {
        guard self.trace == .toBegin else { return nil }
        self.trace = .untold
        return self.order
    }
    mutating func traceBegan() { self.trace = .told }
    /// Ends the trace.
    /// - Parameter mayGoOn: whether the trace may go on here.
    mutating func traceEnded(mayGoOn: Bool) {
        if self.trace == .told { self.trace = mayGoOn ? .toBegin : .untold }
    }

    // MARK: Turns and pushes

    /// Says who is sent the start next in a round. A member that waits for the answer to a push of another start is
    /// passed over.
    mutating func nextTurn(
        of round: Int, _ terms: StartTerms, in table: inout MemberTable, now: EngineTime
    ) -> (member: MemberID, attempt: UInt8)? {
        let spread = self.spread(terms)
        while true {
            switch self.rounds[round].nextTurn(resends: terms.resends, spread: spread, in: &table, now: now) {
            case .member(let member, let attempt):
                guard table.flags(of: member).contains(.isInFlight) else { return (member, attempt) }
                self.held(member, of: round, notBeforeMillis: .max, attempt: attempt)
            case .unannounced:
                self.records.ranDry()
                return nil
            case .nobody: return nil
            }
        }
    }
    /// When a member has its turn in a round, steady; `Int64.max`: an acknowledgement or an answer comes first.
    mutating func turnDueMillis(
        of round: Int, _ terms: StartTerms, in table: borrowing MemberTable, now: EngineTime
    ) -> Int64 {
        self.rounds[round].turnDueMillis(resends: terms.resends, spread: self.spread(terms), in: table, now: now)
    }
    private mutating func held(_ member: MemberID, of round: Int, notBeforeMillis: Int64, attempt: UInt8) {
        self.rounds[round].hold(member, notBeforeMillis: notBeforeMillis, attempt: attempt)
        self.records.progressed()
    }
    /// Lets the member whose turn it is wait, because it has had its starts of this hour. It waits if there is room and
    /// the start lives that long.
    /// - Returns: whether it waits. If not, it is owed the start no longer.
    mutating func heldBack(
        _ member: MemberID, of round: Int, untilMillis: Int64, attempt: UInt8, now: EngineTime
    ) -> Bool {
        let isInTime = untilMillis - now.steadyMillis < self.orderExpiresSeconds * 1_000 - now.wallMillis
        guard isInTime, self.rounds[round].retries.count < StartRetries.countMax / 2 else { return false }
        self.held(member, of: round, notBeforeMillis: untilMillis, attempt: attempt)
        return true
    }
    /// Notes that the round is in its lane's queue.
    /// - Returns: `false` if it was before.
    @inline(__always) mutating func queued(_ round: Int) -> Bool { self.rounds[round].queued() }
    @inline(__always) mutating func dequeued(_ round: Int) { self.rounds[round].dequeued() }
    /// Notes that a push of the start to the member whose turn it was has left.
    /// - Returns: whether members have to be announced soon, so that the round does not stop.
    @inline(__always) mutating func pushLeft(
        _ push: MemberPushID, of round: Int, in pushes: inout MemberPushStore, now: EngineTime
    ) -> Bool {
        self.rounds[round].pushLeft(push, in: &pushes)
        self.past.sent(self.orderStamp, now: now)
        self.records.pushLeft()
        guard !self.records.progress.isUnderWay else { return false }
        for index in self.rounds.indices where self.rounds[index].isUnderWay && self.rounds[index].isShort {
            return true
        }
        return false
    }
    /// Takes the answer to a push.
    @inline(__always) mutating func pushAnswered(
        _ push: MemberPushID, of round: Int, in pushes: inout MemberPushStore
    ) {
        self.rounds[round].pushAnswered(push, in: &pushes)
        self.records.progressed()
    }
    /// Notes that the answer's meaning is settled. A member that waited for it, because another start goes round
    /// meanwhile, has its turn.
    @inline(__always) mutating func settled(_ member: MemberID, of round: Int, nowMillis: Int64) {
        self.rounds[round].wake(member, nowMillis: nowMillis)
    }
    /// Notes that nobody knows whether the push has arrived. The member is sent another.
    mutating func mayHaveArrived(_ push: borrowing MemberPush) {
        if push.start == self.orderStamp { self.rounds[push.pass].mayHaveArrived(at: push.member) }
    }
    /// Tries the member again, since the push surely has not started anything, as long as that start goes round and it
    /// is a member.
    /// - Parameters:
    ///   - endsSeconds: when the start expires, seconds since 1970.
    ///   - attempt: the number of attempts that the member waits with.
    /// - Returns: how it ended; `nil`: the member is still owed the start.
    mutating func surelyNotArrived(
        _ push: borrowing MemberPush, endsSeconds: Int64, delayMillis: Int64, attempt: UInt8,
        in table: borrowing MemberTable, now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64>? {
        guard !table.flags(of: push.member).contains(.isGhost) else {
            self.rounds[push.pass].ghostWasNotSent(push.member)
            return \.left
        }
        guard push.start == self.orderStamp else { return \.superseded }
        // The member would keep a place among those that wait, and then be too late.
        guard now.wallMillis + delayMillis < endsSeconds * 1_000 else { return \.expired }
        self.rounds[push.pass].hold(
            push.member, notBeforeMillis: now.steadyMillis + delayMillis, attempt: attempt)
        return nil
    }

    // MARK: Members

    /// Adds a ring for the environment.
    mutating func ringMade(_ ring: RingID, environment: PushEnvironment) {
        self.rounds.append(StartRound(ring: ring, environment: environment))
    }
    /// Removes the rings, which have no members.
    mutating func removeRings(in table: inout MemberTable) {
        for round in self.rounds { table.removeRing(round.ring) }
        self.rounds = []
    }
    /// How often an unchanged join is written down, so that the member's life begins again; seconds.
    static let rejoinSeconds: UInt32 = 86_400
    /// Notes that a join was taken.
    mutating func joinTaken(seconds: UInt32) { self.lastJoinSeconds = max(self.lastJoinSeconds, Int64(seconds)) }
    /// Moves a token's member from the other environment to this one, as a new member of it.
    /// - Parameter before: what it had been sent there.
    mutating func moved(
        _ member: MemberID, to round: Int, wasSent: Bool, mayHaveArrived: Bool, in table: inout MemberTable
    ) {
        if wasSent { self.rounds[round].sentEarly(to: member, in: &table) }
        if mayHaveArrived { self.rounds[round].mayHaveArrived(at: member) }
    }
    /// Makes the member what its join says.
    /// - Parameters:
    ///   - says: the flags that the join says.
    ///   - isNew: whether it was not in the round's ring before.
    /// - Returns: whether anything has changed that has to be written down.
    mutating func joined(
        _ member: MemberID, of round: Int, says: MemberFlags, isNew: Bool, joinedSeconds: UInt32,
        in table: inout MemberTable, now: EngineTime
    ) -> Bool {
        let before = table.flags(of: member)
        let flags = before.subtracting([.isFrequent, .isChannelCapable, .isGhost]).union(says)
        table.setFlags(flags, of: member)
        var isChanged = isNew || flags != before
        self.past.timePassed(nowMillis: now.steadyMillis)
        // The time of its join decides which starts within the hour it may have been sent.
        if !isNew, self.past.isEmpty, joinedSeconds >= table.joinedSeconds(of: member) &+ Self.rejoinSeconds {
            table.setJoinedSeconds(joinedSeconds, of: member)
            isChanged = true
        }
        let isBack = isNew || before.contains(.isGhost)
        if self.rounds[round].joined(member, isBack: isBack, current: self.current, in: &table) { isChanged = true }
        return isChanged
    }
    /// Makes the record of a member, which is written now.
    /// - Returns: the record's number, and how many more members are owed the start.
    mutating func record(
        of member: MemberID, of round: Int, in table: borrowing MemberTable
    ) -> (record: StartMemberRecord, number: UInt32, dueCount: Int) {
        let before = self.rounds[round].waitingCount
        let number = self.records.memberWritten()
        let record = self.rounds[round].record(of: member, current: self.current, number: number, in: table)
        return (record, number, self.rounds[round].waitingCount - before)
    }
    /// Notes that a member's tombstone is written.
    /// - Returns: the record's number.
    mutating func tombstoneWritten() -> UInt32 { self.records.memberWritten() }
    /// Notes that Kafka has a member's record.
    mutating func memberAcknowledged(_ number: UInt32, of round: Int, offset: Int64) {
        self.records.memberAcknowledged(number)
        if round < self.rounds.count { self.rounds[round].memberAcknowledged(number, offset: offset) }
    }
    /// Takes a member out. While what it was sent has to be remembered, it stays as a ghost.
    /// - Returns: how many fewer are owed the start; `nil`: nothing has to be remembered, and it can be removed.
    mutating func left(_ member: MemberID, of round: Int, in table: inout MemberTable, now: EngineTime) -> Int? {
        let wasSent = self.wasSent(to: member, of: round, in: table)
        if !wasSent { self.past.timePassed(nowMillis: now.steadyMillis) }
        guard let sent = wasSent ? self.orderStamp : self.formerSent(to: member, of: round, in: table) else {
            return nil
        }
        let fewer = self.rounds[round].leftAsGhost(member, sent: sent, in: &table)
        self.sweepWanted(now: now)
        return fewer
    }
    /// Removes the member from the table. Nothing is owed to it then, and no push to it is in flight.
    /// - Returns: how many fewer are owed the start.
    mutating func removed(_ member: MemberID, of round: Int, in table: inout MemberTable) -> Int {
        let fewer = self.rounds[round].removed(member, in: &table)
        self.restored.memberForgotten(member)
        table.remove(member)
        return fewer
    }

    // MARK: Sweeps

    /// Schedules the sweep of the members.
    mutating func sweepWanted(now: EngineTime) {
        guard !self.rounds.isEmpty else { return }
        let hasGhosts = self.rounds.contains { !$0.ghosts.isEmpty }
        self.sweep.wanted(
            ghostsUntilMillis: hasGhosts ? self.ghostsUntilMillis(now: now) : nil, nowMillis: now.steadyMillis)
    }
    /// Schedules the sweep at once: the time of all members is over. They leave before their audience's owner is asked
    /// about them once more.
    mutating func sweepWantedAtOnce(now: EngineTime) { self.sweep.wantedAtOnce(nowMillis: now.steadyMillis) }
    /// Looks at the next members of the sweep.
    /// - Parameters:
    ///   - lifeMillis: members that joined longer ago leave.
    ///   - hasGhosts: whether some ghosts are left that need not be remembered.
    /// - Returns: the members that leave.
    mutating func swept(
        lifeMillis: Int64, hasGhosts: Bool, in table: borrowing MemberTable, now: EngineTime
    ) -> [MemberID] {
        var end = RingPosition.end
        var entries: [RingEntry] = []
        for round in self.rounds {
            end = min(
                end, table.fill(round.ring, from: self.sweep.position, limit: StartSweep.countMax, into: &entries))
        }
        self.sweep.stepped(to: end, hasGhosts: hasGhosts, nowMillis: now.steadyMillis)
        return entries.compactMap {
            let joinedMillis = Int64(table.joinedSeconds(of: $0.member)) * 1_000
            let isOver = now.wallMillis - joinedMillis >= lifeMillis
            return isOver && $0.position < end && !table.flags(of: $0.member).contains(.isGhost) ? $0.member : nil
        }
    }
    // MARK: The record of how far it is

    /// When the record is written next, steady; `Int64.max`: one is on its way, or there is nothing to say.
    /// - Parameter announces: whether starts may leave.
    mutating func recordDueMillis(
        announces: Bool, _ terms: StartTerms, in table: borrowing MemberTable, now: EngineTime
    ) -> Int64 {
        var due = self.records.progressDueMillis(nowMillis: now.steadyMillis)
        guard announces, !terms.resends, !self.records.progress.isUnderWay else { return due }
        let spread = self.spread(terms)
        let gathered = self.records.gatheredMillis(nowMillis: now.steadyMillis)
        for index in self.rounds.indices {
            due = min(
                due,
                self.rounds[index].announcementDueMillis(
                    lateMax: self.records.pace.count, gatheredMillis: gathered, spread: spread, in: table, now: now))
        }
        return due
    }
    /// Makes the record, which is written now. It announces who is next, and says how far the start is.
    /// - Parameter announces: whether starts may leave.
    mutating func record(
        announces: Bool, _ terms: StartTerms, in table: borrowing MemberTable, pushes: borrowing MemberPushStore,
        entries: inout [RingEntry], now: EngineTime
    ) -> StartProgressRecord {
        self.past.timePassed(nowMillis: now.steadyMillis)
        self.records.progressWritten(nowMillis: now.steadyMillis)
        let spread = self.spread(terms)
        var progress = StartProgressRecord()
        progress.start = self.newestMet
        progress.isOver = !self.hasOrder
        progress.beganMillis = self.beganMillis
        progress.report = self.reports.report
        for index in self.rounds.indices {
            progress.rounds.append(
                self.rounds[index].record(
                    of: self.orderStamp, announcing: announces ? self.records.pace.count : nil,
                    resends: terms.resends, spread: spread, in: table, pushes: pushes, entries: &entries, now: now))
        }
        // Announced members' pushes leave from here on.
        let isAnnounced = self.hasOrder && progress.rounds.contains { $0.unansweredCount > 0 }
        progress.past = self.past.recorded(announced: isAnnounced ? self.orderStamp : nil, now: now)
        return progress
    }
    /// Notes that Kafka has a record. The pushes that the last record announces may leave.
    /// - Returns: whether it is the last record.
    mutating func recordAcknowledged(_ number: UInt32, now: EngineTime) -> Bool {
        guard self.records.progressAcknowledged(number, nowMillis: now.steadyMillis) else { return false }
        for index in self.rounds.indices { self.rounds[index].announced() }
        return true
    }
    /// Withdraws the announcements: nothing leaves until further notice. Members that are announced and were not sent
    /// to are recorded as such. Otherwise a takeover would count them as unknown.
    mutating func withdrawn() {
        for index in self.rounds.indices { self.rounds[index].withdrawAnnouncements() }
        self.records.progressed()
    }
    /// Requires a record: the crowd is new.
    mutating func progressed() { self.records.progressed() }

    // MARK: Restoring

    /// Takes over a record of how far the last start was.
    mutating func progressRead(_ progress: StartProgressRecord, now: EngineTime) {
        self.past.restored(progress.past, now: now)
        if !progress.isOver, progress.rounds.contains(where: { $0.unansweredCount > 0 }) {
            // What was announced may have left at any time since. Nothing has left of a start that is over.
            self.past.sent(progress.start, now: now)
        }
        self.restored.progressRead(progress)
        self.newestMet = progress.start
    }
    /// Notes that the tombstone of that record was read.
    mutating func progressForgotten() { self.restored.progressRead(nil) }
    /// Takes over starts whose version has expired.
    mutating func ordersRead(_ orders: [StartOrder]) { self.restored.ordersRead(orders) }
    /// Takes over a member's record. The member is in the round's ring.
    mutating func memberRead(
        _ member: MemberID, of round: Int, _ record: StartMemberRecord, offset: Int64, in table: inout MemberTable
    ) {
        var flags: MemberFlags = record.isFrequent ? .isFrequent : []
        if record.isChannelCapable { flags.formUnion(.isChannelCapable) }
        if record.hasLeft { flags.formUnion(.isGhost) }
        table.setFlags(flags, of: member)
        table.setJoinedSeconds(record.joinedSeconds, of: member)
        self.joinTaken(seconds: record.joinedSeconds)
        self.rounds[round].ghostRead(member, sent: record.hasLeft ? record.start : nil)
        self.restored.memberRead(member, record, offset: offset)
    }
    /// Ends the restore: the last record has been read, and the present start is known.
    /// - Parameter resends: whether nobody was announced. The previous owner may then have sent the start until it
    ///   died.
    mutating func restoreOver(resends: Bool, now: EngineTime) {
        self.restored = RestoredStarts()
        if self.hasOrder, resends {
            self.phase = .goesOnInDoubt
            self.past.sent(self.orderStamp, now: now)
        }
        self.sweepWanted(now: now)
    }
    /// Moves the rings to another crowd.
    mutating func crowdChanged(to crowd: CrowdID, generation: UInt32, pushes: inout MemberPushStore) {
        self.records.crowdChanged()
        for index in self.rounds.indices {
            self.rounds[index].crowdChanged(to: crowd, generation: generation, pushes: &pushes)
        }
    }
}
