import PushModel

/// What a partition has of an audience's start members: their rings, the start that goes round, and those that went round within the hour. It decides; its
/// owner lends it the table of members, writes its records, and sends.
struct CrowdStarts {
    private(set) var phase = Phase.over
    private(set) var trace = Trace.untold
    /// The start that goes round: one element, or none. It is large, and rarely there.
    private var orders: [StartOrder] = []
    /// Which it is, and its end; 0: none goes round.
    private(set) var orderStamp = StartStamp()
    private(set) var orderExpiresSeconds: Int64 = 0
    /// The newest start that has gone round here, or does. Neither it nor an older one begins again, whatever a clock says.
    private var newestMet = StartStamp()
    /// When it began here, wall milliseconds; 0: it has not.
    private var beganMillis: Int64 = 0
    /// One an environment.
    private(set) var rounds: [StartRound] = []
    /// Starts whose pushes left within the hour.
    private(set) var past = PastStarts()
    private(set) var records = StartBookkeeping()
    private(set) var restored = RestoredStarts()
    private(set) var sweep = StartSweep()
    private var bodies = StartBodies()
    /// When the newest of its members joined, seconds since 1970.
    private(set) var lastJoinSeconds: Int64 = 0

    /// What became of it, and of the one before until the next begins.
    var reports = StartReports()

    var waitingCount: Int { self.rounds.reduce(0) { $0 + $1.waitingCount } }
    /// The start that goes round; `nil`: none, or it has expired.
    var order: StartOrder? { self.orders.first }
    @inline(__always) var hasOrder: Bool { self.phase != .over }
    /// Which goes round; `nil`: none.
    @inline(__always) private var current: StartStamp? { self.hasOrder ? self.orderStamp : nil }
    /// When what the start itself would show is stale; no copy of it is made to ask.
    @inline(__always) var orderStaleSeconds: Int64 { self.orders.isEmpty ? .max : self.orders[0].layer.staleSeconds }
    /// See `StartOrder.shows`.
    @inline(__always) func orderShows(_ newest: borrowing Version) -> Bool {
        self.hasOrder && self.orders[0].shows(newest)
    }
    /// There is nothing to do, and nothing to remember.
    @inline(__always) var isIdle: Bool { self.rounds.isEmpty && !self.hasOrder && !self.records.progress.isDue }
    /// It goes round, and joins from before it lie in `state`.
    @inline(__always) var mayLeave: Bool { self.hasOrder && self.records.hasMembersFromBefore }
    private func spread(_ terms: StartTerms) -> StartSpread {
        StartSpread(
            beganMillis: self.beganMillis, wishedMillis: self.hasOrder ? terms.spreadMillis : 0,
            expiresSeconds: self.orderExpiresSeconds)
    }

    // MARK: The start

