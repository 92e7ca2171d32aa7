import PushModel

/// Restores start members from `state` after a takeover. Also handles voids, and records of others about them.
extension ShardEngine {
    // MARK: Reading

    /// Restores a membership's record.
    mutating func restoreStartMember(
        key: Span<UInt8>, reader: inout StateReader, partition: PartitionIndex, offset: Int64
    ) throws(StateError) -> RestoreResult? {
        guard let range = StartMemberRecord.tokenRange(inKey: key) else {
            throw .malformed("a start member under a key that names none")
        }
        let record = try StartMemberRecord(&reader)
        guard self.memory.isBelieved(record.epoch, partition: partition) else { return nil }
        let reference = StartMemberRecord.reference(inKey: key)
        let crowd =
            self.audiences.crowds.find(reference: reference, partition: partition)
            ?? self.audiences.crowds.make(app: 0, id: [], reference: reference, partition: partition)
        // A member without room is not ignored: the partition stops, as it does for update members.
        guard let round = self.audiences.crowds.startRound(of: crowd, environment: record.environment) else {
            throw .malformed("start members of one audience more than a partition can hold")
        }
        let members = self.audiences.crowds.members(of: partition)
        let ring = self.audiences.crowds[crowd].starts.rounds[round].ring
        let token = key.extracting(range)
        var member = self.audiences.crowds.findStart(token, of: crowd)
        if member.isSome, members.table.ring(of: member) != ring {
            self.removeStart(member, members: members)
            member = .none
        }
        if member.isNone {
            member = members.table.insert(token, in: ring, joinedSeconds: record.joinedSeconds)
            guard member.isSome else {
                throw .malformed("one start member more than a partition, or its token, can be")
            }
            self.memory.counters.membersHeld += 1
        }
        self.audiences.crowds[crowd].starts.memberRead(
            member, of: round, record, offset: offset, in: &members.table)
        return .restored
    }
    /// Restores a membership's tombstone.
    mutating func restoreStartTombstone(key: Span<UInt8>, partition: PartitionIndex) {
        let member = self.startNamed(byKey: key, partition: partition)
        if member.isSome { self.removeStart(member, members: self.audiences.crowds.members(of: partition)) }
    }
    /// The member that the key of a record names; none: it names none that is known.
    private func startNamed(byKey key: Span<UInt8>, partition: PartitionIndex) -> MemberID {
        guard let range = StartMemberRecord.tokenRange(inKey: key),
            let crowd = self.audiences.crowds.find(
                reference: StartMemberRecord.reference(inKey: key), partition: partition)
        else { return .none }
        return self.audiences.crowds.findStart(key.extracting(range), of: crowd)
    }
    /// Ends the restore when the last record has been read.
    mutating func settleRestoredStarts(_ crowd: CrowdID, now: EngineTime) {
        let resends = self.startTerms(crowd).resends
        self.audiences.crowds[crowd].starts.restoreOver(resends: resends, now: now)
    }

    // MARK: Voids

    /// Moves start members of a crowd whose audience is over to a new one of the same name, if there are some. Its name
    /// is written down, and the owner asked soon.
    mutating func carryStarts(from old: CrowdID, now: EngineTime) {
        guard let crowd = self.audiences.crowds.moveStarts(from: old, pushes: &self.audiences.pushes) else { return }
        self.readPause(crowd)
        // Once the void's own record has gone, the versions before it would be taken for new.
        self.writeVersions(crowd, entry: .none)
        self.writeProgress(crowd, now: now)
        self.audiences.crowds[crowd].starts.progressed()
        self.sweepAfterVoid(crowd, now: now)
        self.audiences.crowds[crowd].ask(atMillis: now.steadyMillis + Self.askAgainMillis)
        self.schedule(crowd, now: now)
    }

    // MARK: Leaving, and records of others
    /// Forgets start members: the crowd leaves memory with its partition.
    mutating func forgetStarts(_ crowd: CrowdID) {
        let waiting = self.audiences.crowds[crowd].starts.waitingCount
        self.memory.counters.startMembers.handedOver &+= UInt64(truncatingIfNeeded: waiting)
        self.memory.counters.startMembers.waiting &-= UInt64(truncatingIfNeeded: waiting)
    }
    /// Repairs a record that another has written about a start member.
    mutating func repairStartMember(key: Span<UInt8>, partition: PartitionIndex) -> StateRepair {
        guard StartMemberRecord.tokenRange(inKey: key) != nil else { return .ignored }
        let member = self.startNamed(byKey: key, partition: partition)
        guard member.isSome else {
            self.journal.writeTombstone(key: key, of: partition, in: &self.memory)
            return .removed
        }
        self.writeStartMember(member, members: self.audiences.crowds.members(of: partition))
        return .overwritten
    }
}
