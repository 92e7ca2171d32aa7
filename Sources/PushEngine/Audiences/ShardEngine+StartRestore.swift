import PushModel

/// Start members as `state` has them, after a takeover; what a void and a record of another do to them.
extension ShardEngine {
    // MARK: Reading
    /// A membership's record.
    mutating func restoreStartMember(
        key: Span<UInt8>, reader: inout StateReader, partition: PartitionIndex, offset: Int64
    ) throws(StateError) -> RestoreResult? {
        guard let range = StartCodec.tokenRange(inKey: key) else {
            throw .malformed("a start member under a key that names none")
        }
        let record = try StartCodec.readMember(&reader)
        guard self.memory.isBelieved(record.epoch, partition: partition) else { return nil }
        let reference = StartCodec.reference(inKey: key)
        let crowd =
            self.audiences.crowds.find(reference: reference, partition: partition)
            ?? self.audiences.crowds.make(app: 0, id: [], reference: reference, partition: partition)
        // Whoever cannot be held is not passed over in silence: the partition stops, as it does for update members.
        guard let round = self.audiences.crowds.startRound(of: crowd, environment: record.environment) else {
            throw .malformed("start members of one audience more than a partition can hold")
        }
        let members = self.audiences.crowds.members(of: partition)
        let ring = self.audiences.crowds[crowd].starts.rounds[round].ring
        let token = key.extracting(range)
        var member = self.startMember(token, of: crowd)
        if member.isSome, members.table.ring(of: member) != ring {
            self.forgetRestored(member, members: members)
            member = .none
        }
        if member.isNone {
            member = members.table.insert(token, in: ring, joinedSeconds: record.joinedSeconds)
            guard member.isSome else {
                throw .malformed("one start member more than a partition, or its token, can be")
            }
            self.memory.counters.membersHeld += 1
        }
        var flags: MemberFlags = record.isFrequent ? .isFrequent : []
        if record.isChannelCapable { flags.formUnion(.isChannelCapable) }
        if record.hasLeft { flags.formUnion(.isGhost) }
        members.table.setFlags(flags, of: member)
        members.table.setJoinedSeconds(record.joinedSeconds, of: member)
        self.audiences.crowds[crowd].starts.noteJoin(seconds: record.joinedSeconds)
        self.audiences.crowds[crowd].starts.rounds[round].ghosts[member] = record.hasLeft ? record.start : nil
        self.audiences.crowds[crowd].starts.restoredMarks[member] =
            record.mark == .none || record.hasLeft
            ? nil : StartCodec.RestoredMark(mark: record.mark, start: record.start, offset: offset)
        return .restored
    }
    /// A membership's tombstone.
    mutating func restoreStartTombstone(key: Span<UInt8>, partition: PartitionIndex) {
        guard let range = StartCodec.tokenRange(inKey: key),
            let crowd = self.audiences.crowds.find(
                reference: StartCodec.reference(inKey: key), partition: partition)
        else { return }
        let member = self.startMember(key.extracting(range), of: crowd)
        guard member.isSome else { return }
        self.forgetRestored(member, members: self.audiences.crowds.members(of: partition))
    }
    private mutating func forgetRestored(_ member: MemberID, members: CrowdTable.Members) {
        let crowd = self.home(of: member, members: members).crowd
        self.audiences.crowds[crowd].starts.restoredMarks[member] = nil
        self.removeStart(member, members: members)
    }
    /// How far a crowd's start was.
    mutating func restoreStarts(_ progress: StartCodec.Progress, of crowd: CrowdID, now: EngineTime) {
        self.audiences.crowds[crowd].starts.restorePast(
            progress.past.map {
                CrowdStarts.Past(
                    start: $0.start,
                    lastSentMillis: now.steadyMillis - max(0, now.wallMillis - $0.lastSentMillis),
                    lastSentWallMillis: $0.lastSentWallMillis)
            })
        if !progress.isOver, progress.rounds.contains(where: { $0.unansweredCount > 0 }) {
            // What was announced may have left at any time since. Of a start that is over nothing has.
            self.audiences.crowds[crowd].starts.noteSent(progress.start, now: now)
        }
        self.audiences.crowds[crowd].starts.restore(progress)
    }

