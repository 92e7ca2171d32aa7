import PushModel

/// Restores start members from `state` after a takeover. Also handles voids of their audiences, and other writers'
/// records about start members.
extension FanOut {
    // MARK: Reading

    /// Restores a start member's record.
    mutating func restoreStartMember(
        key: Span<UInt8>, reader: inout StateReader, partition: PartitionIndex, offset: Int64, in core: inout ShardCore
    ) throws(StateError) -> RestoreResult? {
        guard let range = StartMemberRecord.tokenRange(inKey: key) else {
            throw .malformed("a start member under a key that names none")
        }
        let record = try StartMemberRecord(&reader)
        guard core.memory.isBelieved(record.epoch, partition: partition) else { return nil }
        let reference = StartMemberRecord.reference(inKey: key)
        let crowd = self.crowds.restored(reference: reference, partition: partition)
        // A member for which there is no room is not ignored: the partition stops, as it does for update members.
        guard let (round, ring) = self.crowds.startRound(of: crowd, environment: record.environment) else {
            throw .malformed("start members of one audience more than a partition can hold")
        }
        let members = self.crowds.members(of: partition)
        let token = key.extracting(range)
        var member = self.crowds.findStart(token, of: crowd)
        if member.isSome, members.table.ring(of: member) != ring {
            self.removeStart(member, members: members, in: &core)
            member = .none
        }
        if member.isNone {
            member = members.table.insert(token, in: ring, joinedSeconds: record.joinedSeconds)
            guard member.isSome else {
                throw .malformed("one start member more than a partition, or its token, can be")
            }
            core.memory.counters.membersHeld += 1
        }
        self.crowds[crowd].restored(member, of: round, record, offset: offset, in: &members.table)
        return .restored
    }
    /// Restores a start member's tombstone.
    mutating func restoreStartTombstone(key: Span<UInt8>, partition: PartitionIndex, in core: inout ShardCore) {
        let member = self.startNamed(byKey: key, partition: partition)
        if member.isSome { self.removeStart(member, members: self.crowds.members(of: partition), in: &core) }
    }
    /// The member that a record's key names; `none`: the key names no known member.
    private func startNamed(byKey key: Span<UInt8>, partition: PartitionIndex) -> MemberID {
        guard let range = StartMemberRecord.tokenRange(inKey: key),
            let crowd = self.crowds.find(reference: StartMemberRecord.reference(inKey: key), partition: partition)
        else { return .none }
        return self.crowds.findStart(key.extracting(range), of: crowd)
    }

    // MARK: Voids

    /// Moves start members of a crowd whose audience is over to a new crowd of the same name, if there are any. The new
    /// crowd's name is written down, and the owner is asked soon.
    mutating func carryStarts(from old: CrowdID, in core: inout ShardCore, now: EngineTime) {
        guard let crowd = self.crowds.moveStarts(from: old, pushes: &self.pushes) else { return }
        self.readPause(crowd, in: &core)
        // Without this record, versions from before the void would be taken for new ones once the void's own record has
        // gone.
        self.writeVersions(crowd, entry: .none, in: &core)
        self.writeProgress(crowd, in: &core, now: now)
        self.crowds[crowd].startsProgressed()
        self.askLater(crowd, in: core, now: now)
        self.schedule(crowd, in: &core, now: now)
    }

    // MARK: Leaving, and records of others
    /// Repairs another writer's record about a start member.
    mutating func repairStartMember(
        key: Span<UInt8>, partition: PartitionIndex, in core: inout ShardCore, now: EngineTime
    ) -> StateRepair {
        guard StartMemberRecord.tokenRange(inKey: key) != nil else { return .ignored }
        var member = self.startNamed(byKey: key, partition: partition)
        if member.isNone, let range = StartMemberRecord.tokenRange(inKey: key),
            let crowd = self.crowds.leaving(reference: StartMemberRecord.reference(inKey: key), partition: partition)
        {
            // When an audience is over, its start members stay in the old crowd until Kafka has the void. Then they
            // move to another crowd.
            member = self.crowds.findStart(key.extracting(range), of: crowd)
        }
        guard member.isSome else {
            core.journal.writeTombstone(key: key, of: partition, in: &core.memory)
            return .removed
        }
        self.writeStartMember(member, members: self.crowds.members(of: partition), in: &core, now: now)
        return .overwritten
    }
}
