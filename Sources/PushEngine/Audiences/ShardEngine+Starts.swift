import PushModel

/// Starts that come to a partition, how far they are, and what is written down of that (fan-out, "`start` to start members").
extension ShardEngine {
    /// While nothing is to be announced, how far a start is is written down this often.
    private static var recordMillis: Int64 { 1_000 }
    /// Members that come singly are announced together.
    private static var gatherMillis: Int64 { 100 }
    /// Of a start that is spread over time, so much is announced ahead.
    private static var aheadMillis: Int64 { 1_000 }

    // MARK: Begin and end
    /// The newest version says which start goes round.
    mutating func takeStart(of version: Version, crowd: CrowdID, now: EngineTime) {
        if let old = self.audiences.crowds[crowd].starts.order {
            if let new = version.start, new.isSame(as: old) {
                // It goes on, with what is newest.
                return self.audiences.crowds[crowd].starts.forgetBodies()
            }
            self.ceaseStart(crowd, into: \.superseded, now: now)
        }
        guard let order = version.start, self.audiences.crowds[crowd].starts.mayBegin(order) else { return }
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
        self.audiences.crowds[crowd].starts.cease()
        self.audiences.crowds[crowd].starts.isRecordDue = true
    }
    mutating func expireStart(_ crowd: CrowdID, now: EngineTime) {
        guard self.audiences.crowds[crowd].starts.hasOrder,
            self.audiences.crowds[crowd].starts.orderExpiresSeconds <= now.wallSeconds
        else { return }
        self.ceaseStart(crowd, into: \.expired, now: now)
    }

    // MARK: When
    /// Starts may leave: the versions lie in `state`, and so do the joins from before.
    func mayStart(_ crowd: CrowdID) -> Bool {
        let partition = self.audiences.crowds[crowd].partition
        return self.audiences.crowds[crowd].starts.hasOrder && self.audiences.crowds[crowd].isDurable
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
            let left = self.audiences.crowds[crowd].starts.orderExpiresSeconds * 1_000 - now.wallMillis
            deadline = min(deadline, now.steadyMillis + max(0, left))
        }
        guard self.memory.partitions[self.audiences.crowds[crowd].partition].mayPush,
            self.audiences.crowds[crowd].isDurable
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
            resends || position < self.audiences.crowds[crowd].starts.rounds[round].horizon
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

