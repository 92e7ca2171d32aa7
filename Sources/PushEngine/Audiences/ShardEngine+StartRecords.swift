import PushModel

/// What is written down of a start that goes round: whom it is announced to, and how far it is (fan-out, "`start` to start members").
extension ShardEngine {
    /// While nothing is to be announced, how far a start is is written down this often.
    private static var recordMillis: Int64 { 1_000 }
    /// Members that come singly are announced together.
    private static var gatherMillis: Int64 { 100 }
    /// Members of the ring that are looked at for one record, in search of those that are owed the start.
    private static var scannedMax: Int { 16_384 }
    /// Members are looked up so many together, even if fewer are wanted.
    private static var scannedMin: Int { 64 }

    // MARK: When
    /// When the next record is written, steady.
    mutating func startRecordDueMillis(_ crowd: CrowdID, now: EngineTime) -> Int64 {
        guard !self.audiences.crowds[crowd].starts.isRecordUnderWay else { return .max }
        let last = self.audiences.crowds[crowd].starts.lastRecordMillis
        func after(_ millis: Int64) -> Int64 { last == .min ? now.steadyMillis : last + millis }
        var due = self.audiences.crowds[crowd].starts.isRecordDue ? after(Self.recordMillis) : .max
        guard self.mayStart(crowd), !self.resendsStarts(crowd) else { return due }
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            if self.audiences.crowds[crowd].starts.rounds[round].hasLateToAnnounce,
                self.audiences.crowds[crowd].starts.rounds[round].lateAnnounced
                    < self.audiences.crowds[crowd].starts.pace.count,
                !self.audiences.crowds[crowd].starts.rounds[round].retries.isFull
            {
                due = min(due, after(Self.gatherMillis))
            }
            let named = self.audiences.crowds[crowd].starts.rounds[round].retries.nextNamedDueMillis(
                nowMillis: now.steadyMillis)
            if named != .max { due = min(due, max(named, after(Self.gatherMillis))) }
            guard let position = self.nextStartPosition(crowd, round: round) else { continue }
            let round = self.audiences.crowds[crowd].starts.rounds[round]
            guard round.isShort, round.nextHorizon < StartRound.end, !round.retries.isFull else { continue }
            let next = max(position, round.nextHorizon)
            due = min(due, self.spreadMillis(crowd, until: next, now: now))
        }
        return due
    }

    // MARK: Writing
    /// Announces who is next, and says how far the start is.
    mutating func writeStarts(_ crowd: CrowdID, now: EngineTime) {
        self.audiences.crowds[crowd].starts.recordNumber &+= 1
        self.audiences.crowds[crowd].starts.isRecordUnderWay = true
        self.audiences.crowds[crowd].starts.isRecordDue = false
        self.audiences.crowds[crowd].starts.lastRecordMillis = now.steadyMillis
        self.audiences.crowds[crowd].starts.forgetPast(nowMillis: now.steadyMillis)
        let sentCount = self.audiences.crowds[crowd].starts.sentSinceRecord
        self.audiences.crowds[crowd].starts.pace.noteRecord(sentCount: sentCount, nowMillis: now.steadyMillis)
        self.audiences.crowds[crowd].starts.sentSinceRecord = 0
        let order = self.audiences.crowds[crowd].starts.order
        let announces = self.mayStart(crowd)
        var progress = StartCodec.Progress()
        progress.epoch = self.memory.partitions[self.audiences.crowds[crowd].partition].epoch
        progress.start = self.audiences.crowds[crowd].starts.newestMet
        progress.isOver = order == nil
        progress.beganMillis = self.audiences.crowds[crowd].starts.beganMillis
        progress.report = self.audiences.crowds[crowd].starts.report
        progress.report.isUntold = false
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            if announces { self.extendStarts(crowd, round: round, now: now) }
            progress.rounds.append(self.startPart(crowd, round: round, announces: announces, now: now))
        }
        progress.past = self.audiences.crowds[crowd].starts.past.map {
            CrowdStarts.Past(
                start: $0.start, lastSentMillis: now.wallMillis - (now.steadyMillis - $0.lastSentMillis),
                lastSentWallMillis: $0.lastSentWallMillis)
        }
        if let order, progress.rounds.contains(where: { $0.unansweredCount > 0 }) {
            // What is announced leaves from here on.
            let before = progress.past.last { $0.start.names(order.stamp) }?.lastSentWallMillis ?? 0
            progress.past.removeAll { $0.start.names(order.stamp) }
            progress.past.append(
                CrowdStarts.Past(
                    start: order.stamp, lastSentMillis: now.wallMillis,
                    lastSentWallMillis: max(before, now.wallMillis)))
            if progress.past.count > CrowdStarts.pastMax { progress.past.removeFirst() }
        }
        self.journal.writeStarts(progress, of: crowd, in: &self.memory, audiences: self.audiences)
        if announces { self.journal.batch.isUrgent = true }
    }
    /// Nothing leaves until somebody says so: whoever is announced and was not sent to is told of as such, or a takeover would have to take him
    /// for one of those of whom nobody knows.
    mutating func withdrawStarts(_ crowd: CrowdID, now: EngineTime) {
        guard self.audiences.crowds[crowd].starts.hasOrder else { return }
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            self.audiences.crowds[crowd].starts.rounds[round].withdrawAnnouncements()
        }
        self.audiences.crowds[crowd].starts.isRecordDue = true
        // Otherwise it is written as soon as the versions lie there.
        guard self.memory.partitions[self.audiences.crowds[crowd].partition].mayPush,
            self.audiences.crowds[crowd].records.isDurable
        else { return }
        self.writeStarts(crowd, now: now)
        self.journal.batch.isUrgent = true
    }
    /// Members up to a new horizon are announced with the record that follows.
    private mutating func extendStarts(_ crowd: CrowdID, round: Int, now: EngineTime) {
        guard let position = self.nextStartPosition(crowd, round: round) else {
            self.audiences.crowds[crowd].starts.rounds[round].nextHorizon = StartRound.end
            return
        }
        let from = self.audiences.crowds[crowd].starts.rounds[round].nextHorizon
        let count =
            self.audiences.crowds[crowd].starts.pace.count
            - self.audiences.crowds[crowd].starts.rounds[round].announcedCount
        guard !self.resendsStarts(crowd), !self.audiences.crowds[crowd].starts.rounds[round].retries.isFull else {
            return
        }
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let ring = self.audiences.crowds[crowd].starts.rounds[round].ring
        // Whoever is next is announced, and those whose turn comes soon.
        let due = max(
            position + 1,
            self.spreadPosition(crowd, atMillis: now.steadyMillis + StartPace.aheadMillis, now: now))
        var (horizon, announced, scanned) = (from, 0, 0)
        while horizon < min(due, StartRound.end), announced < count, scanned < Self.scannedMax {
            self.audiences.scratchEntries.removeAll(keepingCapacity: true)
            let end = members.table.fill(
                ring, from: UInt64(horizon), limit: max(count - announced, Self.scannedMin),
                into: &self.audiences.scratchEntries)
            horizon = max(horizon, min(Int64(end), due))
            scanned += max(1, self.audiences.scratchEntries.count)
            for entry in self.audiences.scratchEntries where Int64(entry.position) < horizon {
                guard self.isOwed(entry, of: crowd, round: round, members: members) else { continue }
                announced += 1
            }
        }
        self.audiences.crowds[crowd].starts.rounds[round].extend(to: horizon, count: announced)
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
            lateMax: announcesLate ? self.audiences.crowds[crowd].starts.pace.count : 0, nowMillis: now.steadyMillis,
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
            part.unmet = min(part.horizon, self.audiences.crowds[crowd].starts.rounds[round].unmetPosition)
            part.unanswered = self.unansweredApart(crowd, round: round, members: members)
        }
        part.lateOffset = self.audiences.crowds[crowd].starts.rounds[round].lateOffset
        part.named = named.map { Int64(members.table.position(of: $0)) }.sorted()
        return part
    }
    /// Where those stand that are announced without an answer, and that the round does not come to in turn.
    private func unansweredApart(_ crowd: CrowdID, round: Int, members: CrowdTable.Members) -> [Int64] {
        let most = StartCodec.unansweredMax
        let start = self.audiences.crowds[crowd].starts.orderStamp
        var positions = self.audiences.crowds[crowd].starts.rounds[round].announcedApart(max: most).map {
            Int64(members.table.position(of: $0))
        }
        var push = self.audiences.crowds[crowd].starts.rounds[round].firstPush
        while push.isSome, positions.count < most {
            if self.audiences.pushes[push].start == start {
                positions.append(Int64(members.table.position(of: self.audiences.pushes[push].member)))
            }
            push = self.audiences.pushes[push].next
        }
        return positions
    }
    /// Kafka has the record: what it announces may leave.
    mutating func startsAcknowledged(_ crowd: CrowdID, generation: UInt32, number: UInt32, now: EngineTime) {
        guard self.audiences.crowds.contains(crowd), self.audiences.crowds[crowd].generation == generation,
            self.audiences.crowds[crowd].starts.recordNumber == number
        else { return }
        self.audiences.crowds[crowd].starts.isRecordUnderWay = false
        self.audiences.crowds[crowd].starts.pace.noteAcknowledged(
            afterMillis: now.steadyMillis - self.audiences.crowds[crowd].starts.lastRecordMillis)
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            self.audiences.crowds[crowd].starts.rounds[round].announced()
        }
        self.schedule(crowd, now: now)
    }
}
