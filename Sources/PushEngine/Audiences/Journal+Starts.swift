import PushModel

/// What is written down about start members.
extension Journal {
    /// Writes the record of a membership.
    /// - Parameters:
    ///   - round: the crowd's round whose ring has the member.
    ///   - number: number of the record, counted per crowd.
    ///   - entry: one of its acknowledgements is awaited from now on; none: no event waits for it.
    mutating func writeStartMember(
        _ token: Span<UInt8>, _ member: StartMemberRecord, of crowd: CrowdID, round: Int, number: UInt32,
        entry: EntryID,
        in memory: inout ShardMemory, audiences: borrowing Audiences
    ) {
        let partition = audiences.crowds[crowd].partition
        let key = self.appendStartKey(token, of: crowd, audiences: audiences)
        let value = self.appendValue { member.write(to: &$0) }
        if entry.isSome { self.ledger.expectAcknowledgement(entry) }
        let acknowledgement = self.open(
            .crowd(
                audiences.wait(of: crowd, for: .startMember(round: UInt8(round)), number: number, entry: entry)),
            partition: partition, in: &memory)
        memory.counters.stateRecords += 1
        self.batch.append(
            .state, partition: memory.partitions[partition].number, key: key, value: value,
            acknowledgement: acknowledgement)
    }
    /// Writes the tombstone of a membership that is over.
    /// - Parameter entry: as of `writeStartMember`.
    mutating func writeStartTombstone(
        _ token: Span<UInt8>, of crowd: CrowdID, round: Int, number: UInt32, entry: EntryID,
        in memory: inout ShardMemory,
        audiences: borrowing Audiences
    ) {
        let partition = audiences.crowds[crowd].partition
        let key = self.appendStartKey(token, of: crowd, audiences: audiences)
        if entry.isSome { self.ledger.expectAcknowledgement(entry) }
        let acknowledgement = self.open(
            .crowd(
                audiences.wait(of: crowd, for: .startMember(round: UInt8(round)), number: number, entry: entry)),
            partition: partition, in: &memory)
        self.writeTombstone(key: key, of: partition, acknowledgement: acknowledgement, in: &memory)
    }
    private mutating func appendStartKey(
        _ token: Span<UInt8>, of crowd: CrowdID, audiences: borrowing Audiences
    ) -> Range<Int> {
        let start = self.batch.bytes.count
        StartMemberRecord.appendKey(reference: audiences.crowds[crowd].reference, token: token, to: &self.batch.bytes)
        return start..<self.batch.bytes.count
    }
    /// Writes how far a crowd's start is.
    mutating func writeStarts(
        _ progress: StartProgressRecord, of crowd: CrowdID, in memory: inout ShardMemory, audiences: borrowing Audiences
    ) {
        let partition = audiences.crowds[crowd].partition
        let keyStart = self.batch.bytes.count
        StateCodec.appendKey(
            .starts, bundleID: memory.configuration.apps[Int(audiences.crowds[crowd].app)].bundleID,
            id: audiences.crowds[crowd].id, to: &self.batch.bytes)
        let key = keyStart..<self.batch.bytes.count
        let value = self.appendValue { progress.write(to: &$0) }
        memory.counters.stateRecords += 1
        self.batch.append(
            .state, partition: memory.partitions[partition].number, key: key, value: value,
            acknowledgement: self.open(
                .crowd(
                    audiences.wait(
                        of: crowd, for: .startProgress, number: audiences.crowds[crowd].starts.records.progress.number)),
                partition: partition, in: &memory))
    }
    /// Writes the outcome of a start member that was not started, or whose start is unknown.
    mutating func tellFailedStart(
        _ outcome: Outcome, of order: StartOrder, audience: [UInt8], app: UInt16, details: borrowing OutcomeDetails,
        partition: PartitionIndex, in memory: inout ShardMemory
    ) {
        var version = Version()
        version.layer = order.layer
        self.tellFailure(
            outcome, of: version, audience: audience, app: app, details: details, partition: partition, in: &memory)
    }
}

extension Audiences {
    /// Until when the partition keeps start members of the crowd's audience, seconds since 1970; 0: it has none.
    func startsUntilSeconds(_ crowd: CrowdID, in memory: borrowing ShardMemory) -> Int64 {
        guard let members = self.crowds.membersIfAny(of: self.crowds[crowd].partition),
            self.crowds[crowd].starts.memberCount(in: members.table) > 0
        else { return 0 }
        let life = memory.configuration.apps[Int(self.crowds[crowd].app)].startMemberLifeMillis
        return self.crowds[crowd].starts.lastJoinSeconds + life / 1_000
    }
}