    // MARK: Spread
    /// How long the round takes, milliseconds: never more than half the time that the start has.
    private func spanMillis(_ crowd: CrowdID) -> Int64 {
        guard self.audiences.crowds[crowd].starts.hasOrder else { return 0 }
        let expiresMillis = self.audiences.crowds[crowd].starts.orderExpiresSeconds * 1_000
        let spread = self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].audienceSpreadMillis
        return min(spread, max(0, (expiresMillis - self.audiences.crowds[crowd].starts.beganMillis) / 2))
    }
    /// When the member at a position has its turn, steady.
    private func spreadMillis(_ crowd: CrowdID, until position: Int64, now: EngineTime) -> Int64 {
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
    private func spreadPosition(_ crowd: CrowdID, atMillis: Int64, now: EngineTime) -> Int64 {
        let span = self.spanMillis(crowd)
        let passed = now.wallMillis + (atMillis - now.steadyMillis) - self.audiences.crowds[crowd].starts.beganMillis
        guard span > 0, passed < span else { return StartRound.end }
        return ((max(0, passed) << 32) / span) << 16
    }

    // MARK: Records
    /// When the next record is written, steady.
    private mutating func startRecordDueMillis(_ crowd: CrowdID, now: EngineTime) -> Int64 {
        guard !self.audiences.crowds[crowd].starts.isRecordUnderWay else { return .max }
        let last = self.audiences.crowds[crowd].starts.lastRecordMillis
        func after(_ millis: Int64) -> Int64 { last == .min ? now.steadyMillis : last + millis }
        var due = self.audiences.crowds[crowd].starts.isRecordDue ? after(Self.recordMillis) : .max
        guard self.mayStart(crowd), !self.resendsStarts(crowd) else { return due }
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            if self.audiences.crowds[crowd].starts.rounds[round].hasLateToAnnounce,
                !self.audiences.crowds[crowd].starts.rounds[round].retries.isFull
            {
                due = min(due, after(Self.gatherMillis))
            }
            let named = self.audiences.crowds[crowd].starts.rounds[round].retries.nextNamedDueMillis(
                nowMillis: now.steadyMillis)
            if named != .max { due = min(due, max(named, after(Self.gatherMillis))) }
            guard let position = self.nextStartPosition(crowd, round: round) else { continue }
            let round = self.audiences.crowds[crowd].starts.rounds[round]
            // Half of what is announced has left, or nothing is.
            let isShort = 2 * round.announcedCount <= self.audiences.crowds[crowd].starts.sentSinceRecord
            guard isShort, round.nextHorizon < StartRound.end, !round.retries.isFull else { continue }
            let next = max(position, round.nextHorizon)
            due = min(due, self.spreadMillis(crowd, until: next, now: now))
        }
        return due
    }
    /// Does what has become due of a crowd's starts.
    mutating func advanceStarts(_ crowd: CrowdID, now: EngineTime) {
        self.expireStart(crowd, now: now)
        if self.startReportDueMillis(crowd, now: now) <= now.steadyMillis { self.tellStarts(crowd, now: now) }
        if self.audiences.crowds[crowd].starts.sweepAtMillis <= now.steadyMillis { self.sweepStarts(crowd, now: now) }
        guard self.memory.partitions[self.audiences.crowds[crowd].partition].mayPush,
            self.audiences.crowds[crowd].isDurable
        else { return }
        if self.audiences.crowds[crowd].starts.hasOrder, self.audiences.crowds[crowd].starts.beganMillis == 0 {
            self.audiences.crowds[crowd].starts.beganMillis = now.wallMillis
        }
        if self.startRecordDueMillis(crowd, now: now) <= now.steadyMillis { self.writeStarts(crowd, now: now) }
    }
    /// Announces who is next, and says how far the start is.
    mutating func writeStarts(_ crowd: CrowdID, now: EngineTime) {
        self.audiences.crowds[crowd].starts.recordNumber &+= 1
        self.audiences.crowds[crowd].starts.isRecordUnderWay = true
        self.audiences.crowds[crowd].starts.isRecordDue = false
        self.audiences.crowds[crowd].starts.lastRecordMillis = now.steadyMillis
        self.audiences.crowds[crowd].starts.forgetPast(nowMillis: now.steadyMillis)
        let chunk = min(
            max(StartRound.chunkCountMin, 2 * self.audiences.crowds[crowd].starts.sentSinceRecord),
            StartRound.chunkCountMax)
        self.audiences.crowds[crowd].starts.sentSinceRecord = 0
        let order = self.audiences.crowds[crowd].starts.order
        let announces = self.mayStart(crowd)
        var progress = StartCodec.Progress()
        progress.epoch = self.memory.partitions[self.audiences.crowds[crowd].partition].epoch
        (progress.life, progress.stampSeconds) = self.audiences.crowds[crowd].starts.newestMet
        progress.isOver = order == nil
        progress.beganMillis = self.audiences.crowds[crowd].starts.beganMillis
        progress.report = self.audiences.crowds[crowd].starts.report
        progress.report.isUntold = false
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            if announces { self.extendStarts(crowd, round: round, count: chunk, now: now) }
            progress.rounds.append(self.startPart(crowd, round: round, announces: announces, now: now))
        }
        progress.past = self.audiences.crowds[crowd].starts.past.map {
            CrowdStarts.Past(
                stampSeconds: $0.stampSeconds, lastSentMillis: now.wallMillis - (now.steadyMillis - $0.lastSentMillis),
                lastSentWallMillis: $0.lastSentWallMillis)
        }
        if let order, progress.rounds.contains(where: { $0.unansweredCount > 0 }) {
            // What is announced leaves from here on.
            let before = progress.past.last { $0.stampSeconds == order.stampSeconds }?.lastSentWallMillis ?? 0
            progress.past.removeAll { $0.stampSeconds == order.stampSeconds }
            progress.past.append(
                CrowdStarts.Past(
                    stampSeconds: order.stampSeconds, lastSentMillis: now.wallMillis,
                    lastSentWallMillis: max(before, now.wallMillis)))
            if progress.past.count > CrowdStarts.pastMax { progress.past.removeFirst() }
        }
        self.journal.writeStarts(progress, of: crowd, in: &self.memory, audiences: self.audiences)
        if announces { self.journal.batch.isUrgent = true }
    }
    /// Members up to a new horizon are announced with the record that follows.
    private mutating func extendStarts(_ crowd: CrowdID, round: Int, count: Int, now: EngineTime) {
        guard let position = self.nextStartPosition(crowd, round: round) else {
            self.audiences.crowds[crowd].starts.rounds[round].nextHorizon = StartRound.end
            return
        }
        let from = self.audiences.crowds[crowd].starts.rounds[round].nextHorizon
        guard !self.resendsStarts(crowd), !self.audiences.crowds[crowd].starts.rounds[round].retries.isFull,
            self.audiences.crowds[crowd].starts.rounds[round].announcedCount < count
        else { return }
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        self.audiences.scratchEntries.removeAll(keepingCapacity: true)
        let end = members.table.fill(
            self.audiences.crowds[crowd].starts.rounds[round].ring, from: UInt64(from), limit: count,
            into: &self.audiences.scratchEntries)
        let due = self.spreadPosition(crowd, atMillis: now.steadyMillis + Self.aheadMillis, now: now)
        // Whoever is next is announced, and those whose turn comes soon.
        let horizon = max(from, min(Int64(end), max(due, position + 1)))
        var announced = 0
        for entry in self.audiences.scratchEntries where Int64(entry.position) < horizon {
            guard self.isOwed(entry, of: crowd, round: round, members: members) else { continue }
            announced += 1
        }
        self.audiences.crowds[crowd].starts.rounds[round].nextHorizon = horizon
        self.audiences.crowds[crowd].starts.rounds[round].announcedCount += announced
    }
    /// The round comes to it with something that it has not been sent.
    func isOwed(_ entry: RingEntry, of crowd: CrowdID, round: Int, members: CrowdTable.Members) -> Bool {
        members.table.flags(of: entry.member).isDisjoint(with: [.isLate, .isGhost, .isServedEarly])
            && self.audiences.crowds[crowd].starts.rounds[round].isAhead(entry.member, at: entry.position)
    }
    private mutating func startPart(
        _ crowd: CrowdID, round: Int, announces: Bool, now: EngineTime
    ) -> StartCodec.Round {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let resends = self.resendsStarts(crowd)
        var part = StartCodec.Round()
        part.environment = self.audiences.crowds[crowd].starts.rounds[round].environment
        let announcesLate =
            announces && !resends && !self.audiences.crowds[crowd].starts.rounds[round].retries.isFull
        var named = self.audiences.crowds[crowd].starts.rounds[round].announce(
            lateMax: announcesLate ? StartRound.lateChunkCountMax : 0, nowMillis: now.steadyMillis,
            namesAll: resends || !announces)
        part.horizon = self.audiences.crowds[crowd].starts.rounds[round].nextHorizon
        if resends {
            // Whatever has no answer is sent again.
            part.horizon = self.audiences.crowds[crowd].starts.rounds[round].unmetPosition
            var push = self.audiences.crowds[crowd].starts.rounds[round].firstPush
            while push.isSome {
                named.append(self.audiences.pushes[push].member)
                push = self.audiences.pushes[push].next
            }
        } else {
            part.unansweredCount = UInt64(clamping: self.audiences.crowds[crowd].starts.rounds[round].unansweredCount)
        }
        part.lateOffset = self.audiences.crowds[crowd].starts.rounds[round].lateOffset
        part.named = named.map { Int64(members.table.position(of: $0)) }.sorted()
        return part
    }
    /// Kafka has the record: what it announces may leave.
    mutating func startsAcknowledged(_ crowd: CrowdID, generation: UInt32, number: UInt32, now: EngineTime) {
        guard self.audiences.crowds.contains(crowd), self.audiences.crowds[crowd].generation == generation,
            self.audiences.crowds[crowd].starts.recordNumber == number
        else { return }
        self.audiences.crowds[crowd].starts.isRecordUnderWay = false
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            self.audiences.crowds[crowd].starts.rounds[round].announced()
        }
        self.schedule(crowd, now: now)
    }
}
