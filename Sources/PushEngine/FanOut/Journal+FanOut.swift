import PushModel

/// Writes records about audiences and members.
extension Journal {
    // MARK: Members
    /// Writes the record of a join.
    /// - Parameter entry: settled once Kafka has the record.
    mutating func writeMember(
        _ token: Span<UInt8>, _ record: FanOut.JoinRecord, of id: CrowdID, _ crowd: borrowing Crowd, pass: Int,
        entry: EntryID, in memory: inout ShardMemory, forwarded: borrowing ForwardedRecords
    ) {
        let partition = crowd.partition
        let key = self.appendMemberKey(token)
        let origins = self.origins(of: token, partition: partition, forwarded: forwarded)
        let member = MemberRecord(
            epoch: memory.partitions[partition].epoch, environment: crowd.passes[pass].environment,
            isFrequent: record.flags.contains(.isFrequent), isMoved: record.flags.contains(.isMoved),
            isKnown: record.isKnown, channelNumber: crowd.passes[pass].channelNumber,
            joinedSeconds: record.joinedSeconds, reference: crowd.reference, origin: origins.last,
            formerOrigin: origins.former,
            owedAlertStampSeconds: record.owedAlertStampSeconds)
        let value = self.appendValue { member.write(to: &$0) }
        var waiter = Waiter.logState(entry)
        if let number = record.lateNumber {
            waiter = .crowd(CrowdWait(of: id, crowd, for: .lateJoin(pass: UInt8(pass)), number: number, entry: entry))
        }
        self.appendState(key: key, value: value, of: partition, waiter, in: &memory)
    }
    /// Writes the record of a member that has left. It is kept while the leave has to be remembered.
    /// - Parameter entry: settled once Kafka has the record; `none`: no event waits for it.
    mutating func writeLeaver(
        _ trace: RecentLeavers.Trace, leftSeconds: UInt32, of partition: PartitionIndex, entry: EntryID,
        in memory: inout ShardMemory, forwarded: borrowing ForwardedRecords
    ) {
        let key = self.appendMemberKey(trace.token.span)
        let origins = self.origins(of: trace.token.span, partition: partition, forwarded: forwarded)
        let member = MemberRecord(
            epoch: memory.partitions[partition].epoch, joinedSeconds: leftSeconds, reference: trace.reference,
            origin: origins.last, formerOrigin: origins.former, hasLeft: true, hadTens: trace.hadTens)
        let value = self.appendValue { member.write(to: &$0) }
        self.appendState(key: key, value: value, of: partition, .logState(entry), in: &memory)
    }
    /// Writes the tombstone of a member that leaves, or whose token is dead.
    /// - Parameter entry: settled once Kafka has the tombstone; `none`: no event waits for it.
    mutating func writeMemberTombstone(
        _ token: Span<UInt8>, of partition: PartitionIndex, entry: EntryID, in memory: inout ShardMemory
    ) {
        let key = self.appendMemberKey(token)
        self.writeTombstone(key: key, of: partition, entry: entry, in: &memory)
    }
    /// First positions of two forwarded records of the token: the last one, and the last one from any other partition.
    /// See `ForwardedRecords`.
    private func origins(
        of token: Span<UInt8>, partition: PartitionIndex, forwarded: borrowing ForwardedRecords
    ) -> (last: MemberRecord.Origin?, former: MemberRecord.Origin?) {
        guard !forwarded.isEmpty else { return (nil, nil) }
        let key = FanOut.DepartedKey(partition: partition, position: RingPosition.of(token))
        func origin(_ position: SourcePosition) -> MemberRecord.Origin {
            MemberRecord.Origin(
                topicHash: self.topicHashes[Int(position.topic)], partition: position.partition,
                offset: position.offset)
        }
        return (forwarded.last(of: key).map(origin), forwarded.former(of: key).map(origin))
    }
    private mutating func appendMemberKey(_ token: Span<UInt8>) -> Range<Int> {
        let start = self.batch.bytes.count
        self.batch.bytes.append(MemberRecord.keyMark)
        self.batch.bytes.append(copying: token)
        return start..<self.batch.bytes.count
    }
    /// Writes the outcome of a join or a leave. It names the audience, and only a hash of the token.
    mutating func finishMemberEvent(
        _ intake: borrowing Intake, app: UInt16, outcome: Outcome, details: borrowing OutcomeDetails,
        in memory: inout ShardMemory
    ) {
        memory.counters.outcomes[Int(outcome.rawValue)] += 1
        if intake.record.isTraced { memory.addOutcome(outcome, details, kind: .audience, of: intake.source) }
        guard memory.configuration.settings.outcomePublication.includes(outcome) else { return }
        let entry = self.ledger.open(log: intake.log, offset: intake.record.offset, settled: true)
        self.ledger.expectAcknowledgement(entry)
        let event = intake.event.text.span
        let value = self.appendOutcome(
            outcome, kind: .audience, app: app, key: event.extracting(intake.event.audienceInText.range),
            source: intake.source, eventID: event.extracting(intake.event.eventIDInText.range),
            traceparent: intake.traceparent.span, isTraced: intake.record.isTraced, details: details, in: memory)
        let key = self.appendHash(details.tokenHash)
        self.batch.append(
            .outcomes, key: key, value: value,
            headers: self.traceHeader(intake.record.isTraced, intake.traceparent.span),
            acknowledgement: self.expect(.outcome, partition: intake.partition, entry: entry, in: &memory))
    }
    private mutating func appendHash(_ hash: UInt64) -> Range<Int> {
        let start = self.batch.bytes.count
        Hex.append(hash, to: &self.batch.bytes)
        return start..<self.batch.bytes.count
    }
    /// Writes the outcome of a member whose push failed for good, or has an unknown result.
    mutating func recordFailure(
        _ outcome: Outcome, of version: Version, crowd: borrowing Crowd, details: borrowing OutcomeDetails,
        in memory: inout ShardMemory
    ) {
        guard memory.configuration.settings.outcomePublication.includes(outcome) else { return }
        let value = self.appendOutcome(
            outcome, kind: .audience, app: crowd.app, key: crowd.id.span, source: version.layer.source,
            eventID: version.layer.blob.span.extracting(version.layer.eventID.range), traceparent: Span(),
            isTraced: false, details: details, in: memory)
        let key = self.appendHash(details.tokenHash)
        self.batch.append(
            .outcomes, key: key, value: value,
            acknowledgement: self.open(.logRecord(.outcome, .none), partition: crowd.partition, in: &memory))
    }

