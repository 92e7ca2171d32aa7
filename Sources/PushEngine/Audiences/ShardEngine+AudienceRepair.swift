import PushModel

/// Repairs records of others about audiences, found in a partition's `state` (contract: One owner).
extension ShardEngine {
    /// Repairs a record that another has written about a member or a crowd, found in a gap. What this owner knows is
    /// written again.
    /// - Returns: `nil`: the key names neither.
    mutating func repairAudience(
        partition: PartitionIndex, key: Span<UInt8>, now: EngineTime
    ) -> StateRepair? {
        if key.count > 1, key[0] == MemberRecord.keyMark {
            self.memory.counters.stateRecordsForeign += 1
            return self.repairMember(key.extracting(1..<key.count), partition: partition, now: now)
        }
        if let done = self.repairPause(partition: partition, key: key) { return done }
        if key.count > 1, key[0] == StartMemberRecord.keyMark {
            self.memory.counters.stateRecordsForeign += 1
            return self.repairStartMember(key: key, partition: partition)
        }
        guard let (record, app, id) = self.journal.texts.crowdKey(ofState: key) else { return nil }
        self.memory.counters.stateRecordsForeign += 1
        let reference = CrowdTable.reference(bundleID: self.intake.bundleID(app: app).span, id: id.span)
        if record == .voided { return self.repairVoided(key: key, reference: reference, partition: partition) }
        guard let crowd = self.audiences.crowds.find(reference: reference, partition: partition) else {
            self.journal.writeTombstone(key: key, of: partition, in: &self.memory)
            return .removed
        }
        self.writeVersions(crowd, entry: .none)
        self.writeProgress(crowd, now: now)
        self.repairStarts(crowd, now: now)
        return .overwritten
    }
    /// Repairs another's record that an audience was over. Compaction may delete what shows that it was too late. It
    /// would then remove every member whose record is before it.
    private mutating func repairVoided(
        key: Span<UInt8>, reference: UInt64, partition: PartitionIndex
    ) -> StateRepair {
        let leaving = self.audiences.crowds.crowds(of: partition).first {
            self.audiences.crowds[$0].standing.isOver && self.audiences.crowds[$0].reference == reference
                && !self.audiences.crowds[$0].id.isEmpty
        }
        guard let leaving else {
            self.journal.writeTombstone(key: key, of: partition, in: &self.memory)
            return .removed
        }
        // Joins of the next life may be before a record written now. Then it stays until the last leaving member has
        // gone.
        guard self.audiences.crowds.find(reference: reference, partition: partition) == nil else { return .ignored }
        self.journal.writeVoided(leaving, entry: .none, in: &self.memory, audiences: self.audiences)
        self.audiences.voids.left(partition)
        return .overwritten
    }
    private mutating func repairMember(
        _ token: Span<UInt8>, partition: PartitionIndex, now: EngineTime
    ) -> StateRepair {
        let members = self.audiences.crowds.members(of: partition)
        let member = members.table.find(token)
        guard member.isSome else {
            let key = Audiences.DepartedKey(partition: partition, position: RingPosition.of(token))
            if let trace = self.audiences.leavers[key] {
                self.writeLeaver(trace, key: key, entry: .none, now: now)
                return .overwritten
            }
            self.journal.writeMemberTombstone(token, of: partition, entry: .none, in: &self.memory)
            return .removed
        }
        let ring = members.table.ring(of: member)
        let crowd = members.ringOwners[ring.index]
        guard let pass = self.audiences.crowds[crowd].passes.firstIndex(where: { $0.ring == ring }) else {
            return .ignored
        }
        let record = JoinRecord(
            flags: members.table.flags(of: member), joinedSeconds: members.table.joinedSeconds(of: member),
            isKnown: !members.table.flags(of: member).contains(.isLate),
            owedAlertStampSeconds: self.owedAlertStampSeconds(member, of: crowd, pass: pass))
        self.journal.writeMember(
            token, record, of: crowd, pass: pass, entry: .none, in: &self.memory, audiences: self.audiences)
        return .overwritten
    }
}
