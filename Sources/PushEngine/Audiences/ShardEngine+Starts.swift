import PushModel

/// Starts in a partition, when their pushes leave, and what is written down of them (fan-out, "`start` to start
/// members").
extension ShardEngine {
    // MARK: Begin and end

    /// Takes the start that goes round, as the newest version says.
    mutating func takeStart(of version: Version, crowd: CrowdID, now: EngineTime) {
        self.takeStart(version.start, crowd: crowd, now: now)
    }
    /// - Parameter new: the start; `nil`: none goes round.
    mutating func takeStart(_ new: StartOrder?, crowd: CrowdID, now: EngineTime) {
        switch self.audiences.crowds[crowd].starts.coming(new) {
        case .nothing: break
        case .goesOn: self.audiences.crowds[crowd].starts.contentChanged()
        case .ceases: self.ceaseStart(crowd, into: \.superseded, now: now)
        case .begins(let order):
            self.ceaseStart(crowd, into: \.superseded, now: now)
            self.tellStarts(crowd, isOver: true, now: now)
            self.beginStart(order, of: crowd)
        }
    }
    private mutating func beginStart(_ order: StartOrder, of crowd: CrowdID) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let begun = self.audiences.crowds[crowd].starts.startCame(
            order, in: &members.table, entries: &self.audiences.scratchEntries)
        self.noteStartsUnknown(crowd, count: begun.unknownCount)
        self.noteStartsDue(crowd, count: begun.dueCount)
        for member in begun.unheard {
            var details = OutcomeDetails(cause: .mayBeSent)
            details.fill(tokenHash: PushComposer.hash(ofToken: members.table.token(of: member)))
            self.tellFailedStart(.unknown, of: crowd, details: details)
        }
    }
    /// Ends a start: members that have not been sent it will not be.
    mutating func ceaseStart(
        _ crowd: CrowdID, into reason: WritableKeyPath<MemberCounters, UInt64>, now: EngineTime
    ) {
        guard self.audiences.crowds[crowd].starts.hasOrder else { return }
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let count = self.audiences.crowds[crowd].starts.ceased(in: &members.table)
        self.settleStarts(crowd, count: count, into: reason)
        self.tellStarts(crowd, isOver: true, now: now)
        self.endStartTrace(crowd, reason == \.expired ? .expired : .superseded)
        self.audiences.crowds[crowd].starts.over()
    }
    mutating func expireStart(_ crowd: CrowdID, now: EngineTime) {
        guard self.audiences.crowds[crowd].starts.hasOrder,
            self.audiences.crowds[crowd].startEndsSeconds() <= now.wallSeconds
        else { return }
        self.ceaseStart(crowd, into: \.expired, now: now)
    }

    // MARK: When

    func startTerms(_ crowd: CrowdID) -> StartTerms {
        StartTerms(self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)])
    }
    /// Whether starts may leave: the partition pushes, and `state` has the versions and the earlier joins.
    mutating func mayStart(_ crowd: CrowdID) -> Bool {
        let partition = self.audiences.crowds[crowd].partition
        return self.audiences.crowds[crowd].mayStart && self.memory.partitions[partition].sends
            && self.memory.partitions[partition].mayPush
    }
    /// Whether a record about the crowd's start may be written.
    private func writesStarts(_ crowd: CrowdID) -> Bool {
        self.memory.partitions[self.audiences.crowds[crowd].partition].mayPush
            && self.audiences.crowds[crowd].records.isDurable
    }
    /// Puts the crowd's start rounds where they belong after any change.
    /// - Returns: when something is due, steady.
    mutating func scheduleStarts(_ crowd: CrowdID, now: EngineTime) -> Int64 {
        guard !self.audiences.crowds[crowd].starts.isIdle else { return .max }
        var deadline = min(
            self.audiences.crowds[crowd].starts.sweep.atMillis,
            max(now.steadyMillis, self.audiences.crowds[crowd].startReportDueMillis(nowMillis: now.steadyMillis)))
        if self.audiences.crowds[crowd].starts.hasOrder {
            let left = self.audiences.crowds[crowd].startEndsSeconds() * 1_000 - now.wallMillis
            deadline = min(deadline, now.steadyMillis + max(0, left))
        }
        guard self.writesStarts(crowd) else { return deadline }
        deadline = min(deadline, max(now.steadyMillis, self.startRecordDueMillis(crowd, now: now)))
        guard self.mayStart(crowd) else { return deadline }
        let terms = self.startTerms(crowd)
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            let due = self.audiences.crowds[crowd].starts.turnDueMillis(
                of: round, terms, in: members.table, now: now)
            if due <= now.steadyMillis {
                self.enqueueStarts(crowd, round: round)
            } else {
                deadline = min(deadline, due)
            }
        }
        return deadline
    }
    private mutating func enqueueStarts(_ crowd: CrowdID, round: Int) {
        let lane = self.startLane(crowd, round: round)
        guard self.dispatch.lanes[lane].route != nil, self.audiences.crowds[crowd].starts.queued(round) else { return }
        self.dispatch.lanes[lane].passes.append(
            PassReference(
                crowd: crowd, generation: self.audiences.crowds[crowd].generation, pass: round, isStart: true),
            hasAlert: true)
    }
    func startLane(_ crowd: CrowdID, round: Int) -> LaneIndex {
        LaneIndex(
            app: self.audiences.crowds[crowd].app,
            environment: self.audiences.crowds[crowd].starts.rounds[round].environment)
    }
    /// Does what has become due of a crowd's starts.
    mutating func advanceStarts(_ crowd: CrowdID, now: EngineTime) {
        self.expireStart(crowd, now: now)
        if self.audiences.crowds[crowd].startReportDueMillis(nowMillis: now.steadyMillis) <= now.steadyMillis {
            self.tellStarts(crowd, now: now)
        }
        if self.audiences.crowds[crowd].starts.sweep.atMillis <= now.steadyMillis { self.sweepStarts(crowd, now: now) }
        guard self.writesStarts(crowd) else { return }
        self.audiences.crowds[crowd].starts.began(now: now)
        if self.startRecordDueMillis(crowd, now: now) <= now.steadyMillis { self.writeStarts(crowd, now: now) }
    }

    // MARK: Records

    private mutating func startRecordDueMillis(_ crowd: CrowdID, now: EngineTime) -> Int64 {
        let (announces, terms) = (self.mayStart(crowd), self.startTerms(crowd))
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        return self.audiences.crowds[crowd].starts.recordDueMillis(
            announces: announces, terms, in: members.table, now: now)
    }
    /// Announces the next members, and writes how far the start is.
    private mutating func writeStarts(_ crowd: CrowdID, now: EngineTime) {
        let partition = self.audiences.crowds[crowd].partition
        let (announces, terms) = (self.mayStart(crowd), self.startTerms(crowd))
        let members = self.audiences.crowds.members(of: partition)
        var progress = self.audiences.crowds[crowd].starts.record(
            announces: announces, terms, in: members.table, pushes: self.audiences.pushes,
            entries: &self.audiences.scratchEntries, now: now)
        progress.epoch = self.memory.partitions[partition].epoch
        self.journal.writeStarts(progress, of: crowd, in: &self.memory, audiences: self.audiences)
        if announces { self.journal.batch.isUrgent = true }
    }
    /// Notes that Kafka has the record: what it announces may leave.
    mutating func startsAcknowledged(_ crowd: CrowdID, generation: UInt32, number: UInt32, now: EngineTime) {
        guard self.audiences.crowds.contains(crowd, generation: generation),
            self.audiences.crowds[crowd].starts.recordAcknowledged(number, now: now)
        else { return }
        self.schedule(crowd, now: now)
    }
    /// Withdraws what was announced and has not left. Nothing leaves until it is announced again.
    mutating func withdrawStarts(_ crowd: CrowdID, now: EngineTime) {
        guard self.audiences.crowds[crowd].starts.hasOrder else { return }
        self.audiences.crowds[crowd].starts.withdrawn()
        // Otherwise it is written as soon as `state` has the versions.
        guard self.writesStarts(crowd) else { return }
        self.writeStarts(crowd, now: now)
        self.journal.batch.isUrgent = true
    }
    /// Withdraws what was announced, as the partition is given back.
    mutating func releaseStarts(_ crowd: CrowdID, now: EngineTime) {
        guard
            self.audiences.crowds[crowd].starts.hasOrder || self.audiences.crowds[crowd].starts.records.progress.isDue
        else { return }
        self.audiences.crowds[crowd].starts.withdrawn()
        self.writeStarts(crowd, now: now)
    }
    /// Repairs a record that another has written about a crowd of this audience.
    mutating func repairStarts(_ crowd: CrowdID, now: EngineTime) {
        guard self.audiences.crowds[crowd].starts.rounds.isEmpty else { return self.writeStarts(crowd, now: now) }
        var key: [UInt8] = []
        StateCodec.appendKey(
            .starts, bundleID: self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].bundleID,
            id: self.audiences.crowds[crowd].id, to: &key)
        self.journal.writeTombstone(key: key.span, of: self.audiences.crowds[crowd].partition, in: &self.memory)
    }
}

extension Crowd {
    /// Whether starts may leave, as far as the crowd decides it.
    @inline(__always) var mayStart: Bool {
        mutating get { self.starts.mayLeave && self.records.isDurable && !self.isPaused }
    }
}

extension StartTerms {
    init(_ app: borrowing AppConfiguration) {
        self.init(resends: app.startOnUnknown == .resend, spreadMillis: app.audienceSpreadMillis)
    }
}
