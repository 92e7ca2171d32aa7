import PushModel

/// How start members join and leave, and their records (fan-out contract: Joins and leaves).
extension FanOut {
    // MARK: Joining

    /// Takes a join of a push-to-start token. The record's key is the token; `scratchToken` has its bytes.
    mutating func joinStart(app: UInt16, partition: PartitionIndex, in core: inout ShardCore, now: EngineTime)
        throws(EventRejection)
    {
        let reference = self.reference(app: app, in: core)
        let members = self.crowds.members(of: partition)
        let joinedSeconds = UInt32(clamping: min(core.intake.writtenMillis, now.wallMillis) / 1_000)
        var crowd = self.crowds.find(reference: reference, partition: partition) ?? .none
        let found =
            crowd.isNone
            ? .none : self.crowds.findStart(self.scratchToken.span, of: crowd)
        if found.isNone {
            try self.checkMemberCount(in: core)
            try self.checkRoom(for: self.scratchToken.span, members: members)
        }
        let isMade = crowd.isNone
        if isMade {
            crowd = self.crowds.make(app: app, id: [], reference: reference, partition: partition)
        }
        let known = self.knownEnvironments(crowd, app: app, in: core)
        let (member, isNew) = self.enter(
            crowd, environment: core.intake.event.environment, found: found, joinedSeconds: joinedSeconds,
            members: members, in: &core)
        guard member.isSome else {
            if isMade { self.crowds.remove(crowd) }
            throw EventRejection(
                field: "audience",
                reason: "this partition has as many members, or audiences, as it can hold: expected fewer")
        }
        self.crowds[crowd].startJoinTaken(seconds: joinedSeconds)
        let entry = core.journal.ledger.open(log: core.intake.log, offset: core.intake.record.offset, settled: false)
        if self.crowds[crowd].isNameless {
            self.introduce(crowd, app: app, entry: entry, in: &core, now: now)
        } else {
            self.askAgain(crowd, joining: core.intake.event.environment, known: known, entry: entry, in: &core)
        }
        var says: MemberFlags = core.intake.event.frequentUpdates ? .isFrequent : []
        if core.intake.event.channelCapable { says.formUnion(.isChannelCapable) }
        let round = self.crowds.startHome(of: member, members: members).round
        let isChanged = self.crowds[crowd].startJoined(
            member, of: round, says: says, isNew: isNew, joinedSeconds: joinedSeconds, in: &members.table, now: now)
        self.finishMemberEvent(app: app, in: &core)
        if isChanged { self.writeStartMember(member, members: members, entry: entry, in: &core, now: now) }
        core.journal.ledger.settle(entry)
        self.schedule(crowd, in: &core, now: now)
    }
    /// Takes the joining token into the crowd's ring.
    /// - Returns: the token's member, `none` if there is no room; and whether the member is new in this ring. The
    ///   member's number does not show that, because a member that changes its environment may get its old number
    ///   again.
    private mutating func enter(
        _ crowd: CrowdID, environment: PushEnvironment, found: MemberID, joinedSeconds: UInt32,
        members: CrowdTable.Members, in core: inout ShardCore
    ) -> (member: MemberID, isNew: Bool) {
        guard let (round, ring) = self.crowds.startRound(of: crowd, environment: environment) else {
            return (.none, false)
        }
        var sent = CrowdStarts.Sent()
        if found.isSome {
            // While a push to the member in its old environment is unanswered, the member stays there. Its next join
            // will move it.
            guard members.table.ring(of: found) != ring, !members.table.flags(of: found).contains(.isInFlight) else {
                return (found, false)
            }
            let other = self.crowds.startHome(of: found, members: members).round
            sent = self.crowds[crowd].startsSent(to: found, of: other, in: members.table)
            self.removeStart(found, members: members, in: &core)
        }
        let member = members.table.insert(self.scratchToken.span, in: ring, joinedSeconds: joinedSeconds)
        guard member.isSome else { return (.none, false) }
        core.memory.counters.membersHeld += 1
        self.crowds[crowd].startMoved(member, to: round, sent, in: &members.table)
        return (member, true)
    }
    private func checkMemberCount(in core: borrowing ShardCore) throws(EventRejection) {
        let most = core.memory.configuration.settings.membersMax
        let held = core.memory.counters.membersHeld
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
    /// Writes down the crowd's name, and asks the audience's owner for its versions. The event waits for both.
    mutating func introduce(
        _ crowd: CrowdID, app: UInt16, entry: EntryID, in core: inout ShardCore, now: EngineTime
    ) {
        self.crowds[crowd].named(app: app, id: Array(core.intake.event.text[core.intake.event.audienceInText.range]))
        self.readPause(crowd, in: &core)
        // The crowd may have heard that a life is over before it had a name.
        if self.crowds[crowd].knowsLife { self.writeVersions(crowd, entry: .none, in: &core) }
        self.writeProgress(crowd, entry: entry, in: &core, now: now)
        self.ask(crowd, entry: entry, joining: core.intake.event.environment, in: &core)
    }

    // MARK: Leaving

    /// Removes a push-to-start token from the audience that the event names, or from all of the app if it names none.
    /// The record's key is the token; `scratchToken` has its bytes.
    mutating func leaveStart(app: UInt16, partition: PartitionIndex, in core: inout ShardCore, now: EngineTime) {
        let entry = core.journal.ledger.open(log: core.intake.log, offset: core.intake.record.offset, settled: false)
        self.finishMemberEvent(app: app, in: &core)
        let members = self.crowds.members(of: partition)
        let reference = core.intake.event.audienceInText.isEmpty ? nil : self.reference(app: app, in: core)
        for member in members.memberships(of: self.scratchToken.span) {
            let crowd = members.ringOwners[members.table.ring(of: member).index]
            guard reference.map({ self.crowds[crowd].isNamed(by: $0) }) ?? true,
                !members.table.flags(of: member).contains(.isGhost)
            else { continue }
            self.leave(member, members: members, entry: entry, in: &core, now: now)
            self.schedule(crowd, in: &core, now: now)
        }
        core.journal.ledger.settle(entry)
    }
    /// Lets a member leave. The member stays as a ghost while the starts that it was sent have to be remembered.
    mutating func leave(
        _ member: MemberID, members: CrowdTable.Members, entry: EntryID = .none, in core: inout ShardCore,
        now: EngineTime
    ) {
        let (crowd, round) = self.crowds.startHome(of: member, members: members)
        guard let fewer = self.crowds[crowd].startLeaves(member, of: round, in: &members.table, now: now) else {
            return self.forgetStart(member, members: members, entry: entry, in: &core)
        }
        self.settleStarts(fewer, into: \.left, in: &core)
        self.writeStartMember(member, members: members, entry: entry, in: &core, now: now)
    }
    /// Writes the member's tombstone, and takes the member out of the table. The member must have no push in flight.
    mutating func forgetStart(
        _ member: MemberID, members: CrowdTable.Members, entry: EntryID = .none, in core: inout ShardCore
    ) {
        let (crowd, round) = self.crowds.startHome(of: member, members: members)
        let number = self.crowds[crowd].startTombstoneWritten()
        core.journal.writeStartTombstone(
            members.table.token(of: member), of: crowd, self.crowds[crowd], round: round, number: number, entry: entry,
            in: &core.memory)
        self.removeStart(member, members: members, in: &core)
    }
    /// Takes the member out of the table. The member must have no push in flight.
    mutating func removeStart(_ member: MemberID, members: CrowdTable.Members, in core: inout ShardCore) {
        let (crowd, round) = self.crowds.startHome(of: member, members: members)
        let fewer = self.crowds[crowd].startRemoved(member, of: round, in: &members.table)
        self.settleStarts(fewer, into: \.left, in: &core)
        core.memory.counters.membersHeld -= 1
    }
    /// Removes some start members of a crowd that is about to be removed.
    /// - Returns: whether some were removed. More may be left.
    mutating func removeSomeStarts(of crowd: CrowdID, in core: inout ShardCore) -> Bool {
        let members = self.crowds.members(of: crowd)
        let some = self.crowds[crowd].someStartMembers(in: &members.table)
        for member in some { self.forgetStart(member, members: members, in: &core) }
        return !some.isEmpty
    }
    /// Schedules another question to the owner, which has forgotten the audience. If all start members have stayed too
    /// long without joining again, they leave before the question.
    mutating func askLater(_ crowd: CrowdID, in core: borrowing ShardCore, now: EngineTime) {
        let members = self.crowds.members(of: crowd)
        self.crowds[crowd].ownerForgot(
            askingAtMillis: now.steadyMillis + Self.askAgainMillis,
            startLifeMillis: core.memory.startMemberLifeMillis(self.crowds[crowd]), in: members.table, now: now)
    }
    /// Looks through a part of a crowd for start members to remove. These are ghosts whose time is over, and members
    /// that have not joined again for very long (`start-member.life`).
    mutating func sweepStarts(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        let members = self.crowds.members(of: crowd)
        guard let (ghosts, hasMore) = self.crowds[crowd].ghostsToForget(in: members.table, now: now) else {
            return
        }
        for ghost in ghosts { self.forgetStart(ghost, members: members, in: &core) }
        let life = core.memory.startMemberLifeMillis(self.crowds[crowd])
        let leaving = self.crowds[crowd].startsSwept(lifeMillis: life, hasGhosts: hasMore, in: members.table, now: now)
        for member in leaving { self.leave(member, members: members, in: &core, now: now) }
    }

    // MARK: Records

    /// Writes down what is known of a start member.
    mutating func writeStartMember(
        _ member: MemberID, members: CrowdTable.Members, entry: EntryID = .none, in core: inout ShardCore,
        now: EngineTime
    ) {
        let (crowd, round) = self.crowds.startHome(of: member, members: members)
        if self.crowds.isServedInDoubt(member, members: members), core.memory.startTerms(self.crowds[crowd]).resends {
            // The member's own record will say that the start was sent, although the start may have to be sent again.
            // So a progress record that names the member is written first. A new owner then sends the start again.
            self.writeStarts(crowd, in: &core, now: now)
        }
        let (record, number, dueCount) = self.crowds[crowd].writeStartMember(member, of: round, in: members.table)
        self.countStartsDue(dueCount, in: &core)
        core.journal.writeStartMember(
            members.table.token(of: member), record, of: crowd, self.crowds[crowd], round: round, number: number,
            entry: entry, in: &core.memory)
    }
    /// Takes Kafka's acknowledgement of a member's record.
    mutating func startMemberAcknowledged(
        _ crowd: CrowdID, generation: UInt32, round: Int, number: UInt32, offset: Int64, in core: inout ShardCore,
        now: EngineTime
    ) {
        guard self.crowds.contains(crowd, generation: generation),
            self.crowds[crowd].startMemberAcknowledged(number, of: round, offset: offset)
        else { return }
        self.schedule(crowd, in: &core, now: now)
    }
}
