import PushModel

/// What is written down about audiences and members.
extension Journal {
    // MARK: Members
    /// Writes the record of a join.
    /// - Parameter entry: settled once Kafka has it.
    mutating func writeMember(
        _ token: Span<UInt8>, _ record: ShardEngine.JoinRecord, of crowd: CrowdID, pass: Int, entry: EntryID,
        in memory: inout ShardMemory, audiences: borrowing Audiences
    ) {
        let partition = audiences.crowds[crowd].partition
        let key = self.appendMemberKey(token)
        let origins = self.origins(of: token, partition: partition, audiences: audiences)
        let member = MemberRecord(
            epoch: memory.partitions[partition].epoch,
            environment: audiences.crowds[crowd].passes[pass].environment,
            isFrequent: record.flags.contains(.isFrequent), isMoved: record.flags.contains(.isMoved),
            isKnown: record.isKnown, channelNumber: audiences.crowds[crowd].passes[pass].channelNumber,
            joinedSeconds: record.joinedSeconds, reference: audiences.crowds[crowd].reference,
            origin: origins.last, formerOrigin: origins.former,
            owedAlertStampSeconds: record.owedAlertStampSeconds)
        let value = self.appendValue { member.write(to: &$0) }
        memory.counters.stateRecords += 1
        let acknowledgement =
            record.lateNumber.map { number in
                self.open(
                    .crowd(audiences.wait(of: crowd, for: .lateJoin(pass: UInt8(pass)), number: number, entry: entry)),
                    partition: partition, in: &memory)
            } ?? self.open(.logState(entry), partition: partition, in: &memory)
        self.batch.append(
            .state, partition: memory.partitions[partition].number, key: key, value: value,
            acknowledgement: acknowledgement)
    }
    /// Writes the record of a member that has left, while that is remembered.
    /// - Parameter entry: settled once Kafka has it; none: no event waits for it.
    mutating func writeLeaver(
        _ trace: RecentLeavers.Trace, leftSeconds: UInt32, of partition: PartitionIndex, entry: EntryID,
        in memory: inout ShardMemory, audiences: borrowing Audiences
    ) {
        let key = self.appendMemberKey(trace.token.span)
        let origins = self.origins(of: trace.token.span, partition: partition, audiences: audiences)
        let member = MemberRecord(
            epoch: memory.partitions[partition].epoch, joinedSeconds: leftSeconds, reference: trace.reference,
            origin: origins.last, formerOrigin: origins.former, hasLeft: true, hadTens: trace.hadTens)
        let value = self.appendValue { member.write(to: &$0) }
        memory.counters.stateRecords += 1
        self.batch.append(
            .state, partition: memory.partitions[partition].number, key: key, value: value,
            acknowledgement: self.open(.logState(entry), partition: partition, in: &memory))
    }
    /// Writes the tombstone of a member that leaves, or whose token is dead.
    /// - Parameter entry: settled once Kafka has it; none: no event waits for it.
    mutating func writeMemberTombstone(
        _ token: Span<UInt8>, of partition: PartitionIndex, entry: EntryID, in memory: inout ShardMemory
    ) {
        let key = self.appendMemberKey(token)
        self.writeTombstone(key: key, of: partition, entry: entry, in: &memory)
    }
    /// First positions of the token's last record, if it was forwarded, and of the last one from any other partition.
    private func origins(
        of token: Span<UInt8>, partition: PartitionIndex, audiences: borrowing Audiences
    ) -> (last: MemberRecord.Origin?, former: MemberRecord.Origin?) {
        guard !audiences.forwarded.isEmpty else { return (nil, nil) }
        let key = Audiences.DepartedKey(partition: partition, position: RingPosition.of(token))
        func origin(_ position: SourcePosition) -> MemberRecord.Origin {
            MemberRecord.Origin(
                topicHash: self.topicHashes[Int(position.topic)], partition: position.partition,
                offset: position.offset)
        }
        return (audiences.forwarded.last(of: key).map(origin), audiences.forwarded.former(of: key).map(origin))
    }
    private mutating func appendMemberKey(_ token: Span<UInt8>) -> Range<Int> {
        let start = self.batch.bytes.count
        self.batch.bytes.append(MemberRecord.keyMark)
        self.batch.bytes.append(copying: token)
        return start..<self.batch.bytes.count
    }
    /// Writes the outcome of a join or a leave. It names the audience, and the token by its hash alone.
    mutating func finishMemberEvent(
        _ intake: borrowing Intake, app: UInt16, outcome: Outcome, details: borrowing OutcomeDetails,
        in memory: inout ShardMemory
    ) {
        memory.counters.outcomes[Int(outcome.rawValue)] += 1
        if intake.record.isTraced { memory.noteOutcome(outcome, details, kind: .audience, of: intake.source) }
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
    /// Writes the outcome of a member that has failed for good.
    mutating func tellFailure(
        _ outcome: Outcome, of version: Version, audience: [UInt8], app: UInt16, details: borrowing OutcomeDetails,
        partition: PartitionIndex, in memory: inout ShardMemory
    ) {
        guard memory.configuration.settings.outcomePublication.includes(outcome) else { return }
        let value = self.appendOutcome(
            outcome, kind: .audience, app: app, key: audience.span, source: version.layer.source,
            eventID: version.layer.blob.span.extracting(version.layer.eventID.range), traceparent: Span(),
            isTraced: false, details: details, in: memory)
        let key = self.appendHash(details.tokenHash)
        self.batch.append(
            .outcomes, key: key, value: value,
            acknowledgement: self.open(.logRecord(.outcome, .none), partition: partition, in: &memory))
    }

    // MARK: Crowds
    private mutating func appendCrowdKey(
        _ record: StateCodec.CrowdRecord, _ crowd: CrowdID, audiences: borrowing Audiences,
        in memory: borrowing ShardMemory
    ) -> Range<Int> {
        let start = self.batch.bytes.count
        StateCodec.appendKey(
            record, bundleID: memory.configuration.apps[Int(audiences.crowds[crowd].app)].bundleID,
            id: audiences.crowds[crowd].id, to: &self.batch.bytes)
        return start..<self.batch.bytes.count
    }
    private mutating func appendState(
        key: Range<Int>, value: Range<Int>, of partition: PartitionIndex, acknowledgement: UInt64,
        in memory: inout ShardMemory
    ) {
        memory.counters.stateRecords += 1
        self.batch.append(
            .state, partition: memory.partitions[partition].number, key: key, value: value,
            acknowledgement: acknowledgement)
    }
    /// Writes the versions that a crowd is sent.
    /// - Parameter entry: settled once Kafka has it.
    mutating func writeVersions(
        _ crowd: CrowdID, entry: EntryID, in memory: inout ShardMemory, audiences: borrowing Audiences
    ) {
        let partition = audiences.crowds[crowd].partition
        let key = self.appendCrowdKey(.versions, crowd, audiences: audiences, in: memory)
        let record = audiences.crowds[crowd].versionsRecord(epoch: memory.partitions[partition].epoch)
        let topicHashes = self.topicHashes
        let value = self.appendValue { record.write(topicHashes: topicHashes, to: &$0) }
        self.appendState(
            key: key, value: value, of: partition,
            acknowledgement: self.open(
                .crowd(
                    audiences.wait(
                        of: crowd, for: .versions, number: audiences.crowds[crowd].records.versionsNumber, entry: entry)
                ),
                partition: partition, in: &memory),
            in: &memory)
        self.batch.isUrgent = true
    }
    mutating func writeProgress(
        _ progress: PassesRecord, of crowd: CrowdID, entry: EntryID, in memory: inout ShardMemory,
        audiences: borrowing Audiences
    ) {
        let partition = audiences.crowds[crowd].partition
        let key = self.appendCrowdKey(.progress, crowd, audiences: audiences, in: memory)
        let value = self.appendValue { progress.write(to: &$0) }
        let acknowledgement = self.open(
            .crowd(
                audiences.wait(
                    of: crowd, for: .progress, number: audiences.crowds[crowd].records.progress.number, entry: entry)),
            partition: partition, in: &memory)
        if entry.isSome { self.ledger.expectAcknowledgement(entry) }
        self.appendState(
            key: key, value: value, of: partition, acknowledgement: acknowledgement,
            in: &memory)
    }
    /// Writes that members whose records are before this one are no longer members.
    mutating func writeVoided(
        _ crowd: CrowdID, entry: EntryID, in memory: inout ShardMemory, audiences: borrowing Audiences
    ) {
        let partition = audiences.crowds[crowd].partition
        let key = self.appendCrowdKey(.voided, crowd, audiences: audiences, in: memory)
        let record = VoidedRecord(
            epoch: memory.partitions[partition].epoch, life: audiences.crowds[crowd].versions.life)
        let value = self.appendValue { record.write(to: &$0) }
        self.appendState(
            key: key, value: value, of: partition,
            acknowledgement: self.open(
                .crowd(audiences.wait(of: crowd, for: .voided, entry: entry)), partition: partition, in: &memory),
            in: &memory)
        self.batch.isUrgent = true
    }
    /// Writes tombstones: the last member of a voided audience has gone.
    /// - Parameter keepsOthers: whether another crowd of the same audience exists by now, so that its records stay.
    mutating func writeCrowdTombstones(
        _ crowd: CrowdID, keepsOthers: Bool, in memory: inout ShardMemory, audiences: borrowing Audiences
    ) {
        guard !audiences.crowds[crowd].id.isEmpty else { return }
        for record in StateCodec.CrowdRecord.allCases where record == .voided || !keepsOthers {
            let key = self.appendCrowdKey(record, crowd, audiences: audiences, in: memory)
            self.writeTombstone(key: key, of: audiences.crowds[crowd].partition, entry: .none, in: &memory)
        }
    }

    // MARK: The bus
    /// Asks the audience's owner for its newest version.
    /// - Parameter entry: resolved after Kafka has the question; none: no event waits for it.
    /// - Parameter joining: where the member is that joins just now.
    mutating func ask(
        _ crowd: CrowdID, entry: EntryID, joining: PushEnvironment? = nil, in memory: inout ShardMemory,
        audiences: borrowing Audiences
    ) {
        let partition = audiences.crowds[crowd].partition
        let id = audiences.crowds[crowd].id
        var question = BusRecord.Question(
            bundleID: Array(memory.configuration.apps[Int(audiences.crowds[crowd].app)].bundleID.utf8),
            partition: memory.partitions[partition].number, life: audiences.crowds[crowd].versions.life,
            lastJoinSeconds: audiences.crowds[crowd].lastJoinSeconds,
            startsUntilSeconds: audiences.startsUntilSeconds(crowd, in: memory))
        if memory.configuration.apps[Int(audiences.crowds[crowd].app)].audienceChannel == .auto {
            question.environments = audiences.crowds[crowd].environments
            if let joining { question.environments |= AudienceChannels.bit(joining) }
        }
        let asked = question
        if entry.isSome { self.ledger.expectAcknowledgement(entry) }
        let acknowledgement = self.open(.logRecord(.routed, entry), partition: partition, in: &memory)
        self.writeBus(
            .question, id: id.span, to: Murmur2.partition(key: id.span, count: memory.configuration.partitionCount),
            acknowledgement: acknowledgement
        ) { asked.write(to: &$0) }
    }
    mutating func report(
        _ report: BusRecord.Report, of crowd: CrowdID, in memory: inout ShardMemory, audiences: borrowing Audiences
    ) {
        let id = audiences.crowds[crowd].id
        let acknowledgement = self.open(
            .logRecord(.routed, .none), partition: audiences.crowds[crowd].partition, in: &memory)
        self.writeBus(
            .report, id: id.span, to: Murmur2.partition(key: id.span, count: memory.configuration.partitionCount),
            acknowledgement: acknowledgement
        ) { report.write(to: &$0) }
    }
    /// Sends versions to a partition.
    mutating func tell(
        _ versions: [Version], bundleID: [UInt8], id: Span<UInt8>, to partition: Int32, acknowledgement: UInt64
    ) {
        let topicHashes = self.topicHashes
        self.writeBus(
            .version, id: id, to: partition,
            acknowledgement: acknowledgement
        ) { BusRecord.Versions(bundleID: bundleID, versions: versions).write(topicHashes: topicHashes, to: &$0) }
    }
    mutating func tellVoid(
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

extension Audiences {
    /// What a crowd waits for from now on.
    func wait(
        of crowd: CrowdID, for record: CrowdWait.Record, number: UInt32 = 0, entry: EntryID = .none
    ) -> CrowdWait {
        CrowdWait(
            crowd: crowd, generation: self.crowds[crowd].generation, record: record, number: number, entry: entry)
    }
}
