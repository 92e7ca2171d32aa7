import PushModel

/// What a crowd decides about its starts. `CrowdStarts` has the rounds; the crowd knows the versions. The engine
/// journals, sends and counts.
extension Crowd {
    /// What follows from the end of a start.
    struct EndedStart {
        /// Number of members that are no longer owed the start. Members with a push in flight do not count.
        var count: Int
        /// What is reported to the audience's owner; `nil`: the owner knows all.
        var report: BusRecord.Report?
        /// The content of the `start-pass` record; `nil`: the last record is complete.
        var record: StartReport?
    }
    /// Whether starts may leave, provided that the partition's owner may push at all.
    @inline(__always) var mayStart: Bool { self.starts.mayLeave && self.records.isDurable && !self.isPaused }
    /// Whether the crowd has starts to send, to record or to remember.
    @inline(__always) var hasStarts: Bool { !self.starts.isIdle }
    /// Whether the start that goes round has expired, or its content is stale. If so, it is no longer sent.
    @inline(__always) func hasStartExpired(now: EngineTime) -> Bool {
        self.starts.hasOrder && self.startEndsSeconds <= now.wallSeconds
    }
    /// The lane of a start round.
    @inline(__always) func startLane(round: Int) -> LaneIndex {
        LaneIndex(app: self.app, environment: self.starts.rounds[round].environment)
    }

    /// Whether the crowd has rings for start members. Rings stay when their last member leaves.
    var hasStartRings: Bool { !self.starts.rounds.isEmpty }
    /// Number of start members that are owed the start.
    var startsWaitingCount: Int { self.starts.waitingCount }
    /// When the start that goes round expires, seconds since 1970.
    @inline(__always) var startExpiresSeconds: Int64 { self.starts.orderExpiresSeconds }

    // MARK: Begin and end
    /// Begins a start: see `CrowdStarts.startCame`.
    mutating func startCame(
        _ order: StartOrder, in table: inout MemberTable, entries: inout [RingEntry]
    ) -> CrowdStarts.Begun {
        self.starts.startCame(order, in: &table, entries: &entries)
    }
    /// Takes what the newest version says of the start that goes round.
    /// - Parameter new: the start; `nil`: none goes round.
    mutating func startComing(_ new: StartOrder?) -> CrowdStarts.Coming {
        let coming = self.starts.coming(new)
        if case .goesOn = coming { self.starts.contentChanged() }
        return coming
    }
    /// Ends the start that goes round. Members that have not been sent the start yet will not get it.
    /// - Returns: what follows from the end; `nil`: no start went round.
    mutating func endStart(
        into reason: WritableKeyPath<MemberCounters, UInt64>, in table: inout MemberTable, nowMillis: Int64
    ) -> EndedStart? {
        guard self.starts.hasOrder else { return nil }
        let count = self.starts.ceased(into: reason, in: &table)
        let report = self.makeStartReport(nowMillis: nowMillis)
        let record = self.recordStarts(isOver: true, nowMillis: nowMillis)
        self.starts.over()
        return EndedStart(count: count, report: report, record: record)
    }
    /// Withdraws the announcement of members to which no push has left. They must be announced again before they are
    /// sent the start.
    /// - Parameter isLeaving: whether the partition leaves. If so, a record has to be written even if the start is
    ///   over, unless the last record covers everything.
    /// - Returns: whether a record has to be written.
    mutating func withdrawStart(isLeaving: Bool = false) -> Bool {
        guard self.starts.hasOrder || isLeaving && self.starts.records.progress.isDue else { return false }
        self.starts.withdrawn()
        return true
    }

    // MARK: When
    /// Puts start rounds that have members to serve into their lanes' queues.
    /// - Parameters:
    ///   - id: the crowd's id.
    ///   - mayWrite: whether records about the start may be written.
    ///   - mayStart: whether starts may leave.
    /// - Returns: when something of the starts is due (steady clock); `Int64.max`: nothing is.
    mutating func queueStarts(
        as id: CrowdID, mayWrite: Bool, mayStart: Bool, _ terms: StartTerms, in table: borrowing MemberTable,
        lanes: inout NumberedArray<LaneIndex, Lane>, now: EngineTime
    ) -> Int64 {
        let nowMillis = now.steadyMillis
        var next = min(
            self.starts.sweep.atMillis, max(nowMillis, self.startReportDueMillis(nowMillis: nowMillis)))
        if self.starts.hasOrder {
            next = min(next, nowMillis + max(0, self.startEndsSeconds * 1_000 - now.wallMillis))
        }
        guard mayWrite else { return next }
        let recordMillis = self.starts.recordDueMillis(announces: mayStart, terms, in: table, now: now)
        next = min(next, max(nowMillis, recordMillis))
        guard mayStart else { return next }
        for round in self.starts.rounds.indices {
            let due = self.starts.stepDueMillis(of: round, terms, in: table, now: now)
            let lane = self.startLane(round: round)
            if due > nowMillis {
                next = min(next, due)
            } else if lanes[lane].route != nil, self.starts.queued(round) {
                lanes[lane].passes.append(
                    PassReference(crowd: id, generation: self.generation, pass: round, isStart: true), hasAlert: true)
            }
        }
        return next
    }
    /// Remembers the present time as the start's beginning, unless it has begun already. The caller has checked that
    /// records about the start may be written.
    /// - Returns: whether a record is due.
    mutating func isStartRecordDue(
        announces: Bool, _ terms: StartTerms, in table: borrowing MemberTable, now: EngineTime
    ) -> Bool {
        self.starts.began(now: now)
        return self.starts.recordDueMillis(announces: announces, terms, in: table, now: now) <= now.steadyMillis
    }
    /// Makes the record that announces the next members and says how far the start has got: see `CrowdStarts.record`.
    mutating func writeStarts(
        announces: Bool, _ terms: StartTerms, in table: borrowing MemberTable, pushes: borrowing MemberPushStore,
        entries: inout [RingEntry], now: EngineTime
    ) -> StartProgressRecord {
        self.starts.record(announces: announces, terms, in: table, pushes: pushes, entries: &entries, now: now)
    }
    /// Demands a record that says how far the start has got, because the crowd is new.
    mutating func startsProgressed() { self.starts.progressed() }
    /// Takes Kafka's acknowledgement of a record of how far the start has got.
    /// - Returns: whether that record is the last one written.
    mutating func startsAcknowledged(_ number: UInt32, now: EngineTime) -> Bool {
        self.starts.recordAcknowledged(number, now: now)
    }

