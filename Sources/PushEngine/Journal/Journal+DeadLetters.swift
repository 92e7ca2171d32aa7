import PushModel

/// Records that are passed on: dead letters, and records that were on the wrong partition.
extension Journal {
    /// Writes a dead letter for a record that cannot be processed. The dead letter has key and value as they were read.
    /// Its headers have the reason and the source position.
    /// - Parameters:
    ///   - record: `strandedEvent` if the record is a valid event that could not be forwarded: its dead letter must not
    ///     be lost.
    ///   - guardedBy: the ledger entry that the event has already; `nil`: one is opened.
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
            memory.traceNotices.append(.ended(.deadLettered, reason: reason, into: nil), of: intake.source)
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
        // The event that was decoded last may be another event, so the id is read from the value.
        let eventID = RefusedEventID.text(in: value, framing: memory.configuration.settings.eventFraming)
        let text = self.appendOutcome(
            .deadLettered, kind: .activity, app: nil, key: Span(), source: intake.source, eventID: eventID.span,
            traceparent: intake.traceparent.span, isTraced: intake.record.isTraced, details: details, in: memory)
        self.batch.append(
            .outcomes, key: keyRange, value: text,
            headers: self.traceHeader(intake.record.isTraced, intake.traceparent.span),
            hasNoKey: !intake.record.hasKey,
            acknowledgement: self.expect(.outcome, partition: intake.partition, entry: entry, in: &memory))
    }

    /// Writes a dead letter for an event that APNs refused for good. The value is the event, rebuilt from what the slot
    /// keeps. The caller has written the event's outcome.
    mutating func deadLetter(
        _ layer: Layer, of slot: SlotID, details: borrowing OutcomeDetails, in memory: inout ShardMemory
    ) {
        memory.counters.deadLetters += 1
        // The slot is live, so its bytes are valid.
        let idBytes = unsafe memory.slots.idBytes(slot)
        let keyRange = unsafe self.batch.append(Span(_unsafeElements: idBytes))
        let start = self.batch.bytes.count
        JSONWriter.append(to: &self.batch.bytes) { json in
            json.object { Self.write(layer, of: slot, in: memory, to: &$0) }
        }
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

    /// Writes the JSON members of the event, rebuilt from what the slot keeps.
    private static func write(
        _ layer: Layer, of slot: SlotID, in memory: borrowing ShardMemory, to json: inout JSONWriter
    ) {
        // The slot is live, so its bytes are valid.
        let idBytes = unsafe memory.slots.idBytes(slot)
        let id = unsafe Span(_unsafeElements: idBytes)
        json.member("event", literal: layer.isEnd ? "end" : layer.isStart ? "start" : "update")
        json.member("app", memory.app(of: slot).bundleID)
        switch memory.slots[slot].kind {
        case .activity: break
        case .audience: json.object("to") { $0.member("audience", utf8: id) }
        case .channel:
            json.object("to") { json in
                json.member("channel", utf8: id)
                json.member("environment", literal: memory.slots[slot].environment.name)
            }
        }
        // If the event's own time is not known, `timestamp` is the time when the event was taken.
        let isTimed = layer.timestampSeconds >= RecordTime.earliestSeconds
        json.member("timestamp", isTimed ? layer.timestampSeconds : layer.stampFloorSeconds)
        if !layer.eventID.isEmpty { json.member("id", utf8: layer.blob.span.extracting(layer.eventID.range)) }
        json.member("content-state", json: layer.blob.span.extracting(layer.content.contentState.range))
        if !layer.alertIsInherited { json.member("alert", json: layer.blob.span.extracting(layer.alert.range)) }
        json.member("relevance-score", json: layer.blob.span.extracting(layer.content.relevanceScore.range))
        json.member("stale-date", layer.content.staleDateSeconds)
        json.member("dismissal-date", layer.content.dismissalDateSeconds)
        json.member("expires", layer.expirationHeaderSeconds)
    }

    /// Forwards a record, unchanged, to the partition that its key belongs to. Headers state where the record was first
    /// stored, and its time.
    mutating func forward(
        _ intake: borrowing Intake, to partition: Int32, key: Span<UInt8>, value: Span<UInt8>,
        in memory: inout ShardMemory
    ) {
        memory.counters.forwarded += 1
        memory.counters.misplaced += 1
        if intake.record.isTraced {
            memory.traceNotices.append(.forwarded(partition: partition), of: intake.source)
        }
        let entry = self.ledger.open(log: intake.log, offset: intake.record.offset, settled: true)
        self.ledger.expectAcknowledgement(entry)
        let keyRange = self.batch.append(key)
        let valueRange = self.batch.append(value)
        let firstHeader = self.batch.headers.count
        // The copy's time is the present, because a topic may refuse old times. A header has the record's own time.
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
