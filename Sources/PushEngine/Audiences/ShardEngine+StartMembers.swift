import PushModel

/// Start members that join and leave, and their records (fan-out contract: Joins and leaves).
extension ShardEngine {
    // MARK: Joining

    /// The record's key is a push-to-start token that joins an audience. `scratchToken` has it raw.
    mutating func joinStart(app: UInt16, partition: PartitionIndex, now: EngineTime) throws(EventRejection) {
        let reference = self.reference(app: app)
        let members = self.audiences.crowds.members(of: partition)
        let joinedSeconds = UInt32(clamping: min(self.intake.writtenMillis, now.wallMillis) / 1_000)
        var crowd = self.audiences.crowds.find(reference: reference, partition: partition) ?? .none
        let found =
            crowd.isNone
            ? .none : self.audiences.crowds.findStart(self.audiences.scratchToken.span, of: crowd)
        if found.isNone {
            try self.checkMemberCount()
            try self.checkRoom(for: self.audiences.scratchToken.span, members: members)
        }
        let isMade = crowd.isNone
        if isMade {
            crowd = self.audiences.crowds.make(
                app: app, id: Array(self.intake.event.text[self.intake.event.audienceInText.range]),
                reference: reference, partition: partition)
        }
        let known = self.knownEnvironments(crowd, app: app)
        let (member, isNew) = self.enter(
            crowd, environment: self.intake.event.environment, found: found, joinedSeconds: joinedSeconds,
            members: members)
        guard member.isSome else {
            if isMade {
                self.audiences.crowds[crowd].starts.removeRings(in: &members.table)
                self.audiences.crowds.remove(crowd)
            }
            throw EventRejection(
                field: "audience",
                reason: "this partition has as many members, or audiences, as it can hold: expected fewer")
        }
        self.audiences.crowds[crowd].starts.joinTaken(seconds: joinedSeconds)
        let entry = self.journal.ledger.open(log: self.intake.log, offset: self.intake.record.offset, settled: false)
        if isMade || self.audiences.crowds[crowd].id.isEmpty {
            self.introduce(crowd, app: app, entry: entry, now: now)
        } else {
            self.askAgain(crowd, joining: self.intake.event.environment, known: known, entry: entry)
        }
        var says: MemberFlags = self.intake.event.frequentUpdates ? .isFrequent : []
        if self.intake.event.channelCapable { says.formUnion(.isChannelCapable) }
        let round = self.audiences.crowds.startHome(of: member, members: members).round
        let isChanged = self.audiences.crowds[crowd].starts.joined(
            member, of: round, says: says, isNew: isNew, joinedSeconds: joinedSeconds, in: &members.table, now: now)
        self.finishMemberEvent(app: app)
        if isChanged { self.writeStartMember(member, members: members, entry: entry) }
        self.journal.ledger.settle(entry)
        self.audiences.crowds[crowd].starts.sweepWanted(now: now)
        self.schedule(crowd, now: now)
    }
    /// - Returns: the member that the joining token is, `none` if there is no room; and whether it was not in this ring before. A member that
    ///   changes its environment may well get its old number again.
    private mutating func enter(
        _ crowd: CrowdID, environment: PushEnvironment, found: MemberID, joinedSeconds: UInt32,
        members: CrowdTable.Members
    ) -> (member: MemberID, isNew: Bool) {
        guard let round = self.audiences.crowds.startRound(of: crowd, environment: environment) else {
            return (.none, false)
        }
        let ring = self.audiences.crowds[crowd].starts.rounds[round].ring
        var (wasSent, mayHaveArrived) = (false, false)
        if found.isSome {
            // A push of the other environment has to be answered first; the next join is taken as it is.
            guard members.table.ring(of: found) != ring, !members.table.flags(of: found).contains(.isInFlight) else {
                return (found, false)
            }
            let other = self.audiences.crowds.startHome(of: found, members: members).round
            wasSent = self.audiences.crowds[crowd].starts.wasSent(to: found, of: other, in: members.table)
            mayHaveArrived = self.audiences.crowds[crowd].starts.mayHaveArrived(
                at: found, of: other, in: members.table)
            self.removeStart(found, members: members)
        }
        let member = members.table.insert(self.audiences.scratchToken.span, in: ring, joinedSeconds: joinedSeconds)
        guard member.isSome else { return (.none, false) }
        self.memory.counters.membersHeld += 1
        self.audiences.crowds[crowd].starts.moved(
            member, to: round, wasSent: wasSent, mayHaveArrived: mayHaveArrived, in: &members.table)
        return (member, true)
    }
    private func checkMemberCount() throws(EventRejection) {
        let most = self.memory.configuration.settings.membersMax
        let held = self.memory.counters.membersHeld
        guard held >= most else { return }
        throw EventRejection(
            field: "audience", reason: "has no room: this shard holds \(held) members, and limits.members is \(most)")
    }
    private func checkRoom(for token: Span<UInt8>, members: CrowdTable.Members) throws(EventRejection) {
        let count = members.memberships(of: token).count
        guard count >= MemberTable.ringsOfStartTokenMax else { return }
        throw EventRejection(
            field: "audience",
            reason:
                "this start token is in \(count) audiences already, those that it left within the hour counted: expected at most \(MemberTable.ringsOfStartTokenMax)"
        )
    }
    /// Writes down the crowd's name, and asks its audience's owner. The event waits for both.
    private mutating func introduce(_ crowd: CrowdID, app: UInt16, entry: EntryID, now: EngineTime) {
        if self.audiences.crowds[crowd].id.isEmpty {
            let id = Array(self.intake.event.text[self.intake.event.audienceInText.range])
            self.audiences.crowds[crowd].named(app: app, id: id)
        }
        self.readPause(crowd)
        self.writeProgress(crowd, entry: entry, now: now)
        self.journal.ask(
            crowd, entry: entry, joining: self.intake.event.environment, in: &self.memory, audiences: self.audiences)
    }

