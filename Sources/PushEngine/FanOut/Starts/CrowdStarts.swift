import PushModel

/// A partition's start members of an audience: their rings, the start that goes round, and the starts of the last hour.
/// The type only decides. The engine passes it the table of members, writes its records, and sends its pushes.
struct CrowdStarts: ~Copyable {
    private(set) var phase = Phase.over
    private(set) var trace = Trace.untraced
    /// The start that goes round: one element, or none. A start is large and rare, so it is stored in an array.
    private var orders: [StartOrder] = []
    /// The identity of the start that goes round; life and stamp 0: none goes round.
    private(set) var orderStamp = StartStamp()
    /// When the start that goes round expires, seconds since 1970; 0: none goes round.
    private(set) var orderExpiresSeconds: Int64 = 0
    /// The newest start that goes round here or has done so. Only a newer start may begin, even if a clock is set back.
    /// After a takeover the newest start may continue.
    private(set) var newestMet = StartStamp()
    /// When the start began in this partition, wall milliseconds; 0: it has not begun.
    private var beganMillis: Int64 = 0
    /// The rounds, one for each environment.
    private(set) var rounds: [StartRound] = []
    /// Starts whose pushes left, or may have left, within the last hour.
    private(set) var past = PastStarts()
    private(set) var records = StartBookkeeping()
    private(set) var restored = RestoredStarts()
    private(set) var sweep = StartSweep()
    private var bodies = StartBodies()
    /// Time of the last join of a start member, seconds since 1970.
    private(set) var lastJoinSeconds: Int64 = 0

    /// Results of the present start. After it has ended they stay until the next start begins.
    var reports = StartReports()

    var waitingCount: Int { self.rounds.reduce(0) { $0 + $1.waitingCount } }
    /// The start that goes round; `nil`: none does.
    var order: StartOrder? { self.orders.first }
    @inline(__always) var hasOrder: Bool { self.phase != .over }
    /// The stamp of the start that goes round; `nil`: none does.
    @inline(__always) private var current: StartStamp? { self.hasOrder ? self.orderStamp : nil }
    /// When the start's own content becomes stale, seconds since 1970; `Int64.max`: there is no start. Reads the first
    /// element in place, because `order` would copy the whole start.
    @inline(__always) var orderStaleSeconds: Int64 { self.orders.isEmpty ? .max : self.orders[0].layer.staleSeconds }
    /// Whether pushes of the start show the newest version's content, if it fits: see `StartOrder.shows`.
    @inline(__always) func orderShows(_ newest: borrowing Version) -> Bool {
        self.hasOrder && self.orders[0].shows(newest)
    }
    private func spread(_ terms: StartTerms) -> StartSpread {
        StartSpread(
            beganMillis: self.beganMillis, wishedMillis: self.hasOrder ? terms.spreadMillis : 0,
            expiresSeconds: self.orderExpiresSeconds)
    }