    // MARK: Crowds
    private mutating func appendCrowdKey(
        _ record: StateCodec.CrowdRecord, of crowd: borrowing Crowd, in memory: borrowing ShardMemory
    ) -> Range<Int> {
        let start = self.batch.bytes.count
        StateCodec.appendKey(
            record, bundleID: memory.configuration.apps[Int(crowd.app)].bundleID, id: crowd.id, to: &self.batch.bytes)
        return start..<self.batch.bytes.count
    }
    /// Appends a record of `state`, and opens its acknowledgement.
    @inline(__always) mutating func appendState(
        key: Range<Int>, value: Range<Int>, of partition: PartitionIndex, _ waiter: Waiter, in memory: inout ShardMemory
    ) {
        memory.counters.stateRecords += 1
        self.batch.append(
            .state, partition: memory.partitions[partition].number, key: key, value: value,
            acknowledgement: self.open(waiter, partition: partition, in: &memory))
    }
    /// Writes a record about a crowd. The crowd waits until Kafka has the record.
    private mutating func writeCrowd(
        _ record: StateCodec.CrowdRecord, of crowd: borrowing Crowd, _ wait: CrowdWait, in memory: inout ShardMemory,
        _ write: (inout ByteCursor) -> Void
    ) {
        let key = self.appendCrowdKey(record, of: crowd, in: memory)
        let value = self.appendValue(write)
        self.appendState(key: key, value: value, of: crowd.partition, .crowd(wait), in: &memory)
    }
    /// Writes the versions that a crowd is sent.
    /// - Parameter entry: settled once Kafka has the record.
    mutating func writeVersions(
        of id: CrowdID, _ crowd: borrowing Crowd, entry: EntryID, in memory: inout ShardMemory
    ) {
        let record = crowd.versionsRecord(epoch: memory.partitions[crowd.partition].epoch)
        let topicHashes = self.topicHashes
        let wait = CrowdWait(of: id, crowd, for: .versions, number: crowd.records.versionsNumber, entry: entry)
        self.writeCrowd(.versions, of: crowd, wait, in: &memory) { record.write(topicHashes: topicHashes, to: &$0) }
        self.batch.isUrgent = true
    }
    mutating func writeProgress(
        _ progress: PassesRecord, of id: CrowdID, _ crowd: borrowing Crowd, entry: EntryID, in memory: inout ShardMemory
    ) {
        if entry.isSome { self.ledger.expectAcknowledgement(entry) }
        let wait = CrowdWait(of: id, crowd, for: .progress, number: crowd.records.progress.number, entry: entry)
        self.writeCrowd(.progress, of: crowd, wait, in: &memory) { progress.write(to: &$0) }
    }
    /// Writes how far a crowd's start has got.
    mutating func writeStarts(
        _ progress: StartProgressRecord, of id: CrowdID, _ crowd: borrowing Crowd, in memory: inout ShardMemory
    ) {
        var record = progress
        record.epoch = memory.partitions[crowd.partition].epoch
        let wait = CrowdWait(of: id, crowd, for: .startProgress, number: crowd.starts.records.progress.number)
        self.writeCrowd(.starts, of: crowd, wait, in: &memory) { record.write(to: &$0) }
    }
    /// Writes a void, which ends memberships: an update member whose record has a lower offset is no longer a member.
    mutating func writeVoided(of id: CrowdID, _ crowd: borrowing Crowd, entry: EntryID, in memory: inout ShardMemory) {
        let record = VoidedRecord(epoch: memory.partitions[crowd.partition].epoch, life: crowd.versions.life)
        let wait = CrowdWait(of: id, crowd, for: .voided, entry: entry)
        self.writeCrowd(.voided, of: crowd, wait, in: &memory) { record.write(to: &$0) }
        self.batch.isUrgent = true
    }
    /// Writes the tombstone of a record about a crowd.
    mutating func writeTombstone(
        of record: StateCodec.CrowdRecord, of crowd: borrowing Crowd, in memory: inout ShardMemory
    ) {
        let key = self.appendCrowdKey(record, of: crowd, in: memory)
        self.writeTombstone(key: key, of: crowd.partition, entry: .none, in: &memory)
    }
    /// Writes tombstones for the crowd's records, because the last member of a voided audience has gone.
    /// - Parameter keepsOthers: whether another crowd of the same audience exists, whose records have to stay.
    mutating func writeTombstones(of crowd: borrowing Crowd, keepsOthers: Bool, in memory: inout ShardMemory) {
        guard !crowd.id.isEmpty else { return }
        for record in StateCodec.CrowdRecord.allCases where record == .voided || !keepsOthers {
            self.writeTombstone(of: record, of: crowd, in: &memory)
        }
    }

