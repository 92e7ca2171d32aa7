import PushModel

/// Records that are handed on: dead letters, and records that were on the wrong partition.
extension Journal {
    /// Writes a dead letter for a record that cannot be taken: key and value as they came, reason and source position
    /// in headers.
    /// - Parameters:
    ///   - record: what waits for the dead letter.
    ///   - guardedBy: the entry that the record has already; `nil`: it gets one.
    mutating func deadLetter(
        _ intake: borrowing Intake, key: Span<UInt8>, value: Span<UInt8>, refusal: EventRejection,
        as record: EventRecord = .deadLetter, of guardedBy: EntryID? = nil, in memory: inout ShardMemory
    ) {
        memory.counters.outcomes[Int(Outcome.deadLettered.rawValue)] += 1
        memory.counters.deadLetters += 1
        let entry = guardedBy ?? self.ledger.open(log: intake.log, offset: intake.record.offset, settled: true)
        self.ledger.expectAcknowledgement(entry)
        let keyRange = self.batch.append(key)
        let valueRange = self.batch.append(value)
        let reason = "\(refusal.field): \(refusal.reason)"
        if intake.record.isTraced {
            memory.traceNotes.append(.ended(.deadLettered, reason: reason, into: nil), of: intake.source)
        }
        let firstHeader = self.batch.headers.count
        self.batch.appendHeader(.reason, text: reason)
        self.batch.appendHeader(.field, text: refusal.field)
        self.appendSourceHeaders(intake.source, timestampMillis: intake.record.timestampMillis, in: memory)
        self.batch.append(
            .deadLetters, key: keyRange, value: valueRange, headers: firstHeader..<self.batch.headers.count,
            hasNoKey: !intake.record.hasKey, hasNoValue: !intake.record.hasValue,
            acknowledgement: self.expect(record, partition: intake.partition, entry: entry, in: &memory))
        guard memory.configuration.settings.outcomePublication.includes(.deadLettered) else { return }
        self.ledger.expectAcknowledgement(entry)
        var details = OutcomeDetails()
        details.reason = reason
        let value = self.appendOutcome(
            .deadLettered, kind: .activity, app: nil, key: Span(), source: intake.source, eventID: Span(),
            traceparent: intake.traceparent.span, isTraced: intake.record.isTraced, details: details, in: memory)
        self.batch.append(
            .outcomes, key: keyRange, value: value,
            headers: self.traceHeader(intake.record.isTraced, intake.traceparent.span),
            hasNoKey: !intake.record.hasKey,
            acknowledgement: self.expect(.outcome, partition: intake.partition, entry: entry, in: &memory))
    }

