import PushModel

/// Starts that come to a partition, and when their pushes leave (fan-out, "`start` to start members").
extension ShardEngine {
    // MARK: Begin and end
    /// The newest version says which start goes round.
    mutating func takeStart(of version: Version, crowd: CrowdID, now: EngineTime) {
        self.takeStart(version.start, crowd: crowd, now: now)
    }
    /// - Parameter new: `nil`: none goes round any more.
    mutating func takeStart(_ new: StartOrder?, crowd: CrowdID, now: EngineTime) {
        if let old = self.audiences.crowds[crowd].starts.order {
            if let new, new.isSame(as: old) {
                // It goes on, with what is newest.
                return self.audiences.crowds[crowd].starts.forgetBodies()
            }
            self.ceaseStart(crowd, into: \.superseded, now: now)
        }
        guard let order = new, self.audiences.crowds[crowd].starts.mayBegin(order) else { return }
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        self.tellStarts(crowd, isOver: true, now: now)
        self.audiences.crowds[crowd].starts.begin(order)
        self.audiences.crowds[crowd].starts.isRecordDue = true
        if self.audiences.crowds[crowd].starts.isRestoring { return self.resumeStart(order, of: crowd) }
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            let before = self.audiences.crowds[crowd].starts.rounds[round].waitingCount
            let count =
                members.table.count(of: self.audiences.crowds[crowd].starts.rounds[round].ring)
                - self.audiences.crowds[crowd].starts.rounds[round].ghosts.count
            self.audiences.crowds[crowd].starts.rounds[round].begin(count: count)
            self.noteStartsDue(crowd, round: round, before: before)
        }
    }
    /// Whoever has not been sent it is not.
    mutating func ceaseStart(
        _ crowd: CrowdID, into reason: WritableKeyPath<MemberCounters, UInt64>, now: EngineTime
    ) {
        guard self.audiences.crowds[crowd].starts.hasOrder else { return }
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            let before = self.audiences.crowds[crowd].starts.rounds[round].waitingCount
            self.audiences.crowds[crowd].starts.rounds[round].cease(in: &members.table)
            self.settleStarts(crowd, round: round, before: before, into: reason)
        }
        self.tellStarts(crowd, isOver: true, now: now)
        self.endStartTrace(crowd, reason == \.expired ? .expired : .superseded)
        self.audiences.crowds[crowd].starts.cease()
        self.audiences.crowds[crowd].starts.isRecordDue = true
    }
    mutating func expireStart(_ crowd: CrowdID, now: EngineTime) {
        guard self.audiences.crowds[crowd].starts.hasOrder,
            self.audiences.crowds[crowd].startEndsSeconds <= now.wallSeconds
        else { return }
        self.ceaseStart(crowd, into: \.expired, now: now)
    }

    // MARK: When
    /// Starts may leave: the versions lie in `state`, and so do the joins from before.
    func mayStart(_ crowd: CrowdID) -> Bool {
        let partition = self.audiences.crowds[crowd].partition
        return self.audiences.crowds[crowd].starts.hasOrder && self.audiences.crowds[crowd].records.isDurable
            && !self.audiences.crowds[crowd].isPaused
            && self.memory.partitions[partition].sends && self.memory.partitions[partition].mayPush
            && self.audiences.crowds[crowd].starts.mayBegin
    }
    /// Puts the crowd's start rounds where they belong after any change.
    /// - Returns: when something is due, steady.
    mutating func scheduleStarts(_ crowd: CrowdID, now: EngineTime) -> Int64 {
        guard !self.audiences.crowds[crowd].starts.isIdle else { return .max }
        var deadline = min(
            self.audiences.crowds[crowd].starts.sweepAtMillis,
            max(now.steadyMillis, self.startReportDueMillis(crowd, now: now)))
        if self.audiences.crowds[crowd].starts.hasOrder {
            let left = self.audiences.crowds[crowd].startEndsSeconds * 1_000 - now.wallMillis
            deadline = min(deadline, now.steadyMillis + max(0, left))
        }
        guard self.memory.partitions[self.audiences.crowds[crowd].partition].mayPush,
            self.audiences.crowds[crowd].records.isDurable
        else { return deadline }
        deadline = min(deadline, max(now.steadyMillis, self.startRecordDueMillis(crowd, now: now)))
        guard self.mayStart(crowd) else { return deadline }
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            let due = self.startDueMillis(crowd, round: round, now: now)
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
        guard !self.audiences.crowds[crowd].starts.rounds[round].isQueued, self.dispatch.lanes[lane].route != nil else {
            return
        }
        self.audiences.crowds[crowd].starts.rounds[round].isQueued = true
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
    /// When a push of the round can leave, steady; `Int64.max`: an acknowledgement or an answer comes first.
    private mutating func startDueMillis(_ crowd: CrowdID, round: Int, now: EngineTime) -> Int64 {
        let resends = self.resendsStarts(crowd)
        if !self.audiences.crowds[crowd].starts.rounds[round].retries.isFull {
            if self.audiences.crowds[crowd].starts.rounds[round].lateAnnounced > 0 { return .min }
            if resends, self.audiences.crowds[crowd].starts.rounds[round].hasLateToAnnounce { return .min }
        }
        let due = self.audiences.crowds[crowd].starts.rounds[round].retries.nextDueMillis(
            sendsNamed: resends, nowMillis: now.steadyMillis)
        guard !self.audiences.crowds[crowd].starts.rounds[round].retries.isFull,
            let position = self.nextStartPosition(crowd, round: round),
            resends || self.audiences.crowds[crowd].starts.rounds[round].isAnnounced(position)
        else { return due }
        return min(due, self.spreadMillis(crowd, until: position, now: now))
    }
    /// Where the next member stands that the round comes to; `nil`: it is over.
    mutating func nextStartPosition(_ crowd: CrowdID, round: Int) -> Int64? {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        return self.audiences.crowds[crowd].starts.rounds[round].next(in: members.table).map { Int64($0.position) }
    }
    func resendsStarts(_ crowd: CrowdID) -> Bool {
        self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].startOnUnknown == .resend
    }
    /// Does what has become due of a crowd's starts.
    mutating func advanceStarts(_ crowd: CrowdID, now: EngineTime) {
        self.expireStart(crowd, now: now)
        if self.startReportDueMillis(crowd, now: now) <= now.steadyMillis { self.tellStarts(crowd, now: now) }
        if self.audiences.crowds[crowd].starts.sweepAtMillis <= now.steadyMillis { self.sweepStarts(crowd, now: now) }
        guard self.memory.partitions[self.audiences.crowds[crowd].partition].mayPush,
            self.audiences.crowds[crowd].records.isDurable
        else { return }
        if self.audiences.crowds[crowd].starts.hasOrder, self.audiences.crowds[crowd].starts.beganMillis == 0 {
            self.audiences.crowds[crowd].starts.beganMillis = now.wallMillis
        }
        if self.startRecordDueMillis(crowd, now: now) <= now.steadyMillis { self.writeStarts(crowd, now: now) }
    }

    // MARK: Spread
    /// How long the round takes, milliseconds: never more than half the time that the start has.
    private func spanMillis(_ crowd: CrowdID) -> Int64 {
        guard self.audiences.crowds[crowd].starts.hasOrder else { return 0 }
        let expiresMillis = self.audiences.crowds[crowd].starts.orderExpiresSeconds * 1_000
        let spread = self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].audienceSpreadMillis
        return min(spread, max(0, (expiresMillis - self.audiences.crowds[crowd].starts.beganMillis) / 2))
    }
    /// When the member at a position has its turn, steady.
    func spreadMillis(_ crowd: CrowdID, until position: Int64, now: EngineTime) -> Int64 {
        let span = self.spanMillis(crowd)
        let began = self.audiences.crowds[crowd].starts.beganMillis
        guard span > 0, began > 0 else { return .min }
        // Positions are cut to 32 bits, so that the product has room.
        let after = ((position >> 16) * span) >> 32
        return now.steadyMillis + (began + after - now.wallMillis)
    }
    func isTurn(_ crowd: CrowdID, position: Int64, now: EngineTime) -> Bool {
        self.spreadMillis(crowd, until: position, now: now) <= now.steadyMillis
    }
    /// Members before it have their turn by then, steady.
    func spreadPosition(_ crowd: CrowdID, atMillis: Int64, now: EngineTime) -> Int64 {
        let span = self.spanMillis(crowd)
        let passed = now.wallMillis + (atMillis - now.steadyMillis) - self.audiences.crowds[crowd].starts.beganMillis
        guard span > 0, passed < span else { return StartRound.end }
        return ((max(0, passed) << 32) / span) << 16
    }
}