    // MARK: Pushes
    /// Finds the member that is sent the start next in a round: see `CrowdStarts.nextStep`.
    @inline(__always) mutating func nextStart(
        of round: Int, _ terms: StartTerms, in table: inout MemberTable, now: EngineTime
    ) -> (member: MemberID, failures: FailureStreak)? {
        self.starts.nextStep(of: round, terms, in: &table, now: now)
    }
    /// Lets a member wait, because it has had all its starts of this hour: see `CrowdStarts.heldBack`.
    mutating func startHeldBack(
        _ member: MemberID, of round: Int, untilMillis: Int64, failures: FailureStreak, now: EngineTime
    ) -> Bool {
        self.starts.heldBack(member, of: round, untilMillis: untilMillis, failures: failures, now: now)
    }
    /// Counts a push of the start to a member as sent, and sets the push's fields.
    /// - Parameters:
    ///   - push: an empty push, in its store.
    ///   - id: the crowd's id.
    /// - Returns: whether members have to be announced soon, so that the round does not stop.
    @inline(__always) mutating func startLeft(
        _ push: MemberPushID, to member: MemberID, of id: CrowdID, round: Int, failures: FailureStreak,
        in store: inout MemberPushStore, now: EngineTime
    ) -> Bool {
        self.begin(
            &store[push], to: member, of: id, pass: round, lane: self.startLane(round: round), failures: failures,
            nowMillis: now.steadyMillis)
        return self.starts.pushLeft(push, of: round, in: &store, now: now)
    }
    /// Appends the body of a push of the start. The body asks phones that can listen to do so on the channel that is
    /// open.
    @inline(__always) mutating func appendStartBody(round: Int, isChannelCapable: Bool, to body: inout [UInt8]) {
        let channel =
            self.versions.channels.isEmpty ? [] : self.versions.openChannel(self.starts.rounds[round].environment)
        if !self.starts.hasBody(isChannelCapable: isChannelCapable, channel: channel) {
            self.starts.makeBody(
                newest: self.versions.newest, isChannelCapable: isChannelCapable, channel: channel)
        }
        self.starts.appendBody(isChannelCapable: isChannelCapable, channel: channel, to: &body)
    }
    /// Counts a push of a start as answered.
    @inline(__always) mutating func startAnswered(
        _ push: MemberPushID, of round: Int, in store: inout MemberPushStore
    ) {
        self.starts.pushAnswered(push, of: round, in: &store)
    }
    /// Wakes a member if it waited for the answer to its push: see `CrowdStarts.settled`.
    @inline(__always) mutating func wakeStart(_ member: MemberID, of round: Int, nowMillis: Int64) {
        self.starts.settled(member, of: round, nowMillis: nowMillis)
    }
    /// Remembers a push of a start that may have arrived, because its result is unknown: see
    /// `CrowdStarts.mayHaveArrived`.
    mutating func startMayHaveArrived(_ push: borrowing MemberPush) { self.starts.mayHaveArrived(push) }
    /// Lets a member wait for another push, unless it has left or the start ends before: see
    /// `CrowdStarts.surelyNotArrived`.
    mutating func startAgain(
        _ push: borrowing MemberPush, delayMillis: Int64, isEarlierDeath: Bool, in table: inout MemberTable,
        now: EngineTime
    ) -> WritableKeyPath<MemberCounters, UInt64>? {
        let endsSeconds = self.startEndsSeconds
        return self.starts.surelyNotArrived(
            push, endsSeconds: endsSeconds, delayMillis: delayMillis,
            failures: push.failures.next(isEarlierDeath: isEarlierDeath), in: &table, now: now)
    }
    /// Takes a push of a start that has failed for good, or whose result is unknown. Counts the reason for which APNs
    /// has refused it.
    /// - Returns: whether an outcome record may be written for the push's member.
    mutating func startFailed(_ start: StartStamp, status: UInt16, reason: String, outcome: Outcome) -> Bool {
        if outcome != .unknown {
            self.starts.reports.refused(
                start, status: status, reason: reason, isOfMessage: outcome == .deadLettered)
        }
        return self.starts.orderStamp == start && self.starts.reports.memberRecordRoom > 0
    }

    // MARK: Traces
    /// Whether the results of the start are traced.
    @inline(__always) var isStartTraced: Bool { self.starts.trace == .traced }
    /// The start for which a trace may begin now; `nil`: that was decided before, or no member waits for the start.
    mutating func startToTrace() -> StartOrder? {
        guard let order = self.starts.traceLooked(), self.startCounts.waitingCount > 0 else { return nil }
        return order
    }
    /// Remembers that the results of the start are traced.
    mutating func startTraceBegan() { self.starts.traceBegan() }
    /// Ends the trace of the start.
    /// - Returns: the counts of the start.
    mutating func endStartTrace(mayGoOn: Bool) -> StartReport {
        self.starts.traceEnded(mayGoOn: mayGoOn)
        return self.startCounts
    }
}