    /// Says what becomes of the start.
    /// - Parameter new: as the newest version says; `nil`: none goes round.
    func coming(_ new: StartOrder?) -> Coming {
        guard let new else { return self.hasOrder ? .ceases : .nothing }
        if self.hasOrder, new.stamp == self.orderStamp { return .goesOn }
        if self.mayBegin(new.stamp) { return .begins(new) }
        return self.hasOrder ? .ceases : .nothing
    }
    /// It has not been over here: it is new, or a takeover goes on with it.
    private func mayBegin(_ start: StartStamp) -> Bool {
        if let known = self.restored.progress, !known.isOver, known.start == start { return true }
        return start > self.newestMet
    }
    /// A start goes round from here on; none did. Behind a restore it goes on behind those that were announced.
    mutating func startCame(
        _ order: StartOrder, in table: inout MemberTable, entries: inout [RingEntry]
    ) -> Begun {
        self.orders = [order]
        // No other begins.
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
    /// A start that `state` tells of goes on.
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
                // Members of a ring that the record does not have came late.
                at: part?.horizon ?? (known == nil ? 0 : StartRound.end),
                unheardMax: self.reports.untoldMembersMax - begun.unheard.count, in: &table, entries: &entries)
            begun.unknownCount += part?.unansweredCount ?? 0
            begun.dueCount += self.rounds[index].waitingCount
        }
        return begun
    }
    /// Members that have not been sent the start are not.
    /// - Returns: how many were owed it.
    mutating func ceased(in table: inout MemberTable) -> Int {
        var count = 0
        for index in self.rounds.indices { count += self.rounds[index].cease(in: &table) }
        return count
    }
    /// What was owed of the start is counted: none goes round.
    mutating func over() {
        self.phase = .over
        self.orders = []
        self.orderStamp = StartStamp()
        self.orderExpiresSeconds = 0
        self.contentChanged()
        self.records.progressed()
    }
    /// The start may leave.
    mutating func began(now: EngineTime) {
        if self.hasOrder, self.beganMillis == 0 { self.beganMillis = now.wallMillis }
    }
    /// It shows something else from here on, or phones are told to listen on something else.
    mutating func contentChanged() { self.bodies = StartBodies() }
    /// Appends the body of a push of the start that goes round.
    /// - Parameter channel: that phones which can listen are told to listen on; empty: none.
    mutating func appendBody(newest: Version?, isChannelCapable: Bool, channel: [UInt8], to body: inout [UInt8]) {
        guard self.hasOrder else { return }
        self.bodies.append(
            self.orders[0], newest: newest, isChannelCapable: isChannelCapable, channel: channel, to: &body)
    }

    // MARK: Traces

    /// It is looked whether the start's trace is to begin.
    /// - Returns: the start, if so.
    mutating func traceLooked() -> StartOrder? {
        guard self.trace == .toBegin else { return nil }
        self.trace = .untold
        return self.order
    }
    mutating func traceBegan() { self.trace = .told }
    /// - Parameter mayGoOn: what is traced may go on here.
    mutating func traceEnded(mayGoOn: Bool) {
        if self.trace == .told { self.trace = mayGoOn ? .toBegin : .untold }
    }

    // MARK: Turns and pushes

    /// Says who is sent the start next in a round. A member that waits for the answer to a push of another start is passed over.
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
    /// When somebody has a turn in a round, steady; `Int64.max`: an acknowledgement or an answer comes first.
    mutating func turnDueMillis(
        of round: Int, _ terms: StartTerms, in table: borrowing MemberTable, now: EngineTime
    ) -> Int64 {
        self.rounds[round].turnDueMillis(resends: terms.resends, spread: self.spread(terms), in: table, now: now)
    }
    private mutating func held(_ member: MemberID, of round: Int, notBeforeMillis: Int64, attempt: UInt8) {
        self.rounds[round].hold(member, notBeforeMillis: notBeforeMillis, attempt: attempt)
        self.records.progressed()
    }
    /// The member, whose turn it is, has had its starts of this hour. It waits if there is room and the start lives for so long.
    /// - Returns: whether it does; if not, it is owed the start no more.
    mutating func heldBack(
        _ member: MemberID, of round: Int, untilMillis: Int64, attempt: UInt8, now: EngineTime
    ) -> Bool {
        let isInTime = untilMillis - now.steadyMillis < self.orderExpiresSeconds * 1_000 - now.wallMillis
        guard isInTime, self.rounds[round].retries.count < StartRetries.countMax / 2 else { return false }
        self.held(member, of: round, notBeforeMillis: untilMillis, attempt: attempt)
        return true
    }
    /// The round stands in its lane's queue from here on.
    /// - Returns: false if it did before.
    @inline(__always) mutating func queued(_ round: Int) -> Bool { self.rounds[round].queued() }
    @inline(__always) mutating func dequeued(_ round: Int) { self.rounds[round].dequeued() }
    /// A push of the start to a member whose turn it was has left.
    /// - Returns: whether members have to be announced soon, so that the round does not stand still.
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
    /// A push was answered.
    @inline(__always) mutating func pushAnswered(
        _ push: MemberPushID, of round: Int, in pushes: inout MemberPushStore
    ) {
        self.rounds[round].pushAnswered(push, in: &pushes)
        self.records.progressed()
    }
    /// What the answer means is settled: a member that waited for it, as another start goes round meanwhile, has its turn.
    @inline(__always) mutating func settled(_ member: MemberID, of round: Int, nowMillis: Int64) {
        self.rounds[round].wake(member, nowMillis: nowMillis)
    }
    /// Nobody knows whether the push has arrived, and the member is sent another.
    mutating func mayHaveArrived(_ push: borrowing MemberPush) {
        if push.start == self.orderStamp { self.rounds[push.pass].mayHaveArrived(at: push.member) }
    }
    /// The push surely has not started anything: the member is tried again, as long as that start goes round and it is a member.
    /// - Parameters:
    ///   - endsSeconds: the start is sent to nobody from then on, seconds since 1970.
    ///   - attempt: what the member waits with.
    /// - Returns: how it ended; `nil`: it is owed the start still.
    mutating func surelyNotArrived(
        _ push: borrowing MemberPush, endsSeconds: Int64, delayMillis: Int64, attempt: UInt8,
        in table: borrowing MemberTable, now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64>? {
        guard !table.flags(of: push.member).contains(.isGhost) else {
            self.rounds[push.pass].ghostWasNotSent(push.member)
            return \.left
        }
        guard push.start == self.orderStamp else { return \.superseded }
        // It would keep a place among those who wait, and then be too late.
        guard now.wallMillis + delayMillis < endsSeconds * 1_000 else { return \.expired }
        self.rounds[push.pass].hold(
            push.member, notBeforeMillis: now.steadyMillis + delayMillis, attempt: attempt)
        return nil
    }

    // MARK: Members

    /// There is a ring for the environment.
    mutating func ringMade(_ ring: RingID, environment: PushEnvironment) {
        self.rounds.append(StartRound(ring: ring, environment: environment))
    }
    /// The rings are taken away, which have no members.
    mutating func removeRings(in table: inout MemberTable) {
        for round in self.rounds { table.removeRing(round.ring) }
        self.rounds = []
    }
    /// A join that says the same again is written down so often, that its life begins again; seconds.
    static let rejoinSeconds: UInt32 = 86_400
    /// A join was taken.
    mutating func joinTaken(seconds: UInt32) { self.lastJoinSeconds = max(self.lastJoinSeconds, Int64(seconds)) }
    /// A token that was a member in the other environment joins this one, as a new member of it.
    /// - Parameter before: what it had been sent there.
    mutating func moved(
        _ member: MemberID, to round: Int, wasSent: Bool, mayHaveArrived: Bool, in table: inout MemberTable
    ) {
        if wasSent { self.rounds[round].sentEarly(to: member, in: &table) }
        if mayHaveArrived { self.rounds[round].mayHaveArrived(at: member) }
    }
    /// The member is what its join says from here on.
    /// - Parameters:
    ///   - says: the flags that the join says.
    ///   - isNew: it was not in the round's ring before.
    /// - Returns: whether anything has changed that is to be written down.
    mutating func joined(
        _ member: MemberID, of round: Int, says: MemberFlags, isNew: Bool, joinedSeconds: UInt32,
        in table: inout MemberTable, now: EngineTime
    ) -> Bool {
        let before = table.flags(of: member)
        let flags = before.subtracting([.isFrequent, .isChannelCapable, .isGhost]).union(says)
        table.setFlags(flags, of: member)
        var isChanged = isNew || flags != before
        self.past.timePassed(nowMillis: now.steadyMillis)
        // What it was sent within the hour is told by when it joined.
        if !isNew, self.past.isEmpty, joinedSeconds >= table.joinedSeconds(of: member) &+ Self.rejoinSeconds {
            table.setJoinedSeconds(joinedSeconds, of: member)
            isChanged = true
        }
        let isBack = isNew || before.contains(.isGhost)
        if self.rounds[round].joined(member, isBack: isBack, current: self.current, in: &table) { isChanged = true }
        return isChanged
    }
    /// The record of a member, which is written now.
    /// - Returns: its number, and how many more are owed the start.
    mutating func record(
        of member: MemberID, of round: Int, in table: borrowing MemberTable
    ) -> (record: StartMemberRecord, number: UInt32, dueCount: Int) {
        let before = self.rounds[round].waitingCount
        let number = self.records.memberWritten()
        let record = self.rounds[round].record(of: member, current: self.current, number: number, in: table)
        return (record, number, self.rounds[round].waitingCount - before)
    }
    /// A member's tombstone is written.
    /// - Returns: its number.
    mutating func tombstoneWritten() -> UInt32 { self.records.memberWritten() }
    /// Kafka has a member's record.
    mutating func memberAcknowledged(_ number: UInt32, of round: Int, offset: Int64) {
        self.records.memberAcknowledged(number)
        if round < self.rounds.count { self.rounds[round].memberAcknowledged(number, offset: offset) }
    }
    /// A member leaves. While it has to be remembered what it was sent, it stays as a ghost.
    /// - Returns: how many fewer are owed the start; `nil`: nothing need be remembered, and it can be removed.
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
    /// The member is taken out of the table: nothing is owed to it, and no push to it is in flight.
    /// - Returns: how many fewer are owed the start.
    mutating func removed(_ member: MemberID, of round: Int, in table: inout MemberTable) -> Int {
        let fewer = self.rounds[round].removed(member, in: &table)
        self.restored.memberForgotten(member)
        table.remove(member)
        return fewer
    }

    // MARK: Sweeps

    /// Sees to it that members are looked through in time.
    mutating func sweepWanted(now: EngineTime) {
        guard !self.rounds.isEmpty else { return }
        let hasGhosts = self.rounds.contains { !$0.ghosts.isEmpty }
        self.sweep.wanted(
            ghostsUntilMillis: hasGhosts ? self.ghostsUntilMillis(now: now) : nil, nowMillis: now.steadyMillis)
    }
    /// The time of all members is over: they go before their audience's owner is asked for them once more.
    mutating func sweepWantedAtOnce(now: EngineTime) { self.sweep.wantedAtOnce(nowMillis: now.steadyMillis) }
    /// Looks at the next members of the sweep.
    /// - Parameters:
    ///   - lifeMillis: who has joined longer ago leaves.
    ///   - hasGhosts: some are left that need not be remembered.
    /// - Returns: who leaves.
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

    /// When it is written next, steady; `Int64.max`: one is under way, or there is nothing to say.
    /// - Parameter announces: starts may leave.
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
    /// The record, which is written now: it announces who is next, and says how far the start is.
    /// - Parameter announces: starts may leave.
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
        // What is announced leaves from here on.
        let isAnnounced = self.hasOrder && progress.rounds.contains { $0.unansweredCount > 0 }
        progress.past = self.past.recorded(announced: isAnnounced ? self.orderStamp : nil, now: now)
        return progress
    }
    /// Kafka has a record: what the last one announces may leave.
    /// - Returns: whether it is that.
    mutating func recordAcknowledged(_ number: UInt32, now: EngineTime) -> Bool {
        guard self.records.progressAcknowledged(number, nowMillis: now.steadyMillis) else { return false }
        for index in self.rounds.indices { self.rounds[index].announced() }
        return true
    }
    /// Nothing leaves until somebody says so: whoever is announced and was not sent to is told of as such, or a takeover would have to take him
    /// for one of those of whom nobody knows.
    mutating func withdrawn() {
        for index in self.rounds.indices { self.rounds[index].withdrawAnnouncements() }
        self.records.progressed()
    }
    /// A record has to be written, as the crowd is a new one.
    mutating func progressed() { self.records.progressed() }

    // MARK: Restoring

    /// How far the last start was was read.
    mutating func progressRead(_ progress: StartProgressRecord, now: EngineTime) {
        self.past.restored(progress.past, now: now)
        if !progress.isOver, progress.rounds.contains(where: { $0.unansweredCount > 0 }) {
            // What was announced may have left at any time since. Of a start that is over nothing has.
            self.past.sent(progress.start, now: now)
        }
        self.restored.progressRead(progress)
        self.newestMet = progress.start
    }
    /// The tombstone of that record was read.
    mutating func progressForgotten() { self.restored.progressRead(nil) }
    /// Starts were read whose version has expired.
    mutating func ordersRead(_ orders: [StartOrder]) { self.restored.ordersRead(orders) }
    /// A member's record was read. The member is in the round's ring.
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
    /// The last record has been read, and it is known what goes round.
    /// - Parameter resends: nobody was announced, so the owner before may have sent what goes round until it died.
    mutating func restoreOver(resends: Bool, now: EngineTime) {
        self.restored = RestoredStarts()
        if self.hasOrder, resends {
            self.phase = .goesOnInDoubt
            self.past.sent(self.orderStamp, now: now)
        }
        self.sweepWanted(now: now)
    }
    /// The rings go over to another crowd.
    mutating func crowdChanged(to crowd: CrowdID, generation: UInt32, pushes: inout MemberPushStore) {
        self.records.crowdChanged()
        for index in self.rounds.indices {
            self.rounds[index].crowdChanged(to: crowd, generation: generation, pushes: &pushes)
        }
    }
}