    /// Writes a dead letter for an event that APNs refused for good. The value is the event rebuilt from what is kept
    /// of it. Its outcome has been written.
    mutating func deadLetter(
        _ layer: Layer, of slot: SlotID, details: borrowing OutcomeDetails, in memory: inout ShardMemory
    ) {
        memory.counters.deadLetters += 1
        // The slot is alive, and so are its bytes.
        let idBytes = unsafe memory.slots.idBytes(slot)
        let keyRange = unsafe self.batch.append(Span(_unsafeElements: idBytes))
        let start = self.batch.bytes.count
        self.batch.bytes.append(utf8: "{\"event\":")
        JSONBytes.appendString(literal: layer.isEnd ? "end" : layer.isStart ? "start" : "update", to: &self.batch.bytes)
        self.batch.bytes.append(utf8: ",\"app\":")
        JSONBytes.appendString(memory.app(of: slot).bundleID, to: &self.batch.bytes)
        if memory.slots[slot].kind == .audience {
            self.batch.bytes.append(utf8: ",\"to\":{\"audience\":")
            let id = unsafe memory.slots.idBytes(slot)
            JSONBytes.appendString(unsafe Span(_unsafeElements: id), to: &self.batch.bytes)
            self.batch.bytes.append(UInt8(ascii: "}"))
        }
        if memory.slots[slot].kind == .channel {
            self.batch.bytes.append(utf8: ",\"to\":{\"channel\":")
            let id = unsafe memory.slots.idBytes(slot)
            JSONBytes.appendString(unsafe Span(_unsafeElements: id), to: &self.batch.bytes)
            self.batch.bytes.append(
                utf8: memory.slots[slot].environment == .production
                    ? ",\"environment\":\"production\"}" : ",\"environment\":\"development\"}")
        }
        self.batch.bytes.append(utf8: ",\"timestamp\":")
        // If the event's own time is not known, the time when it was taken.
        let isTimed = layer.timestampSeconds >= RecordTime.earliestSeconds
        JSONBytes.appendInteger(isTimed ? layer.timestampSeconds : layer.stampFloorSeconds, to: &self.batch.bytes)
        if !layer.eventID.isEmpty {
            self.batch.bytes.append(utf8: ",\"id\":")
            JSONBytes.appendString(layer.blob.span.extracting(layer.eventID.range), to: &self.batch.bytes)
        }
        self.appendCarried(",\"content-state\":", layer.blob.span.extracting(layer.content.contentState.range))
        if !layer.alertIsInherited { self.appendCarried(",\"alert\":", layer.blob.span.extracting(layer.alert.range)) }
        self.appendCarried(",\"relevance-score\":", layer.blob.span.extracting(layer.content.relevanceScore.range))
        self.appendOptional(",\"stale-date\":", layer.content.staleDateSeconds)
        self.appendOptional(",\"dismissal-date\":", layer.content.dismissalDateSeconds)
        self.appendOptional(",\"expires\":", layer.expirationHeaderSeconds)
        self.batch.bytes.append(UInt8(ascii: "}"))
        let valueRange = start..<self.batch.bytes.count
        let firstHeader = self.batch.headers.count
        self.batch.appendHeader(.reason, text: "APNs refused the push: \(details.status) \(details.reason)")
        self.appendSourceHeaders(layer.source, timestampMillis: layer.recordMillis, in: memory)
        let acknowledgement = self.expectGuarded(
            .deadLetter, slot: slot, stateWaits: true, in: &memory)
        self.batch.append(
            .deadLetters, key: keyRange, value: valueRange, headers: firstHeader..<self.batch.headers.count,
            acknowledgement: acknowledgement)
    }

    private mutating func appendCarried(_ name: StaticString, _ bytes: Span<UInt8>) {
        guard !bytes.isEmpty else { return }
        self.batch.bytes.append(utf8: name)
        self.batch.bytes.append(copying: bytes)
    }

    private mutating func appendOptional(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        self.batch.bytes.append(utf8: name)
        JSONBytes.appendInteger(value, to: &self.batch.bytes)
    }

    /// Forwards a record, unchanged, to the partition that its key belongs to. A header has its first position.
    mutating func forward(
        _ intake: borrowing Intake, to partition: Int32, key: Span<UInt8>, value: Span<UInt8>,
        in memory: inout ShardMemory
    ) {
        memory.counters.forwarded += 1
        memory.counters.misplaced += 1
        if intake.record.isTraced {
            memory.traceNotes.append(.forwarded(partition: partition), of: intake.source)
        }
        let entry = self.ledger.open(log: intake.log, offset: intake.record.offset, settled: true)
        self.ledger.expectAcknowledgement(entry)
        let keyRange = self.batch.append(key)
        let valueRange = self.batch.append(value)
        let firstHeader = self.batch.headers.count
        // The copy's time is the present, because a topic may refuse old times. The header has the record's own.
        self.appendSourceHeaders(intake.source, timestampMillis: intake.record.timestampMillis, in: memory)
        if !intake.traceparent.isEmpty {
            self.batch.appendTrace(intake.traceparent.span, isTraced: intake.record.isTraced)
        }
        self.batch.append(
            .routed, partition: partition, key: keyRange, value: valueRange,
            headers: firstHeader..<self.batch.headers.count,
            hasNoValue: !intake.record.hasValue,
            acknowledgement: self.expect(.routed, partition: intake.partition, entry: entry, in: &memory))
    }

    mutating func appendSourceHeaders(
        _ source: SourcePosition, timestampMillis: Int64, in memory: borrowing ShardMemory
    ) {
        self.batch.appendHeader(.topic, text: memory.configuration.inputTopics[Int(source.topic)])
        self.batch.appendHeader(.partition, number: Int64(source.partition))
        self.batch.appendHeader(.offset, number: source.offset)
        self.batch.appendHeader(.timestamp, number: timestampMillis)
    }
}