    // MARK: Going on
    /// A start that `state` tells of goes on: behind whom it was announced to.
    mutating func resumeStart(_ order: StartOrder, of crowd: CrowdID) {
        let known = self.audiences.crowds[crowd].starts.restored.flatMap { $0.start == order.stamp ? $0 : nil }
        let marks = self.audiences.crowds[crowd].starts.restoredMarks.filter { $1.start.names(order.stamp) }
            .sorted { $0.value.offset < $1.value.offset }
        self.audiences.crowds[crowd].starts.restored = nil
        self.audiences.crowds[crowd].starts.restoredMarks = [:]
        self.audiences.crowds[crowd].starts.beganMillis = known?.beganMillis ?? 0
        if let report = known?.report, report.start == order.stamp {
            self.audiences.crowds[crowd].starts.report = report
            self.audiences.crowds[crowd].starts.report.resume()
            self.audiences.crowds[crowd].starts.toldCount = report.failedCount
        }
        // What was told last may have been lost with the owner before.
        self.audiences.crowds[crowd].starts.report.isUntold = true
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            let ring = self.audiences.crowds[crowd].starts.rounds[round].ring
            let environment = self.audiences.crowds[crowd].starts.rounds[round].environment
            let part = known?.rounds.first { $0.environment == environment }
            for (member, mark) in marks where members.table.ring(of: member) == ring {
                guard mark.mark == .waits, mark.offset >= part?.lateOffset ?? 0 else {
                    self.audiences.crowds[crowd].starts.rounds[round].noteServedEarly(member, in: &members.table)
                    continue
                }
                members.table.insertFlag(.isLate, of: member)
                let number = self.audiences.crowds[crowd].starts.nextMemberNumber()
                self.audiences.crowds[crowd].starts.rounds[round].wait(late: member, number: number)
                self.audiences.crowds[crowd].starts.rounds[round].noteLate(number, offset: mark.offset)
            }
            // A ghost may come back, and stand where the round has not been.
            let ghosts = self.audiences.crowds[crowd].starts.rounds[round].ghosts.filter {
                $1.names(order.stamp)
            }
            for member in ghosts.keys {
                self.audiences.crowds[crowd].starts.rounds[round].noteServedEarly(member, in: &members.table)
            }
            // Whoever came to a ring that the record does not have came late.
            let position = part?.horizon ?? (known == nil ? 0 : StartRound.end)
            let named = (part?.named ?? []).compactMap { self.startMember(at: $0, ring: ring, members: members) }
            self.audiences.crowds[crowd].starts.rounds[round].begin(
                at: position, count: self.countOwed(ring: ring, from: position, members: members),
                lateOffset: part?.lateOffset ?? 0)
            self.audiences.crowds[crowd].starts.rounds[round].retries.restoreNamed(named)
            self.noteStartsUnknown(crowd, count: part?.unansweredCount ?? 0)
            if let part { self.tellStartsUnheard(part, named: named, of: crowd, round: round, members: members) }
            self.noteStartsDue(crowd, round: round, before: 0)
        }
    }
    private mutating func countOwed(ring: RingID, from position: Int64, members: CrowdTable.Members) -> Int {
        var (count, from) = (0, UInt64(position))
        while from < RingPosition.end {
            self.audiences.scratchEntries.removeAll(keepingCapacity: true)
            from = members.table.fill(ring, from: from, limit: 1_024, into: &self.audiences.scratchEntries)
            for entry in self.audiences.scratchEntries
            where members.table.flags(of: entry.member).isDisjoint(with: [.isLate, .isGhost, .isServedEarly]) {
                count += 1
            }
        }
        return count
    }
    mutating func startMember(at position: Int64, ring: RingID, members: CrowdTable.Members) -> MemberID? {
        guard position < StartRound.end else { return nil }
        self.audiences.scratchEntries.removeAll(keepingCapacity: true)
        _ = members.table.fill(ring, from: UInt64(position), limit: 1, into: &self.audiences.scratchEntries)
        guard let entry = self.audiences.scratchEntries.first, entry.position == UInt64(position),
            members.table.flags(of: entry.member).isDisjoint(with: [.isLate, .isGhost])
        else { return nil }
        return entry.member
    }
    /// The last record has been read.
    mutating func settleRestoredStarts(_ crowd: CrowdID, now: EngineTime) {
        self.audiences.crowds[crowd].starts.restored = nil
        self.audiences.crowds[crowd].starts.restoredMarks = [:]
        self.audiences.crowds[crowd].starts.restoredOrders = []
        if self.audiences.crowds[crowd].starts.hasOrder, self.resendsStarts(crowd) {
            self.audiences.crowds[crowd].starts.noteMaybeSent(now: now)
        }
        self.scheduleSweep(crowd, now: now)
    }

    // MARK: Voids
    /// Start members of a crowd whose audience is over go over to a new one of the same name.
    /// - Returns: that; `nil`: it had none.
    mutating func moveStarts(from old: CrowdID) -> CrowdID? {
        let partition = self.audiences.crowds[old].partition
        guard !self.audiences.crowds[old].starts.rounds.isEmpty, !self.audiences.crowds[old].id.isEmpty else {
            return nil
        }
        let members = self.audiences.crowds.members(of: partition)
        var starts = self.audiences.crowds[old].starts
        self.audiences.crowds[old].starts = CrowdStarts()
        guard starts.memberCount(in: members.table) > 0 else {
            for round in starts.rounds { members.table.removeRing(round.ring) }
            return nil
        }
        let crowd = self.audiences.crowds.make(
            app: self.audiences.crowds[old].app, id: self.audiences.crowds[old].id,
            reference: self.audiences.crowds[old].reference, partition: partition)
        starts.forgetRecordsUnderWay()
        for round in starts.rounds.indices {
            members.ringOwners[starts.rounds[round].ring.index] = crowd
            starts.rounds[round].isQueued = false
            var push = starts.rounds[round].firstPush
            while push.isSome {
                self.audiences.pushes[push].crowd = crowd
                self.audiences.pushes[push].crowdGeneration = self.audiences.crowds[crowd].generation
                push = self.audiences.pushes[push].next
            }
        }
        self.audiences.crowds[crowd].starts = starts
        self.audiences.crowds[crowd].life = self.audiences.crowds[old].life
        self.audiences.crowds[crowd].isLifeOver = true
        return crowd
    }
    /// The same while the partition is owned: the new crowd's name is written down, and the owner asked soon.
    mutating func carryStarts(from old: CrowdID, now: EngineTime) {
        guard let crowd = self.moveStarts(from: old) else { return }
        self.readPause(crowd)
        // Once the void's own record has gone, the versions before it would be taken for new.
        self.writeVersions(crowd, entry: .none)
        self.writeProgress(crowd, now: now)
        self.audiences.crowds[crowd].starts.isRecordDue = true
        self.sweepAfterVoid(crowd, now: now)
        self.audiences.crowds[crowd].askAtMillis = now.steadyMillis + Self.askAgainMillis
        self.schedule(crowd, now: now)
    }
    /// A crowd has start members, and no others.
    func hasOnlyStarts(_ crowd: CrowdID) -> Bool {
        let members = self.audiences.crowds.membersIfAny(of: self.audiences.crowds[crowd].partition)
        guard let members, self.audiences.crowds[crowd].starts.memberCount(in: members.table) > 0 else { return false }
        return self.audiences.crowds[crowd].passes.allSatisfy {
            members.table.count(of: $0.ring) == 0 && $0.inFlight.count == 0
        }
    }
    // MARK: Leaving, and records of others
    /// The partition is given back: what was announced and has not left is not announced any more.
    mutating func releaseStarts(_ crowd: CrowdID, now: EngineTime) {
        guard self.audiences.crowds[crowd].starts.hasOrder || self.audiences.crowds[crowd].starts.isRecordDue else {
            return
        }
        for round in self.audiences.crowds[crowd].starts.rounds.indices {
            self.audiences.crowds[crowd].starts.rounds[round].withdrawAnnouncements()
        }
        self.writeStarts(crowd, now: now)
    }
    /// The crowd leaves memory with its partition.
    mutating func forgetStarts(_ crowd: CrowdID) {
        let waiting = self.audiences.crowds[crowd].starts.waitingCount
        self.memory.counters.startMembers.handedOver &+= UInt64(truncatingIfNeeded: waiting)
        self.memory.counters.startMembers.waiting &-= UInt64(truncatingIfNeeded: waiting)
    }
    /// A record of another about a start member.
    mutating func repairStartMember(key: Span<UInt8>, partition: PartitionIndex) -> StateRepair {
        guard let range = StartCodec.tokenRange(inKey: key) else { return .ignored }
        let crowd = self.audiences.crowds.find(reference: StartCodec.reference(inKey: key), partition: partition)
        let member = crowd.map { self.startMember(key.extracting(range), of: $0) } ?? .none
        guard member.isSome else {
            self.journal.writeTombstone(key: key, of: partition, in: &self.memory)
            return .removed
        }
        self.writeStartMember(member, members: self.audiences.crowds.members(of: partition))
        return .overwritten
    }
    /// A record of another about a crowd of this audience.
    mutating func repairStarts(_ crowd: CrowdID, now: EngineTime) {
        guard self.audiences.crowds[crowd].starts.rounds.isEmpty else { return self.writeStarts(crowd, now: now) }
        var key: [UInt8] = []
        AudienceCodec.appendKey(
            .starts, bundleID: self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].bundleID,
            id: self.audiences.crowds[crowd].id, to: &key)
        self.journal.writeTombstone(key: key.span, of: self.audiences.crowds[crowd].partition, in: &self.memory)
    }
}