    // MARK: The start
    /// Begins a start while none goes round. A start that a restore has read of continues: see `resume`.
    mutating func startCame(
        _ order: StartOrder, in table: inout MemberTable, entries: inout [RingEntry]
    ) -> Begun {
        self.orders = [order]
        // From here on only a newer start can begin.
        self.newestMet = order.stamp
        self.orderStamp = order.stamp
        self.orderExpiresSeconds = order.expiresSeconds
        self.trace = .toBegin
        self.beganMillis = 0
        self.phase = .goesRound
        self.reports = StartReports(of: order)
        self.records.startCame()
        self.contentChanged()
        let begun = self.restored.isEmpty ? self.begin(in: table) : self.resume(in: &table, entries: &entries)
        self.reports.unknown(begun.unknownCount)
        self.reports.becameDue(begun.dueCount)
        return begun
    }
    private mutating func begin(in table: borrowing MemberTable) -> Begun {
        var begun = Begun()
        for index in self.rounds.indices {
            let before = self.rounds[index].waitingCount
            self.rounds[index].begin(
                count: table.count(of: self.rounds[index].ring) - self.rounds[index].ghosts.count)
            begun.dueCount += self.rounds[index].waitingCount - before
        }
        return begun
    }
    /// Begins a start after a restore that has read records about starts. If the records are about this start, it
    /// continues after the members that were announced.
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
                // If the record does not have the ring, the ring was made later, and its members are late.
                at: part?.horizon ?? (known == nil ? 0 : StartRound.end),
                unheardMax: self.reports.memberRecordRoom - begun.unheard.count, in: &table, entries: &entries)
            begun.unknownCount += part?.unansweredCount ?? 0
            begun.dueCount += self.rounds[index].waitingCount
        }
        return begun
    }
    /// Ends the start for members that have not been sent it.
    /// - Returns: number of members that are no longer owed the start. Members with a push in flight do not count.
    mutating func ceased(into reason: WritableKeyPath<MemberCounters, UInt64>, in table: inout MemberTable) -> Int {
        var count = 0
        for index in self.rounds.indices { count += self.rounds[index].cease(in: &table) }
        self.reports.settled(count, into: reason)
        return count
    }
    /// Ends the start that goes round. The caller has counted the members that were still owed the start.
    mutating func over() {
        self.phase = .over
        self.orders = []
        self.orderStamp = StartStamp()
        self.orderExpiresSeconds = 0
        self.contentChanged()
        self.records.progressed()
    }
    /// Remembers the present time as the start's beginning, if a start goes round and has not begun.
    mutating func began(now: EngineTime) {
        if self.hasOrder, self.beganMillis == 0 { self.beganMillis = now.wallMillis }
    }
    /// Drops the bodies, because the start, the content that its pushes show, or the audience's channels have changed.
    mutating func contentChanged() { self.bodies = StartBodies() }
    /// Whether the body for these phones and this channel has been made. Also `true` if no start goes round, because no
    /// body is needed then.
    @inline(__always) func hasBody(isChannelCapable: Bool, channel: [UInt8]) -> Bool {
        !self.hasOrder || self.bodies.has(isChannelCapable: isChannelCapable, channel: channel)
    }
    /// Makes the body for phones that can listen on a channel, or for the others.
    /// - Parameters:
    ///   - newest: the newest version, whose content the start may show.
    ///   - channel: the channel that phones are asked to listen on; empty: none.
    mutating func makeBody(newest: Version?, isChannelCapable: Bool, channel: [UInt8]) {
        self.bodies.make(self.orders[0], newest: newest, isChannelCapable: isChannelCapable, channel: channel)
    }
    /// Appends the body of a push of the start that goes round.
    @inline(__always) func appendBody(isChannelCapable: Bool, channel: [UInt8], to body: inout [UInt8]) {
        if self.hasOrder { self.bodies.append(isChannelCapable: isChannelCapable, channel: channel, to: &body) }
    }

    // MARK: Traces
    /// Returns the start if it has not been decided yet whether it is traced. It is untraced until `traceBegan` is
    /// called.
    /// - Returns: the start; `nil`: the decision has been made already.
    mutating func traceLooked() -> StartOrder? {
        guard self.trace == .toBegin else { return nil }
        self.trace = .untraced
        return self.order
    }
    mutating func traceBegan() { self.trace = .traced }
    /// Ends the trace.
    /// - Parameter mayGoOn: whether a trace may begin here again.
    mutating func traceEnded(mayGoOn: Bool) {
        if self.trace == .traced { self.trace = mayGoOn ? .toBegin : .untraced }
    }

    // MARK: Steps and pushes
    /// Chooses the member that is sent the start next in a round. A member with an unanswered push is passed over, and
    /// waits for the answer.
    mutating func nextStep(
        of round: Int, _ terms: StartTerms, in table: inout MemberTable, now: EngineTime
    ) -> (member: MemberID, failures: FailureStreak)? {
        let spread = self.spread(terms)
        while true {
            switch self.rounds[round].nextStep(resends: terms.resends, spread: spread, in: &table, now: now) {
            case .member(let member, let failures):
                guard table.flags(of: member).contains(.isInFlight) else { return (member, failures) }
                self.held(member, of: round, notBeforeMillis: .max, failures: failures)
            case .unannounced:
                self.records.ranDry()
                return nil
            case .nobody: return nil
            }
        }
    }
    /// When the next member of a round can be sent the start (steady clock); `Int64.max`: at no known time.
    mutating func stepDueMillis(
        of round: Int, _ terms: StartTerms, in table: borrowing MemberTable, now: EngineTime
    ) -> Int64 {
        self.rounds[round].stepDueMillis(resends: terms.resends, spread: self.spread(terms), in: table, now: now)
    }
    private mutating func held(_ member: MemberID, of round: Int, notBeforeMillis: Int64, failures: FailureStreak) {
        self.rounds[round].hold(member, notBeforeMillis: notBeforeMillis, failures: failures)
        self.records.progressed()
    }
    /// Lets a member wait, because it has had all its starts of this hour. It can wait if fewer than half of
    /// `StartRetries.countMax` members wait, and the start expires after the wait.
    /// - Returns: whether the member waits. If not, it is no longer owed the start.
    mutating func heldBack(
        _ member: MemberID, of round: Int, untilMillis: Int64, failures: FailureStreak, now: EngineTime
    ) -> Bool {
        let isInTime = untilMillis - now.steadyMillis < self.orderExpiresSeconds * 1_000 - now.wallMillis
        guard isInTime, self.rounds[round].retries.count < StartRetries.countMax / 2 else {
            self.reports.settled(of: self.orderStamp, into: \.expired)
            return false
        }
        self.held(member, of: round, notBeforeMillis: untilMillis, failures: failures)
        return true
    }
    /// Marks the round as in its lane's queue.
    /// - Returns: `false`: the round was in the queue already.
    @inline(__always) mutating func queued(_ round: Int) -> Bool { self.rounds[round].queued() }
    @inline(__always) mutating func dequeued(_ round: Int) { self.rounds[round].dequeued() }
    /// Counts a push to the next member as sent, and sets the push's fields for the start.
    /// - Returns: whether members have to be announced soon, so that the round does not stop.
    @inline(__always) mutating func pushLeft(
        _ push: MemberPushID, of round: Int, in pushes: inout MemberPushStore, now: EngineTime
    ) -> Bool {
        pushes[push].brings(self.orders[0])
        if !pushes[push].failures.isNone { self.reports.repeated() }
        self.rounds[round].pushLeft(push, in: &pushes)
        self.past.sent(self.orderStamp, now: now)
        self.records.pushLeft()
        guard !self.records.progress.isUnderWay else { return false }
        for index in self.rounds.indices where self.rounds[index].isUnderWay && self.rounds[index].isShort {
            return true
        }
        return false
    }
    /// Removes an answered push from its round.
    @inline(__always) mutating func pushAnswered(
        _ push: MemberPushID, of round: Int, in pushes: inout MemberPushStore
    ) {
        self.rounds[round].pushAnswered(push, in: &pushes)
        self.records.progressed()
    }
    /// Ends a member's wait for the answer to its push of an earlier start, if it waits for one.
    @inline(__always) mutating func settled(_ member: MemberID, of round: Int, nowMillis: Int64) {
        self.rounds[round].wake(member, nowMillis: nowMillis)
    }
    /// Remembers a push that may have arrived, if it is of the start that goes round. Its member is sent another push.
    mutating func mayHaveArrived(_ push: borrowing MemberPush) {
        if push.start == self.orderStamp { self.rounds[push.pass].mayHaveArrived(at: push.member) }
    }
    /// Takes a push that has not started a card, or whose result is unknown while the app resends starts. The member is
    /// sent the start again if it has not left and the start still goes round. The next attempt must also come before
    /// `endsSeconds`.
    /// - Parameters:
    ///   - endsSeconds: from when the start is no longer sent, seconds since 1970.
    ///   - delayMillis: time until the next attempt, milliseconds.
    ///   - failures: the member's failures, for its next attempt.
    /// - Returns: how the push ended; `nil`: the member is still owed the start.
    mutating func surelyNotArrived(
        _ push: borrowing MemberPush, endsSeconds: Int64, delayMillis: Int64, failures: FailureStreak,
        in table: inout MemberTable, now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64>? {
        guard !table.flags(of: push.member).contains(.isGhost) else {
            self.rounds[push.pass].ghostWasNotSent(push.member, in: &table)
            return \.left
        }
        guard push.start == self.orderStamp else { return \.superseded }
        // A member whose next attempt would come too late must not take up room among the waiting members.
        guard now.wallMillis + delayMillis < endsSeconds * 1_000 else { return \.expired }
        self.rounds[push.pass].hold(
            push.member, notBeforeMillis: now.steadyMillis + delayMillis, failures: failures)
        return nil
    }

    // MARK: Members
    /// Adds the ring of an environment.
    mutating func ringMade(_ ring: RingID, environment: PushEnvironment) {
        self.rounds.append(StartRound(ring: ring, environment: environment))
    }
    /// Removes the rings. They must have no members.
    mutating func removeRings(in table: inout MemberTable) {
        for round in self.rounds { table.removeRing(round.ring) }
        self.rounds = []
    }
    /// Least time between a member's recorded join and a later join whose time replaces it, seconds.
    static let rejoinSeconds: UInt32 = 86_400
    /// Remembers the time of a join, if it is the latest so far.
    mutating func joinTaken(seconds: UInt32) { self.lastJoinSeconds = max(self.lastJoinSeconds, Int64(seconds)) }
    /// Remembers for a new member of a round what its token was sent in the other environment's ring. The token has
    /// moved from there.
    mutating func moved(_ member: MemberID, to round: Int, _ sent: Sent, in table: inout MemberTable) {
        if sent.wasSent { self.rounds[round].sentEarly(to: member, in: &table) }
        if sent.mayHaveArrived { self.rounds[round].mayHaveArrived(at: member) }
    }
    /// Sets the member's flags and time as its join says. If the member is new or was a ghost, and has not been sent
    /// the start that goes round, it waits for that start.
    /// - Parameters:
    ///   - says: the flags that the join names.
    ///   - isNew: whether the member was not in the round's ring before.
    /// - Returns: whether something has changed that has to be written down.
    mutating func joined(
        _ member: MemberID, of round: Int, says: MemberFlags, isNew: Bool, joinedSeconds: UInt32,
        in table: inout MemberTable, now: EngineTime
    ) -> Bool {
        let before = table.flags(of: member)
        let flags = before.subtracting([.isFrequent, .isChannelCapable, .isGhost]).union(says)
        table.setFlags(flags, of: member)
        var isChanged = isNew || flags != before
        self.past.timePassed(nowMillis: now.steadyMillis)
        // While there are starts of the last hour, the time of the former join is kept. It decides which of these
        // starts the member may have been sent.
        if !isNew, self.past.isEmpty, joinedSeconds >= table.joinedSeconds(of: member) &+ Self.rejoinSeconds {
            table.setJoinedSeconds(joinedSeconds, of: member)
            isChanged = true
        }
        let isBack = isNew || before.contains(.isGhost)
        if self.rounds[round].joined(member, isBack: isBack, current: self.current, in: &table) { isChanged = true }
        self.sweepWanted(now: now)
        return isChanged
    }
    /// Makes the record of a member. The caller must write the record at once.
    /// - Returns: the record, its number, and by how much the number of members that are owed the start has grown.
    mutating func record(
        of member: MemberID, of round: Int, in table: borrowing MemberTable
    ) -> (record: StartMemberRecord, number: UInt32, dueCount: Int) {
        let before = self.rounds[round].waitingCount
        let number = self.records.memberWritten()
        let record = self.rounds[round].record(of: member, current: self.current, number: number, in: table)
        let dueCount = self.rounds[round].waitingCount - before
        self.reports.becameDue(dueCount)
        return (record, number, dueCount)
    }
    /// Counts a member's tombstone that is written.
    /// - Returns: the tombstone's number.
    mutating func tombstoneWritten() -> UInt32 { self.records.memberWritten() }
    /// Takes Kafka's acknowledgement of a member's record.
    mutating func memberAcknowledged(_ number: UInt32, of round: Int, offset: Int64) {
        self.records.memberAcknowledged(number)
        if round < self.rounds.count { self.rounds[round].memberAcknowledged(number, offset: offset) }
    }
    /// Turns a leaving member into a ghost, if starts that it was sent have to be remembered: see `formerSent`.
    /// - Returns: how many fewer members are now owed the start; `nil`: nothing has to be remembered, and the caller
    ///   must remove the member.
    mutating func left(_ member: MemberID, of round: Int, in table: inout MemberTable, now: EngineTime) -> Int? {
        let wasSent = self.wasSent(to: member, of: round, in: table)
        if !wasSent { self.past.timePassed(nowMillis: now.steadyMillis) }
        guard let sent = wasSent ? self.orderStamp : self.formerSent(to: member, of: round, in: table) else {
            return nil
        }
        let fewer = self.rounds[round].leftAsGhost(member, sent: sent, in: &table)
        self.reports.settled(fewer, into: \.left)
        self.sweepWanted(now: now)
        return fewer
    }
    /// Removes the member from the table. The member must have no push in flight. It is owed nothing from then on.
    /// - Returns: how many fewer members are now owed the start.
    mutating func removed(_ member: MemberID, of round: Int, in table: inout MemberTable) -> Int {
        let fewer = self.rounds[round].removed(member, in: &table)
        self.reports.settled(fewer, into: \.left)
        self.restored.memberForgotten(member)
        table.remove(member)
        return fewer
    }

    // MARK: Sweeps
    /// Schedules a search for members and ghosts that can be removed.
    private mutating func sweepWanted(now: EngineTime) {
        guard !self.rounds.isEmpty else { return }
        let hasGhosts = self.rounds.contains { !$0.ghosts.isEmpty }
        self.sweep.wanted(
            ghostsUntilMillis: hasGhosts ? self.ghostsUntilMillis(now: now) : nil, nowMillis: now.steadyMillis)
    }
    /// Schedules a search at once if the time of all members is over. The audience's owner has forgotten the audience,
    /// and the members leave before the owner is asked about it again.
    mutating func ownerForgot(lifeMillis: Int64, in table: borrowing MemberTable, now: EngineTime) {
        let until = self.untilSeconds(lifeMillis: lifeMillis, in: table)
        if until > 0, until <= now.wallSeconds { self.sweep.wantedAtOnce(nowMillis: now.steadyMillis) }
    }
    /// Looks at some members. The search continues where its last step stopped.
    /// - Parameters:
    ///   - lifeMillis: members that joined longer ago than this leave.
    ///   - hasGhosts: whether ghosts that can now be forgotten still have to be removed.
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
        self.sweepWanted(now: now)
        return entries.compactMap {
            let joinedMillis = Int64(table.joinedSeconds(of: $0.member)) * 1_000
            let isOver = now.wallMillis - joinedMillis >= lifeMillis
            return isOver && $0.position < end && !table.flags(of: $0.member).contains(.isGhost) ? $0.member : nil
        }
    }
    // MARK: The progress record
    /// When the next progress record must be written (steady clock); `Int64.max`: one is on its way, or there is
    /// nothing to write.
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
    /// Makes the progress record, for writing at once. The record says how far the start has got, and announces the
    /// next members.
    /// - Parameter announces: whether starts may leave. If not, the record announces no further members.
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
        // Pushes to announced members may leave soon, so the record counts the start as sent now.
        let isAnnounced = self.hasOrder && progress.rounds.contains { $0.unansweredCount > 0 }
        progress.past = self.past.recorded(announced: isAnnounced ? self.orderStamp : nil, now: now)
        return progress
    }
    /// Takes Kafka's acknowledgement of a progress record. If it is the last one written, pushes to the members that it
    /// announces may leave.
    /// - Returns: whether it is the last one written.
    mutating func recordAcknowledged(_ number: UInt32, now: EngineTime) -> Bool {
        guard self.records.progressAcknowledged(number, nowMillis: now.steadyMillis) else { return false }
        for index in self.rounds.indices { self.rounds[index].announced() }
        return true
    }
    /// Withdraws the announcement of members that have not been sent the start. They are sent it only after they are
    /// announced again. Without a record of the withdrawal, a takeover would count these members as unknown.
    mutating func withdrawn() {
        for index in self.rounds.indices { self.rounds[index].withdrawAnnouncements() }
        self.records.progressed()
    }
    /// Makes a progress record due, because the crowd is new.
    mutating func progressed() { self.records.progressed() }

    // MARK: Restoring
    /// Takes over a restored record of the last start's progress.
    mutating func progressRead(_ progress: StartProgressRecord, now: EngineTime) {
        self.past.restored(progress.past, now: now)
        if !progress.isOver, progress.rounds.contains(where: { $0.unansweredCount > 0 }) {
            // The start is not over, so pushes to announced members may have left at any time since the record.
            self.past.sent(progress.start, now: now)
        }
        self.restored.progressRead(progress)
        self.newestMet = progress.start
    }
    /// Forgets the restored progress, because its tombstone has been read.
    mutating func progressForgotten() { self.restored.progressRead(nil) }
    /// Takes over restored starts whose version has expired.
    mutating func ordersRead(_ orders: [StartOrder]) { self.restored.ordersRead(orders) }
    /// Takes over a restored record of a member. The member is in the round's ring.
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
    /// Ends the restore. The last record has been read, and the present start is known.
    /// - Parameter resends: whether the app resends starts, so that members are not announced. The previous owner may
    ///   then have sent the start to any member.
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
