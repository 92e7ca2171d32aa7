import PushModel

/// Repairs records of other writers about audiences, found in a partition's `state` (contract: One owner).
extension FanOut {
    /// Repairs another writer's record about a member, a crowd or a pause, found in a gap. What this owner knows is
    /// written again.
    /// - Returns: what was done; `nil`: the key names none of these, or its app is not configured.
    mutating func repairAudience(
        partition: PartitionIndex, key: Span<UInt8>, in core: inout ShardCore, now: EngineTime
    ) -> StateRepair? {
        if key.count > 1, key[0] == MemberRecord.keyMark {
            core.memory.counters.stateRecordsForeign += 1
            return self.repairMember(key.extracting(1..<key.count), partition: partition, in: &core, now: now)
        }
        if let done = self.repairPause(partition: partition, key: key, in: &core) { return done }
        if key.count > 1, key[0] == StartMemberRecord.keyMark {
            core.memory.counters.stateRecordsForeign += 1
            return self.repairStartMember(key: key, partition: partition, in: &core, now: now)
        }
        guard let (record, app, id) = core.journal.texts.crowdKey(ofState: key) else {
            guard core.journal.texts.namesNoAudience(ofState: key) else { return nil }
            core.journal.writeTombstone(key: key, of: partition, in: &core.memory)
            return .removed
        }
        core.memory.counters.stateRecordsForeign += 1
        let reference = CrowdTable.reference(bundleID: core.intake.bundleID(app: app).span, id: id.span)
        if record == .voided {
            return self.repairVoided(key: key, reference: reference, partition: partition, in: &core)
        }
        // Records of a crowd have keys with its name. A crowd without a name cannot write its record again.
        guard let crowd = self.crowds.find(reference: reference, partition: partition), self.crowds[crowd].isNamed
        else {
            core.journal.writeTombstone(key: key, of: partition, in: &core.memory)
            return .removed
        }
        self.writeVersions(crowd, entry: .none, in: &core)
        self.writeProgress(crowd, in: &core, now: now)
        self.repairStarts(crowd, in: &core, now: now)
        return .overwritten
    }
    /// Repairs another writer's record, which says that an audience is over. Compaction may delete the records that
    /// show that the other writer had lost the partition. The other writer's record would then remove every member with
    /// an earlier record.
    private mutating func repairVoided(
        key: Span<UInt8>, reference: UInt64, partition: PartitionIndex, in core: inout ShardCore
    ) -> StateRepair {
        guard let leaving = self.crowds.leaving(reference: reference, partition: partition) else {
            core.journal.writeTombstone(key: key, of: partition, in: &core.memory)
            return .removed
        }
        // Joins of the next life may already be in `state`. A void written now would remove their members. So the
        // other writer's record stays until the last leaving member has gone.
        guard self.crowds.find(reference: reference, partition: partition) == nil else { return .ignored }
        core.journal.writeVoided(of: leaving, self.crowds[leaving], entry: .none, in: &core.memory)
        self.voids.left(partition)
        return .overwritten
    }
    private mutating func repairMember(
        _ token: Span<UInt8>, partition: PartitionIndex, in core: inout ShardCore, now: EngineTime
    ) -> StateRepair {
        let members = self.crowds.members(of: partition)
        let member = members.table.find(token)
        guard member.isSome else {
            let key = FanOut.DepartedKey(partition: partition, position: RingPosition.of(token))
            if let trace = self.leavers[key] {
                self.writeLeaver(trace, key: key, entry: .none, in: &core, now: now)
                return .overwritten
            }
            core.journal.writeMemberTombstone(token, of: partition, entry: .none, in: &core.memory)
            return .removed
        }
        let ring = members.table.ring(of: member)
        let crowd = members.ringOwners[ring.index]
        // The audience is over. If the join were written again now, it would follow the void, and count for the next
        // life. So the member is removed.
        guard !self.crowds[crowd].isOver else {
            self.remove(member, members: members, in: &core, now: now)
            return .removed
        }
        guard let pass = self.crowds[crowd].passIndex(of: ring) else { return .ignored }
        let record = JoinRecord(
            flags: members.table.flags(of: member), joinedSeconds: members.table.joinedSeconds(of: member),
            isKnown: !members.table.flags(of: member).contains(.isLate),
            owedAlertStampSeconds: self.owedAlertStampSeconds(member, of: crowd, pass: pass, in: core))
        core.journal.writeMember(
            token, record, of: crowd, self.crowds[crowd], pass: pass, entry: .none, in: &core.memory,
            forwarded: self.forwarded)
        return .overwritten
    }
}
