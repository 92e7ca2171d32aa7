import PushModel

/// Start members as they are found, and their records.
extension ShardEngine {
    // MARK: Finding
    /// The token's membership in the crowd, ghosts included; none: it has none.
    func startMember(_ token: Span<UInt8>, of crowd: CrowdID) -> MemberID {
        guard let members = self.audiences.crowds.membersIfAny(of: self.audiences.crowds[crowd].partition) else {
            return .none
        }
        for round in self.audiences.crowds[crowd].starts.rounds {
            let member = members.table.find(token, in: round.ring)
            if member.isSome { return member }
        }
        return .none
    }
    /// Whose member it is, and of which of its rounds.
    func home(of member: MemberID, members: CrowdTable.Members) -> (crowd: CrowdID, round: Int) {
        let ring = members.table.ring(of: member)
        let crowd = members.ringOwners[ring.index]
        let round = self.audiences.crowds[crowd].starts.rounds.firstIndex { $0.ring == ring }
        return (crowd, round ?? 0)
    }
    /// It was sent the start that goes round, or may have been.
    func wasSentStart(_ member: MemberID, members: CrowdTable.Members) -> Bool {
        let (crowd, round) = self.home(of: member, members: members)
        guard self.audiences.crowds[crowd].starts.hasOrder else { return false }
        let flags = members.table.flags(of: member)
        if let sent = self.audiences.crowds[crowd].starts.rounds[round].ghosts[member] {
            return sent.names(self.audiences.crowds[crowd].starts.orderStamp)
        }
        if flags.contains(.isLate) || self.audiences.crowds[crowd].starts.rounds[round].retries[member] != nil {
            return false
        }
        if flags.contains(.isServedEarly) { return true }
        return !self.audiences.crowds[crowd].starts.rounds[round].isAhead(
            member, at: members.table.position(of: member))
    }
    /// A push of the start that goes round may have reached the member, although it is sent another (`start.on-unknown: resend`): one that was
    /// not answered, or one of the owner before, who announced nothing.
    func mayBeStarted(_ member: MemberID, members: CrowdTable.Members) -> Bool {
        let (crowd, round) = self.home(of: member, members: members)
        guard self.audiences.crowds[crowd].starts.hasOrder else { return false }
        if self.audiences.crowds[crowd].starts.rounds[round].maybeSent.contains(member) { return true }
        guard self.audiences.crowds[crowd].starts.mayHaveBeenSent else { return false }
        let current = self.audiences.crowds[crowd].starts.orderStamp
        let joinedSeconds = members.table.joinedSeconds(of: member)
        return self.audiences.crowds[crowd].starts.past.contains {
            $0.start.names(current) && $0.mayHaveReached(joinedSeconds: joinedSeconds)
        }
    }

    // MARK: Records
    /// Writes down what is known of a member.
    mutating func writeStartMember(_ member: MemberID, members: CrowdTable.Members, entry: EntryID = .none) {
        let (crowd, round) = self.home(of: member, members: members)
        let flags = members.table.flags(of: member)
        var record = StartCodec.Member()
        record.epoch = self.memory.partitions[self.audiences.crowds[crowd].partition].epoch
        record.environment = self.audiences.crowds[crowd].starts.rounds[round].environment
        record.isFrequent = flags.contains(.isFrequent)
        record.isChannelCapable = flags.contains(.isChannelCapable)
        record.joinedSeconds = members.table.joinedSeconds(of: member)
        let number = self.audiences.crowds[crowd].starts.memberRecordLeft()
        if flags.contains(.isGhost) {
            record.hasLeft = true
            record.mark = .sent
            record.start = self.audiences.crowds[crowd].starts.rounds[round].ghosts[member] ?? StartStamp()
        } else if self.audiences.crowds[crowd].starts.hasOrder {
            if flags.contains(.isLate) {
                record.mark = .waits
                let before = self.audiences.crowds[crowd].starts.rounds[round].waitingCount
                self.audiences.crowds[crowd].starts.rounds[round].wait(late: member, number: number)
                self.noteStartsDue(crowd, round: round, before: before)
            } else if flags.contains(.isServedEarly) {
                record.mark = .sent
            }
            if record.mark != .none { record.start = self.audiences.crowds[crowd].starts.orderStamp }
        }
        // The member's bytes stay while it is written.
        let token = unsafe members.table.tokenBytes(member)
        self.journal.writeStartMember(
            unsafe Span(_unsafeElements: token), record, of: crowd, round: round, number: number, entry: entry,
            in: &self.memory, audiences: self.audiences)
    }
    mutating func writeStartTombstone(_ member: MemberID, members: CrowdTable.Members, entry: EntryID = .none) {
        let (crowd, round) = self.home(of: member, members: members)
        let number = self.audiences.crowds[crowd].starts.memberRecordLeft()
        let token = unsafe members.table.tokenBytes(member)
        self.journal.writeStartTombstone(
            unsafe Span(_unsafeElements: token), of: crowd, round: round, number: number, entry: entry,
            in: &self.memory, audiences: self.audiences)
    }
    /// Kafka has a member's record.
    mutating func startMemberAcknowledged(
        _ crowd: CrowdID, generation: UInt32, round: Int, number: UInt32, offset: Int64, now: EngineTime
    ) {
        guard self.audiences.crowds.contains(crowd), self.audiences.crowds[crowd].generation == generation else {
            return
        }
        self.audiences.crowds[crowd].starts.memberRecordAcknowledged(number)
        guard round < self.audiences.crowds[crowd].starts.rounds.count else { return }
        self.audiences.crowds[crowd].starts.rounds[round].noteLate(number, offset: offset)
        if self.audiences.crowds[crowd].starts.hasOrder { self.schedule(crowd, now: now) }
    }
}

extension CrowdTable {
    /// The round over the crowd's start members in that environment, made when the first comes; `nil`: there are too many rings.
    mutating func startRound(of crowd: CrowdID, environment: PushEnvironment) -> Int? {
        if let index = self[crowd].starts.rounds.firstIndex(where: { $0.environment == environment }) { return index }
        let members = self.members(of: self[crowd].partition)
        let ring = members.table.makeRing(of: .start)
        guard ring.isSome else { return nil }
        while members.ringOwners.count <= ring.index { members.ringOwners.append(.none) }
        members.ringOwners[ring.index] = crowd
        self[crowd].starts.rounds.append(StartRound(ring: ring, environment: environment))
        return self[crowd].starts.rounds.count - 1
    }
}
