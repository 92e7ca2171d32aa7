import PushModel

/// Writes records about start members.
extension Journal {
    /// Writes the record of a membership.
    /// - Parameters:
    ///   - round: index of the crowd's round whose ring has the member.
    ///   - number: number of the record, counted per crowd.
    ///   - entry: the ledger's entry that is not resolved before Kafka has the record; `none`: no event waits for it.
    mutating func writeStartMember(
        _ token: Span<UInt8>, _ member: StartMemberRecord, of id: CrowdID, _ crowd: borrowing Crowd, round: Int,
        number: UInt32, entry: EntryID, in memory: inout ShardMemory
    ) {
        var record = member
        record.epoch = memory.partitions[crowd.partition].epoch
        let key = self.appendStartKey(token, of: crowd)
        let value = self.appendValue { record.write(to: &$0) }
        if entry.isSome { self.ledger.expectAcknowledgement(entry) }
        let wait = CrowdWait(of: id, crowd, for: .startMember(round: UInt8(round)), number: number, entry: entry)
        self.appendState(key: key, value: value, of: crowd.partition, .crowd(wait), in: &memory)
    }
    /// Writes the tombstone of a membership that is over.
    /// - Parameter entry: see `writeStartMember`.
    mutating func writeStartTombstone(
        _ token: Span<UInt8>, of id: CrowdID, _ crowd: borrowing Crowd, round: Int, number: UInt32, entry: EntryID,
        in memory: inout ShardMemory
    ) {
        let key = self.appendStartKey(token, of: crowd)
        if entry.isSome { self.ledger.expectAcknowledgement(entry) }
        let wait = CrowdWait(of: id, crowd, for: .startMember(round: UInt8(round)), number: number, entry: entry)
        let acknowledgement = self.open(.crowd(wait), partition: crowd.partition, in: &memory)
        self.writeTombstone(key: key, of: crowd.partition, acknowledgement: acknowledgement, in: &memory)
    }
    private mutating func appendStartKey(_ token: Span<UInt8>, of crowd: borrowing Crowd) -> Range<Int> {
        let start = self.batch.bytes.count
        StartMemberRecord.appendKey(reference: crowd.reference, token: token, to: &self.batch.bytes)
        return start..<self.batch.bytes.count
    }
    /// Writes the outcome of a start member whose push has failed, or has an unknown result.
    mutating func recordFailedStart(
        _ outcome: Outcome, of order: StartOrder, crowd: borrowing Crowd, details: borrowing OutcomeDetails,
        in memory: inout ShardMemory
    ) {
        var version = Version()
        version.layer = order.layer
        self.recordFailure(outcome, of: version, crowd: crowd, details: details, in: &memory)
    }
}
