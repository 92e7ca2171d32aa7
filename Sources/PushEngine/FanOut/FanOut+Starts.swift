import PushModel

/// Starts in a partition: when their pushes leave, and what is written down (fan-out contract: Starts of an audience).
extension FanOut {
    // MARK: Begin and end

    /// Takes the start that goes round from now on.
    /// - Parameter new: the start; `nil`: none goes round.
    mutating func takeStart(_ new: StartOrder?, crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        switch self.crowds[crowd].startComing(new) {
        case .nothing, .goesOn: break
        case .ceases: self.ceaseStart(crowd, into: \.superseded, in: &core, now: now)
        case .begins(let order):
            self.ceaseStart(crowd, into: \.superseded, in: &core, now: now)
            self.sendStartReport(crowd, isOver: true, in: &core, now: now)
            self.beginStart(order, of: crowd, in: &core)
        }
    }
    private mutating func beginStart(_ order: StartOrder, of crowd: CrowdID, in core: inout ShardCore) {
        let members = self.crowds.members(of: crowd)
        let begun = self.crowds[crowd].startCame(order, in: &members.table, entries: &self.scratchEntries)
        core.memory.counters.startMembers.due &+= begun.unknownCount
        core.memory.counters.startMembers.unknown &+= begun.unknownCount
        self.countStartsDue(begun.dueCount, in: &core)
        for member in begun.unheard {
            var details = OutcomeDetails(cause: .mayBeSent)
            details.fill(tokenHash: PushComposer.hash(ofToken: members.table.token(of: member)))
            self.recordFailedStart(.unknown, of: crowd, details: details, in: &core)
        }
    }
    /// Ends a start. Members that have not been sent the start by now will not get it.
    mutating func ceaseStart(
        _ crowd: CrowdID, into reason: WritableKeyPath<MemberCounters, UInt64>, in core: inout ShardCore,
        now: EngineTime
    ) {
        let members = self.crowds.members(of: crowd)
        let ended = self.crowds[crowd].endStart(into: reason, in: &members.table, nowMillis: now.steadyMillis)
        guard let ended else { return }
        self.settleStarts(ended.count, into: reason, in: &core)
        self.send(ended.report, ended.record, of: crowd, in: &core)
        self.endStartTrace(crowd, reason == \.expired ? .expired : .superseded, in: &core)
    }
    mutating func expireStart(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        if self.crowds[crowd].hasStartExpired(now: now) {
            self.ceaseStart(crowd, into: \.expired, in: &core, now: now)
        }
    }

    // MARK: Deadlines

    /// Puts the crowd's start rounds that have members to serve into their lanes' queues. Called after any change.
    /// - Returns: when something of the starts is due (steady clock); `Int64.max`: nothing is.
    mutating func scheduleStarts(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) -> Int64 {
        guard self.crowds[crowd].hasStarts else { return .max }
        let members = self.crowds.members(of: crowd)
        return self.crowds[crowd].queueStarts(
            as: crowd, mayWrite: core.memory.mayWriteStarts(self.crowds[crowd]),
            mayStart: core.memory.mayStart(self.crowds[crowd]), core.memory.startTerms(self.crowds[crowd]),
            in: members.table, lanes: &core.dispatch.lanes, now: now)
    }
    /// Does what has become due for a crowd's starts.
    mutating func advanceStarts(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        self.expireStart(crowd, in: &core, now: now)
        if self.crowds[crowd].startReportDueMillis(nowMillis: now.steadyMillis) <= now.steadyMillis {
            self.sendStartReport(crowd, in: &core, now: now)
        }
        self.sweepStarts(crowd, in: &core, now: now)
        guard core.memory.mayWriteStarts(self.crowds[crowd]) else { return }
        let members = self.crowds.members(of: crowd)
        let isDue = self.crowds[crowd].isStartRecordDue(
            announces: core.memory.mayStart(self.crowds[crowd]), core.memory.startTerms(self.crowds[crowd]),
            in: members.table, now: now)
        if isDue { self.writeStarts(crowd, in: &core, now: now) }
    }

