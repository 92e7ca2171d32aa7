import PushModel

/// When a crowd has something to do, and what is written down of its passes (fan-out, "Progress").
extension ShardEngine {
    /// Puts a crowd's passes where they belong after any change: into their lanes' queues, or under the next time at which something is due.
    mutating func schedule(_ crowd: CrowdID, now: EngineTime) {
        guard self.audiences.crowds[crowd].standing == .living, !self.audiences.crowds[crowd].id.isEmpty,
            self.memory.partitions[self.audiences.crowds[crowd].partition].sends
        else { return }
        self.endFinishedPassTraces(crowd)
        var deadline = Int64.max
        let serves =
            self.memory.partitions[self.audiences.crowds[crowd].partition].mayPush
            && self.audiences.crowds[crowd].records.isDurable && !self.audiences.crowds[crowd].versions.isEmpty
            && !self.audiences.crowds[crowd].isPaused
        self.countPaused(crowd)
        let distance = self.distanceMillis(crowd)
        if serves {
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
        for version in self.audiences.crowds[crowd].versions where version.layer.expiresSeconds != .max {
            let left = max(0, version.layer.expiresSeconds * 1_000 - now.wallMillis)
            deadline = min(deadline, now.steadyMillis + left)
        }
        if let alert = self.audiences.crowds[crowd].alert, alert.layer.expiresSeconds != .max {
            deadline = min(deadline, now.steadyMillis + max(0, alert.layer.expiresSeconds * 1_000 - now.wallMillis))
        }
        deadline = min(
            deadline, self.audiences.crowds[crowd].records.progressDueMillis(nowMillis: now.steadyMillis))
        deadline = min(
            deadline, self.audiences.crowds[crowd].reportDueMillis(nowMillis: now.steadyMillis),
            self.scheduleStarts(crowd, now: now))
        deadline = min(deadline, self.audiences.crowds[crowd].askAtMillis)
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
                    self.audiences.crowds[crowd].standing = .leaving
                    self.audiences.crowds.hide(crowd)
                    self.audiences.deadlines.set(now.steadyMillis, for: crowd)
                    continue
                }
                self.expireVersions(crowd, now: now)
                if self.audiences.crowds[crowd].askAtMillis <= now.steadyMillis {
                    self.audiences.crowds[crowd].askAtMillis = .max
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
    /// Writes down where the crowd's passes stand.
    /// - Parameter entry: resolved after Kafka has it; none: no event waits for it.
    mutating func writeProgress(_ crowd: CrowdID, entry: EntryID = .none, now: EngineTime) {
        self.audiences.crowds[crowd].records.progressWritten(nowMillis: now.steadyMillis)
        let progress = self.progress(of: crowd)
        self.journal.writeProgress(progress, of: crowd, entry: entry, in: &self.memory, audiences: self.audiences)
    }
    /// A pass at priority 10 has used half of what the last record allows: the next goes out in time.
    mutating func extendHorizon(_ crowd: CrowdID, now: EngineTime) {
        guard !self.audiences.crowds[crowd].records.isProgressUnderWay else { return }
        self.writeProgress(crowd, now: now)
        self.journal.batch.isUrgent = true
    }
    private mutating func progress(of crowd: CrowdID) -> PassesRecord {
        let partition = self.audiences.crowds[crowd].partition
        var progress = PassesRecord()
        progress.epoch = self.memory.partitions[partition].epoch
        progress.life = self.audiences.crowds[crowd].life
        progress.stampSeconds = self.audiences.crowds[crowd].stampSeconds
        progress.alertStampSeconds = self.audiences.crowds[crowd].alert?.stampSeconds ?? 0
        progress.lastJoinSeconds = self.audiences.crowds[crowd].lastJoinSeconds
        progress.lateMovesUntilSeconds = self.audiences.crowds[crowd].lateMovesUntilSeconds
        self.audiences.crowds[crowd].report(into: &progress)
        progress.servedJoins = self.memory.partitions[partition].nextStateOffset
        let members = self.audiences.crowds.members(of: partition)
        for pass in self.audiences.crowds[crowd].passes.indices {
            let count = members.table.count(of: self.audiences.crowds[crowd].passes[pass].ring)
            self.audiences.crowds[crowd].passes[pass].extendHorizon(
                members: self.audiences.crowds[crowd].records.horizonCount, of: count)
            if let first = self.audiences.crowds[crowd].passes[pass].apart.late.first, first.offset >= 0 {
                progress.servedJoins = min(progress.servedJoins, first.offset)
            }
            progress.passes.append(self.passPart(of: crowd, pass: pass, members: members))
        }
        return progress
    }
    private func passPart(of crowd: CrowdID, pass: Int, members: CrowdTable.Members) -> PassesRecord.PassPart {
        var part = PassesRecord.PassPart()
        let turns = self.audiences.crowds[crowd].passes[pass].course.position & ~(PassCourse.circle - 1)
        func from(_ position: Int64) -> Int64 { max(0, position - turns) }
        part.environment = self.audiences.crowds[crowd].passes[pass].environment
        part.listening = self.audiences.crowds[crowd].passes[pass].channelNumber.map { number in
            PassesRecord.Listening(
                number: number, id: self.audiences.crowds[crowd].passes[pass].channelID,
                isServed: self.audiences.crowds[crowd].passes[pass].isServedByChannel)
        }
        part.position = from(self.audiences.crowds[crowd].passes[pass].course.position)
        for (index, target) in self.audiences.crowds[crowd].passes[pass].course.targets.enumerated() {
            part.untils.append(
                (self.audiences.crowds[crowd].versions[index].stampSeconds, from(target.until)))
        }
        part.aloneUntil = self.audiences.crowds[crowd].passes[pass].course.alone.map { from($0.until) }
        part.alertUntil = from(self.audiences.crowds[crowd].passes[pass].course.alertUntil)
        part.highUntil = from(self.audiences.crowds[crowd].passes[pass].course.highUntil)
        part.frequentHighUntil = from(self.audiences.crowds[crowd].passes[pass].course.frequentHighUntil)
        part.horizon = from(self.audiences.crowds[crowd].passes[pass].course.nextHorizon)
        for member in self.audiences.crowds[crowd].passes[pass].apart.retries.members {
            guard members.table.ring(of: member).isSome else { continue }
            part.waiting.append(
                (
                    Int64(members.table.position(of: member)),
                    self.audiences.crowds[crowd].passes[pass].awaitsAlert(member)
                ))
        }
        for member in self.audiences.crowds[crowd].passes[pass].apart.skipped
        where members.table.ring(of: member).isSome {
            part.skipped.append(Int64(members.table.position(of: member)))
        }
        // Where a channel brings the version no round passes over anybody.
        for member in self.audiences.crowds[crowd].passes[pass].channel.byToken.served
        where members.table.ring(of: member) == self.audiences.crowds[crowd].passes[pass].ring {
            part.skipped.append(Int64(members.table.position(of: member)))
        }
        part.skipped.sort()
        let ring = self.audiences.crowds[crowd].passes[pass].ring
        for member in self.audiences.crowds[crowd].passes[pass].apart.quiet where members.table.ring(of: member) == ring
        {
            part.quiet.append(Int64(members.table.position(of: member)))
        }
        part.quiet.sort()
        var push = self.audiences.crowds[crowd].passes[pass].inFlight.first
        while push.isSome {
            let member = self.audiences.pushes[push].member
            if members.table.ring(of: member) == self.audiences.crowds[crowd].passes[pass].ring {
                // Whoever has been away since came after the alert.
                var owesAlert = self.audiences.pushes[push].hasAlert && !self.audiences.pushes[push].isDetached
                let isLeft = self.audiences.crowds[crowd].isLeftToChannel(self.audiences.pushes[push])
                if isLeft, owesAlert {
                    owesAlert = self.audiences.crowds[crowd].owesAlertBesideChannel(
                        self.audiences.pushes[push], in: members.table)
                }
                // A next owner would send it by token without the alert, and the phone would ignore the broadcast that has it.
                if !isLeft || owesAlert { part.waiting.append((Int64(members.table.position(of: member)), owesAlert)) }
            }
            push = self.audiences.pushes[push].next
        }
        return part
    }
    /// Where a late join lies in `state`.
    mutating func lateJoinAcknowledged(
        _ crowd: CrowdID, generation: UInt32, pass: Int, number: UInt32, offset: Int64
    ) {
        guard self.audiences.crowds.contains(crowd), self.audiences.crowds[crowd].generation == generation,
            pass < self.audiences.crowds[crowd].passes.count
        else { return }
        self.audiences.crowds[crowd].passes[pass].lateJoinWritten(number, at: offset)
    }
    /// Kafka has a progress record.
    mutating func progressAcknowledged(_ crowd: CrowdID, generation: UInt32, number: UInt32, now: EngineTime) {
        guard self.audiences.crowds.contains(crowd), self.audiences.crowds[crowd].generation == generation else {
            return
        }
        if self.audiences.crowds[crowd].records.progressAcknowledged(number) {
            for pass in self.audiences.crowds[crowd].passes.indices {
                self.audiences.crowds[crowd].passes[pass].progressWritten()
            }
        }
        self.schedule(crowd, now: now)
    }
}
