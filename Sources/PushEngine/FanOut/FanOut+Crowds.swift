import PushModel

/// Decides when crowds have something to do, and writes down how far their passes are (fan-out contract: Progress).
extension FanOut {
    /// Reschedules a crowd after any change. Its passes go into their lanes' queues, or the crowd waits for the next
    /// time at which something is due.
    mutating func schedule(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        guard self.crowds[crowd].need == .service, core.memory.sends(self.crowds[crowd]) else { return }
        self.endFinishedPassTraces(crowd, in: &core)
        self.countPaused(crowd, in: &core)
        var deadline = self.crowds[crowd].nextDueMillis(now: now)
        if core.memory.mayPush(self.crowds[crowd]) {
            let distance = core.memory.distanceMillis(self.crowds[crowd])
            deadline = min(
                deadline,
                self.crowds[crowd].queuePasses(
                    as: crowd, distanceMillis: distance, nowMillis: now.steadyMillis, in: &core.dispatch.lanes))
        }
        deadline = min(deadline, self.scheduleStarts(crowd, in: &core, now: now))
        if deadline == .max {
            self.deadlines.remove(crowd)
        } else {
            self.deadlines.set(deadline, for: crowd)
        }
    }
    /// Does what has become due for crowds.
    mutating func advanceCrowds(in core: inout ShardCore, now: EngineTime) {
        while let crowd = self.deadlines.popDue(nowMillis: now.steadyMillis) {
            guard core.memory.sends(self.crowds[crowd]) else { continue }
            switch self.crowds[crowd].need {
            case .nothing: break
            case .removal: self.removeSome(of: crowd, in: &core, now: now)
            case .name:
                self.crowds.leave(crowd)
                self.deadlines.set(now.steadyMillis, for: crowd)
            case .service: self.advance(crowd, in: &core, now: now)
            }
        }
    }
    private mutating func advance(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        self.expireVersions(crowd, in: &core, now: now)
        if self.crowds[crowd].asksAgain(nowMillis: now.steadyMillis) { self.ask(crowd, in: &core) }
        if self.crowds[crowd].isProgressDue(nowMillis: now.steadyMillis) {
            self.writeProgress(crowd, in: &core, now: now)
            self.sendReport(crowd, in: &core, now: now)
        }
        if self.crowds[crowd].reportDueMillis(nowMillis: now.steadyMillis) <= now.steadyMillis {
            self.sendReport(crowd, in: &core, now: now)
        }
        self.advanceStarts(crowd, in: &core, now: now)
        self.schedule(crowd, in: &core, now: now)
    }

    // MARK: Progress
    /// Writes how far the crowd's passes are.
    /// - Parameter entry: not resolved before Kafka has the record; `none`: no event waits for the record.
    mutating func writeProgress(_ crowd: CrowdID, entry: EntryID = .none, in core: inout ShardCore, now: EngineTime) {
        let members = self.crowds.members(of: crowd)
        let progress = self.crowds[crowd].writeProgress(
            epoch: core.memory.epoch(self.crowds[crowd]),
            nextStateOffset: core.memory.nextStateOffset(self.crowds[crowd]), pushes: self.pushes,
            table: members.table, nowMillis: now.steadyMillis)
        core.journal.writeProgress(progress, of: crowd, self.crowds[crowd], entry: entry, in: &core.memory)
    }
    /// Remembers the offset in `state` of a late join's record.
    mutating func lateJoinAcknowledged(
        _ crowd: CrowdID, generation: UInt32, pass: Int, number: UInt32, offset: Int64
    ) {
        guard self.crowds.contains(crowd, generation: generation) else { return }
        self.crowds[crowd].lateJoinWritten(number, pass: pass, at: offset)
    }
    /// Takes Kafka's acknowledgement of a progress record.
    mutating func progressAcknowledged(
        _ crowd: CrowdID, generation: UInt32, number: UInt32, in core: inout ShardCore, now: EngineTime
    ) {
        guard self.crowds.contains(crowd, generation: generation) else { return }
        self.crowds[crowd].progressAcknowledged(number)
        self.schedule(crowd, in: &core, now: now)
    }
}