    // MARK: The bus
    /// Asks the audience's owner for its newest version.
    /// - Parameters:
    ///   - entry: not resolved before Kafka has the question; `none`: no event waits for the question.
    ///   - joining: environment of the member that is joining.
    ///   - members: members of the crowd's partition.
    mutating func ask(
        _ crowd: borrowing Crowd, entry: EntryID, joining: PushEnvironment?, members: CrowdTable.Members?,
        in memory: inout ShardMemory
    ) {
        var question = crowd.question(
            joining: joining, app: memory.configuration.apps[Int(crowd.app)], members: members)
        question.partition = memory.partitions[crowd.partition].number
        if entry.isSome { self.ledger.expectAcknowledgement(entry) }
        self.sendToOwner(of: crowd, .question, waiting: entry, in: &memory) { question.write(to: &$0) }
    }
    /// Reports to the audience's owner.
    mutating func report(_ counted: BusRecord.Report, of crowd: borrowing Crowd, in memory: inout ShardMemory) {
        var report = counted
        report.bundleID = Array(memory.configuration.apps[Int(crowd.app)].bundleID.utf8)
        report.partition = memory.partitions[crowd.partition].number
        self.sendToOwner(of: crowd, .report, waiting: .none, in: &memory) { report.write(to: &$0) }
    }
    private mutating func sendToOwner(
        of crowd: borrowing Crowd, _ kind: RoutedKind, waiting entry: EntryID, in memory: inout ShardMemory,
        _ write: (inout ByteCursor) -> Void
    ) {
        let id = crowd.id
        let acknowledgement = self.open(.logRecord(.routed, entry), partition: crowd.partition, in: &memory)
        self.writeBus(
            kind, id: id.span, to: Murmur2.partition(key: id.span, count: memory.configuration.partitionCount),
            acknowledgement: acknowledgement, write)
    }
    /// Sends versions to a partition.
    mutating func send(
        _ versions: [Version], bundleID: [UInt8], id: Span<UInt8>, to partition: Int32, acknowledgement: UInt64
    ) {
        let topicHashes = self.topicHashes
        self.writeBus(
            .version, id: id, to: partition,
            acknowledgement: acknowledgement
        ) { BusRecord.Versions(bundleID: bundleID, versions: versions).write(topicHashes: topicHashes, to: &$0) }
    }
    mutating func sendVoid(
        life: Int64, isEnded: Bool, bundleID: [UInt8], id: Span<UInt8>, to partition: Int32, acknowledgement: UInt64
    ) {
        self.writeBus(
            .void, id: id, to: partition,
            acknowledgement: acknowledgement
        ) { BusRecord.Void(bundleID: bundleID, life: life, isEnded: isEnded).write(to: &$0) }
    }
    mutating func writeBus(
        _ kind: RoutedKind, id: Span<UInt8>, to partition: Int32, acknowledgement: UInt64,
        _ write: (inout ByteCursor) -> Swift.Void
    ) {
        let key = self.batch.append(id)
        let value = self.appendValue(write)
        let firstHeader = self.batch.headers.count
        if let name = kind.name { self.batch.appendHeader(.kind, text: "\(name)") }
        self.batch.append(
            .routed, partition: partition, key: key, value: value,
            headers: firstHeader..<self.batch.headers.count, acknowledgement: acknowledgement)
    }
}

extension CrowdWait {
    /// Makes the wait of a crowd for Kafka's acknowledgement of one of the crowd's records.
    init(
        of id: CrowdID, _ crowd: borrowing Crowd, for record: Record, number: UInt32 = 0, entry: EntryID = .none
    ) {
        self.init(crowd: id, generation: crowd.generation, record: record, number: number, entry: entry)
    }
}