    // MARK: Leaving

    /// The record's key is a push-to-start token, which leaves one audience or all. `scratchToken` has it raw.
    mutating func leaveStart(app: UInt16, partition: PartitionIndex, now: EngineTime) {
        let entry = self.journal.ledger.open(log: self.intake.log, offset: self.intake.record.offset, settled: false)
        self.finishMemberEvent(app: app)
        let members = self.audiences.crowds.members(of: partition)
        let reference = self.intake.event.audienceInText.isEmpty ? nil : self.reference(app: app)
        for member in members.memberships(of: self.audiences.scratchToken.span) {
            let crowd = members.ringOwners[members.table.ring(of: member).index]
            guard reference == nil || self.audiences.crowds[crowd].reference == reference,
                !members.table.flags(of: member).contains(.isGhost)
            else { continue }
            self.leave(member, members: members, entry: entry, now: now)
            self.schedule(crowd, now: now)
        }
        self.journal.ledger.settle(entry)
    }
    /// Lets a member leave. It stays as a ghost while what it was sent has to be remembered.
    mutating func leave(
        _ member: MemberID, members: CrowdTable.Members, entry: EntryID = .none, now: EngineTime
    ) {
        let (crowd, round) = self.audiences.crowds.startHome(of: member, members: members)
        guard
            let fewer = self.audiences.crowds[crowd].starts.left(member, of: round, in: &members.table, now: now)
        else { return self.forgetStart(member, members: members, entry: entry) }
        self.settleStarts(crowd, count: fewer, into: \.left)
        self.writeStartMember(member, members: members, entry: entry)
    }
    /// Writes the member's tombstone, and takes it out of the table. No push to it is in flight.
    mutating func forgetStart(_ member: MemberID, members: CrowdTable.Members, entry: EntryID = .none) {
        let (crowd, round) = self.audiences.crowds.startHome(of: member, members: members)
        let number = self.audiences.crowds[crowd].starts.tombstoneWritten()
        self.journal.writeStartTombstone(
            members.table.token(of: member), of: crowd, round: round, number: number, entry: entry,
            in: &self.memory, audiences: self.audiences)
        self.removeStart(member, members: members)
    }
    /// Takes the member out of the table. No push to it is in flight.
    mutating func removeStart(_ member: MemberID, members: CrowdTable.Members) {
        let (crowd, round) = self.audiences.crowds.startHome(of: member, members: members)
        let fewer = self.audiences.crowds[crowd].starts.removed(member, of: round, in: &members.table)
        self.settleStarts(crowd, count: fewer, into: \.left)
        self.memory.counters.membersHeld -= 1
    }
    /// Removes some start members of a crowd whose name is still unknown.
    /// - Returns: whether it has more.
    mutating func removeSomeStarts(of crowd: CrowdID) -> Bool {
        guard !self.audiences.crowds[crowd].starts.rounds.isEmpty else { return false }
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let some = self.audiences.crowds[crowd].starts.someMembers(in: members.table)
        for member in some { self.forgetStart(member, members: members) }
        if some.isEmpty { self.audiences.crowds[crowd].starts.removeRings(in: &members.table) }
        return !some.isEmpty
    }
    /// Removes start members whose time is over, before the owner is asked for them once more.
    mutating func sweepAfterVoid(_ crowd: CrowdID, now: EngineTime) {
        let until = self.audiences.startsUntilSeconds(crowd, in: self.memory)
        if until > 0, until <= now.wallSeconds { self.audiences.crowds[crowd].starts.sweepWantedAtOnce(now: now) }
    }
    /// Looks through a part of a crowd for members that leave by time: ghosts, and those that have not joined again for
    /// very long (`start-member.life`).
    mutating func sweepStarts(_ crowd: CrowdID, now: EngineTime) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let (ghosts, hasMore) = self.audiences.crowds[crowd].starts.ghostsToForget(in: members.table, now: now)
        for ghost in ghosts { self.forgetStart(ghost, members: members) }
        let life = self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].startMemberLifeMillis
        let leaving = self.audiences.crowds[crowd].starts.swept(
            lifeMillis: life, hasGhosts: hasMore, in: members.table, now: now)
        for member in leaving { self.leave(member, members: members, now: now) }
        self.audiences.crowds[crowd].starts.sweepWanted(now: now)
    }

    // MARK: Records

    /// Writes down what is known of a member.
    mutating func writeStartMember(_ member: MemberID, members: CrowdTable.Members, entry: EntryID = .none) {
        let (crowd, round) = self.audiences.crowds.startHome(of: member, members: members)
        var (record, number, dueCount) = self.audiences.crowds[crowd].starts.record(
            of: member, of: round, in: members.table)
        self.noteStartsDue(crowd, count: dueCount)
        record.epoch = self.memory.partitions[self.audiences.crowds[crowd].partition].epoch
        self.journal.writeStartMember(
            members.table.token(of: member), record, of: crowd, round: round, number: number, entry: entry,
            in: &self.memory, audiences: self.audiences)
    }
    /// Notes that Kafka has a member's record.
    mutating func startMemberAcknowledged(
        _ crowd: CrowdID, generation: UInt32, round: Int, number: UInt32, offset: Int64, now: EngineTime
    ) {
        guard self.audiences.crowds.contains(crowd, generation: generation) else {
            return
        }
        self.audiences.crowds[crowd].starts.memberAcknowledged(number, of: round, offset: offset)
        guard round < self.audiences.crowds[crowd].starts.rounds.count else { return }
        if self.audiences.crowds[crowd].starts.hasOrder { self.schedule(crowd, now: now) }
    }
}