    // MARK: Records

    /// Writes how far the start has got. If pushes may leave, the record also announces the next members.
    mutating func writeStarts(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        guard self.crowds[crowd].isNamed else { return }
        let announces = core.memory.mayStart(self.crowds[crowd])
        let members = self.crowds.members(of: crowd)
        let progress = self.crowds[crowd].writeStarts(
            announces: announces, core.memory.startTerms(self.crowds[crowd]), in: members.table, pushes: self.pushes,
            entries: &self.scratchEntries, now: now)
        core.journal.writeStarts(progress, of: crowd, self.crowds[crowd], in: &core.memory)
        if announces { core.journal.batch.isUrgent = true }
    }
    /// Takes Kafka's acknowledgement of a progress record. From now on, pushes may leave to the members that the record
    /// announces.
    mutating func startsAcknowledged(
        _ crowd: CrowdID, generation: UInt32, number: UInt32, in core: inout ShardCore, now: EngineTime
    ) {
        guard self.crowds.contains(crowd, generation: generation),
            self.crowds[crowd].startsAcknowledged(number, now: now)
        else { return }
        self.schedule(crowd, in: &core, now: now)
    }
    /// Withdraws announcements whose pushes have not left. Nothing leaves until members are announced again.
    mutating func withdrawStarts(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        guard self.crowds[crowd].withdrawStart() else { return }
        // If the record may not be written yet, it is written later: `withdrawStart` has made it due.
        guard core.memory.mayWriteStarts(self.crowds[crowd]) else { return }
        self.writeStarts(crowd, in: &core, now: now)
        core.journal.batch.isUrgent = true
    }
    /// Withdraws announcements, because the partition is given back.
    mutating func releaseStarts(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        if self.crowds[crowd].withdrawStart(isLeaving: true) { self.writeStarts(crowd, in: &core, now: now) }
    }
    /// Repairs another writer's record about the starts of this crowd.
    mutating func repairStarts(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        guard !self.crowds[crowd].hasStartRings else { return self.writeStarts(crowd, in: &core, now: now) }
        core.journal.writeTombstone(of: .starts, of: self.crowds[crowd], in: &core.memory)
    }

    // MARK: Counting and reporting
    /// Counts start members that are newly owed a start.
    mutating func countStartsDue(_ count: Int, in core: inout ShardCore) {
        core.memory.counters.startMembers.due &+= UInt64(truncatingIfNeeded: count)
        core.memory.counters.startMembers.waiting &+= UInt64(truncatingIfNeeded: count)
    }
    /// Counts start members that are no longer owed a start, and why.
    mutating func settleStarts(
        _ count: Int, into reason: WritableKeyPath<MemberCounters, UInt64>, in core: inout ShardCore
    ) {
        core.memory.counters.startMembers[keyPath: reason] &+= UInt64(truncatingIfNeeded: count)
        core.memory.counters.startMembers.waiting &-= UInt64(truncatingIfNeeded: count)
    }
    /// Reports to the audience's owner how far the start has got. Writes the `start-pass` record when no member waits,
    /// or the start is over.
    mutating func sendStartReport(_ crowd: CrowdID, isOver: Bool = false, in core: inout ShardCore, now: EngineTime) {
        let report = self.crowds[crowd].makeStartReport(nowMillis: now.steadyMillis)
        let record = self.crowds[crowd].recordStarts(isOver: isOver, nowMillis: now.steadyMillis)
        self.send(report, record, of: crowd, in: &core)
    }
    mutating func send(
        _ report: BusRecord.Report?, _ record: StartReport?, of crowd: CrowdID, in core: inout ShardCore
    ) {
        if let report { core.journal.report(report, of: self.crowds[crowd], in: &core.memory) }
        if let record { core.journal.recordStartPass(record, of: self.crowds[crowd], in: &core.memory) }
    }
}
