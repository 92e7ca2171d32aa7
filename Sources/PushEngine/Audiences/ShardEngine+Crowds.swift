import PushModel

/// When a crowd has something to do, and what is written down of its passes (fan-out, "Progress").
extension ShardEngine {
    /// Puts a crowd's passes where they belong after any change: into their lanes' queues, or under the next time at
    /// which something is due.
    mutating func schedule(_ crowd: CrowdID, now: EngineTime) {
        guard self.audiences.crowds[crowd].standing == .living, !self.audiences.crowds[crowd].id.isEmpty,
            self.memory.partitions[self.audiences.crowds[crowd].partition].sends
        else { return }
        self.endFinishedPassTraces(crowd)
        self.countPaused(crowd)
        var deadline = self.audiences.crowds[crowd].nextDueMillis(now: now)
        if self.memory.partitions[self.audiences.crowds[crowd].partition].mayPush, self.audiences.crowds[crowd].mayServe
        {
            let distance = self.distanceMillis(crowd)
            for pass in self.audiences.crowds[crowd].passes.indices {
                let due = self.audiences.crowds[crowd].passes[pass].dueMillis(
                    distanceMillis: distance, nowMillis: now.steadyMillis)
                if due <= now.steadyMillis {
                    self.enqueue(crowd, pass: pass)
                } else {
                    deadline = min(deadline, due)
                }
            }
        }
        deadline = min(
            deadline, self.audiences.crowds[crowd].reportDueMillis(nowMillis: now.steadyMillis),
            self.scheduleStarts(crowd, now: now))
        if deadline == .max {
            self.audiences.deadlines.remove(crowd)
        } else {
            self.audiences.deadlines.set(deadline, for: crowd)
        }
    }
    private mutating func enqueue(_ crowd: CrowdID, pass: Int) {
        let lane = self.audiences.crowds[crowd].passes[pass].lane
        guard !self.audiences.crowds[crowd].passes[pass].isQueued, lane.isSome, self.dispatch.lanes[lane].route != nil
        else { return }
        self.audiences.crowds[crowd].passes[pass].queued()
        self.dispatch.lanes[lane].passes.append(
            PassReference(crowd: crowd, generation: self.audiences.crowds[crowd].generation, pass: pass),
            hasAlert: self.audiences.crowds[crowd].passes[pass].course.owesAlert)
    }
    /// Does what has become due of crowds.
    mutating func advanceCrowds(now: EngineTime) {
        while let crowd = self.audiences.deadlines.popDue(nowMillis: now.steadyMillis) {
            switch self.audiences.crowds[crowd].standing {
            case .gone, .toBeVoided: continue
            case .leaving:
                guard self.memory.partitions[self.audiences.crowds[crowd].partition].sends else { continue }
                self.removeSome(of: crowd, now: now)
            case .living:
                guard self.memory.partitions[self.audiences.crowds[crowd].partition].sends else { continue }
                guard !self.audiences.crowds[crowd].id.isEmpty else {
                    self.audiences.crowds.leave(crowd)
                    self.audiences.deadlines.set(now.steadyMillis, for: crowd)
                    continue
                }
                self.expireVersions(crowd, now: now)
                if self.audiences.crowds[crowd].askAtMillis <= now.steadyMillis {
                    self.audiences.crowds[crowd].asked()
                    self.journal.ask(crowd, entry: .none, in: &self.memory, audiences: self.audiences)
                }
                if self.audiences.crowds[crowd].records.progressDueMillis(nowMillis: now.steadyMillis)
                    <= now.steadyMillis
                {
                    self.writeProgress(crowd, now: now)
                    self.tellReport(crowd, now: now)
                }
                if self.audiences.crowds[crowd].reportDueMillis(nowMillis: now.steadyMillis) <= now.steadyMillis {
                    self.tellReport(crowd, now: now)
                }
                self.advanceStarts(crowd, now: now)
                self.schedule(crowd, now: now)
            }
        }
    }

    // MARK: Progress
    /// Writes how far the crowd's passes are.
    /// - Parameter entry: resolved after Kafka has it; none: no event waits for it.
    mutating func writeProgress(_ crowd: CrowdID, entry: EntryID = .none, now: EngineTime) {
        let partition = self.audiences.crowds[crowd].partition
        let members = self.audiences.crowds.members(of: partition)
        let progress = self.audiences.crowds[crowd].writeProgress(
            epoch: self.memory.partitions[partition].epoch,
            nextStateOffset: self.memory.partitions[partition].nextStateOffset, pushes: self.audiences.pushes,
            table: members.table, nowMillis: now.steadyMillis)
        self.journal.writeProgress(progress, of: crowd, entry: entry, in: &self.memory, audiences: self.audiences)
    }
    /// Writes the next record in time: a pass at priority 10 has used half of what the last one allows.
    mutating func extendHorizon(_ crowd: CrowdID, now: EngineTime) {
        guard !self.audiences.crowds[crowd].records.isProgressUnderWay else { return }
        self.writeProgress(crowd, now: now)
        self.journal.batch.isUrgent = true
    }
    /// Notes the offset of a late join in `state`.
    mutating func lateJoinAcknowledged(
        _ crowd: CrowdID, generation: UInt32, pass: Int, number: UInt32, offset: Int64
    ) {
        guard self.audiences.crowds.contains(crowd, generation: generation),
            pass < self.audiences.crowds[crowd].passes.count
        else { return }
        self.audiences.crowds[crowd].passes[pass].lateJoinWritten(number, at: offset)
    }
    /// Notes that Kafka has a progress record.
    mutating func progressAcknowledged(_ crowd: CrowdID, generation: UInt32, number: UInt32, now: EngineTime) {
        guard self.audiences.crowds.contains(crowd, generation: generation) else {
            return
        }
        self.audiences.crowds[crowd].progressAcknowledged(number)
        self.schedule(crowd, now: now)
    }
}
