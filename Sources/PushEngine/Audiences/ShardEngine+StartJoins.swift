import PushModel

/// Start members that come and go (fan-out contract: Joins and leaves).
extension ShardEngine {
    /// The record's key is a push-to-start token that joins an audience. `scratchToken` has it raw.
    mutating func joinStart(app: UInt16, partition: PartitionIndex, now: EngineTime) throws(EventRejection) {
        let reference = self.reference(app: app)
        let members = self.audiences.crowds.members(of: partition)
        let joinedSeconds = UInt32(clamping: min(self.intake.writtenMillis, now.wallMillis) / 1_000)
        var crowd = self.audiences.crowds.find(reference: reference, partition: partition) ?? .none
        let found = crowd.isNone ? .none : self.startMember(self.audiences.scratchToken.span, of: crowd)
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
            if isMade { self.discard(crowd, members: members) }
            throw EventRejection(
                field: "audience",
                reason: "this partition has as many members, or audiences, as it can hold: expected fewer")
        }
        self.audiences.crowds[crowd].starts.noteJoin(seconds: joinedSeconds)
        let entry = self.journal.ledger.open(log: self.intake.log, offset: self.intake.record.offset, settled: false)
        if isMade || self.audiences.crowds[crowd].id.isEmpty {
            self.introduce(crowd, app: app, entry: entry, now: now)
        } else {
            self.askAgain(crowd, joining: self.intake.event.environment, known: known, entry: entry)
        }
        let isChanged = self.place(
            member, isNew: isNew, joinedSeconds: joinedSeconds, members: members, now: now)
        self.finishMemberEvent(app: app)
        if isChanged { self.writeStartMember(member, members: members, entry: entry) }
        self.journal.ledger.settle(entry)
        self.scheduleSweep(crowd, now: now)
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
        var (wasSent, isMaybeSent) = (false, false)
        if found.isSome {
            // A push of the other environment has to be answered first; the next join is taken as it is.
            guard members.table.ring(of: found) != ring, !members.table.flags(of: found).contains(.isInFlight) else {
                return (found, false)
            }
            wasSent = self.wasSentStart(found, members: members)
            isMaybeSent = self.mayBeStarted(found, members: members)
            self.removeStart(found, members: members)
        }
        let member = members.table.insert(self.audiences.scratchToken.span, in: ring, joinedSeconds: joinedSeconds)
        guard member.isSome else { return (.none, false) }
        self.memory.counters.membersHeld += 1
        if wasSent { self.audiences.crowds[crowd].starts.rounds[round].noteServedEarly(member, in: &members.table) }
        if isMaybeSent { self.audiences.crowds[crowd].starts.rounds[round].noteMaybeSent(member) }
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
        var count = 0
        var other = members.table.firstMembership(ofStartToken: token)
        while other.isSome {
            count += 1
            other = members.table.nextMembership(after: other)
        }
        guard count >= MemberTable.ringsOfStartTokenMax else { return }
        throw EventRejection(
            field: "audience",
            reason:
                "this start token is in \(count) audiences already, those that it left within the hour counted: expected at most \(MemberTable.ringsOfStartTokenMax)"
        )
    }
    /// A crowd that was made for a join that found no room.
    private mutating func discard(_ crowd: CrowdID, members: CrowdTable.Members) {
        for round in self.audiences.crowds[crowd].starts.rounds { members.table.removeRing(round.ring) }
        self.audiences.crowds.remove(crowd)
    }
    /// The crowd's name is written down, and its audience's owner asked. The event waits for both.
    private mutating func introduce(_ crowd: CrowdID, app: UInt16, entry: EntryID, now: EngineTime) {
        if self.audiences.crowds[crowd].id.isEmpty {
            let id = Array(self.intake.event.text[self.intake.event.audienceInText.range])
            self.audiences.crowds.name(crowd, app: app, id: id)
            self.audiences.crowds[crowd].restoredJoins = []
        }
        self.readPause(crowd)
        self.writeProgress(crowd, entry: entry, now: now)
        self.journal.ask(
            crowd, entry: entry, joining: self.intake.event.environment, in: &self.memory, audiences: self.audiences)
    }
    /// A join that says the same again is written down so often, that its life begins again; seconds.
    static var rejoinSeconds: UInt32 { 86_400 }
    /// The member is what its join says from here on.
    /// - Returns: whether anything has changed.
    private mutating func place(
        _ member: MemberID, isNew: Bool, joinedSeconds: UInt32, members: CrowdTable.Members, now: EngineTime
    ) -> Bool {
        let (crowd, round) = self.home(of: member, members: members)
        let before = members.table.flags(of: member)
        var flags = before.subtracting([.isFrequent, .isChannelCapable, .isGhost])
        if self.intake.event.frequentUpdates { flags.formUnion(.isFrequent) }
        if self.intake.event.channelCapable { flags.formUnion(.isChannelCapable) }
        members.table.setFlags(flags, of: member)
        var isChanged = isNew || flags != before
        self.audiences.crowds[crowd].starts.forgetPast(nowMillis: now.steadyMillis)
        // What it was sent within the hour is told by when it joined.
        if !isNew, self.audiences.crowds[crowd].starts.past.isEmpty,
            joinedSeconds >= members.table.joinedSeconds(of: member) &+ Self.rejoinSeconds
        {
            members.table.setJoinedSeconds(joinedSeconds, of: member)
            isChanged = true
        }
        let ghost = self.audiences.crowds[crowd].starts.rounds[round].ghosts.removeValue(forKey: member)
        guard isNew || before.contains(.isGhost), self.audiences.crowds[crowd].starts.hasOrder,
            !(ghost?.names(self.audiences.crowds[crowd].starts.orderStamp) ?? false), !flags.contains(.isServedEarly)
        else { return isChanged }
        // It has not been sent what goes round, whatever else.
        members.table.insertFlag(.isLate, of: member)
        return true
    }

    // MARK: Leaving
    /// The record's key is a push-to-start token, which leaves one audience or all. `scratchToken` has it raw.
    mutating func leaveStart(app: UInt16, partition: PartitionIndex, now: EngineTime) {
        let entry = self.journal.ledger.open(log: self.intake.log, offset: self.intake.record.offset, settled: false)
        self.finishMemberEvent(app: app)
        let members = self.audiences.crowds.members(of: partition)
        let reference = self.intake.event.audienceInText.isEmpty ? nil : self.reference(app: app)
        for member in self.memberships(of: self.audiences.scratchToken.span, members: members) {
            let crowd = members.ringOwners[members.table.ring(of: member).index]
            guard reference == nil || self.audiences.crowds[crowd].reference == reference,
                !members.table.flags(of: member).contains(.isGhost)
            else { continue }
            self.leave(member, members: members, entry: entry, now: now)
            self.schedule(crowd, now: now)
        }
        self.journal.ledger.settle(entry)
    }
    func memberships(of token: Span<UInt8>, members: CrowdTable.Members) -> [MemberID] {
        var all: [MemberID] = []
        var member = members.table.firstMembership(ofStartToken: token)
        while member.isSome {
            all.append(member)
            member = members.table.nextMembership(after: member)
        }
        return all
    }
    /// A member leaves. While it has to be remembered what it was sent, it stays as a ghost.
    mutating func leave(
        _ member: MemberID, members: CrowdTable.Members, entry: EntryID = .none, now: EngineTime
    ) {
        let wasSent = self.wasSentStart(member, members: members)
        guard let sent = self.sentStart(member, wasSent: wasSent, members: members, now: now) else {
            self.writeStartTombstone(member, members: members, entry: entry)
            return self.removeStart(member, members: members)
        }
        let (crowd, round) = self.home(of: member, members: members)
        let before = self.audiences.crowds[crowd].starts.rounds[round].waitingCount
        self.owesNoStart(member, of: crowd, round: round, members: members)
        self.settleStarts(crowd, round: round, before: before, into: \.left)
        members.table.insertFlag(.isGhost, of: member)
        self.audiences.crowds[crowd].starts.rounds[round].ghosts[member] = sent
        self.writeStartMember(member, members: members, entry: entry)
        self.scheduleSweep(crowd, now: now)
    }
    /// The newest start that the member was sent, or may have been, as far as that has to be remembered.
    private mutating func sentStart(
        _ member: MemberID, wasSent: Bool, members: CrowdTable.Members, now: EngineTime
    ) -> StartStamp? {
        let crowd = self.home(of: member, members: members).crowd
        if wasSent { return self.audiences.crowds[crowd].starts.orderStamp }
        self.audiences.crowds[crowd].starts.forgetPast(nowMillis: now.steadyMillis)
        let joinedSeconds = members.table.joinedSeconds(of: member)
        let current = self.audiences.crowds[crowd].starts.orderStamp
        let past = self.audiences.crowds[crowd].starts.past.last {
            !$0.start.names(current) && $0.mayHaveReached(joinedSeconds: joinedSeconds)
        }
        if let past { return past.start }
        // It is sent the one that goes round again, should it come back, and keeps its place for what counts within the hour.
        if self.mayBeStarted(member, members: members) { return StartStamp() }
        // Its number is kept until the answer comes.
        return members.table.flags(of: member).contains(.isInFlight) ? StartStamp() : nil
    }
    /// The round does not come to it any more, and it does not wait.
    private mutating func owesNoStart(
        _ member: MemberID, of crowd: CrowdID, round: Int, members: CrowdTable.Members
    ) {
        let flags = members.table.flags(of: member)
        let position = members.table.position(of: member)
        if flags.contains(.isLate) {
            self.audiences.crowds[crowd].starts.rounds[round].forgetLate(member, in: &members.table)
        } else if self.audiences.crowds[crowd].starts.rounds[round].retries[member] != nil {
            self.audiences.crowds[crowd].starts.rounds[round].retries.remove(member)
        } else if flags.isDisjoint(with: [.isServedEarly, .isGhost]),
            self.audiences.crowds[crowd].starts.rounds[round].isUnderWay,
            self.audiences.crowds[crowd].starts.rounds[round].isAhead(member, at: position)
        {
            self.audiences.crowds[crowd].starts.rounds[round].leftAhead(at: position)
        }
    }
    /// Takes the member out of the table. Nothing is owed to it, and no push to it is in flight.
    mutating func removeStart(_ member: MemberID, members: CrowdTable.Members) {
        let (crowd, round) = self.home(of: member, members: members)
        let before = self.audiences.crowds[crowd].starts.rounds[round].waitingCount
        self.owesNoStart(member, of: crowd, round: round, members: members)
        self.settleStarts(crowd, round: round, before: before, into: \.left)
        self.audiences.crowds[crowd].starts.rounds[round].forget(member, in: &members.table)
        members.table.remove(member)
        self.memory.counters.membersHeld -= 1
    }
}
