import PushModel

/// Dead letters, forwarded records, and what all records share.
extension ShardEngine {
    // MARK: Dead letters

    /// A record that cannot be taken: key and value as they came, the reason and the source position in headers.
    mutating func deadLetter(
        _ context: RecordContext, key: Span<UInt8>, value: Span<UInt8>, refusal: EventRejection, now: EngineTime
    ) {
        self.counters.outcomes[Int(Outcome.deadLettered.rawValue)] += 1
        self.counters.deadLetters += 1
        let entry = self.ledger.open(log: context.log, offset: context.record.offset, settled: true)
        self.ledger.expectAcknowledgement(entry)
        let keyRange = self.appendBytes(key)
        let valueRange = self.appendBytes(value)
        let firstHeader = self.batch.headers.count
        self.appendHeader(.reason, text: "\(refusal.field): \(refusal.reason)")
        self.appendHeader(.field, text: refusal.field)
        self.appendSourceHeaders(context.source, timestampMillis: context.record.timestampMillis)
        self.appendRecord(
            .deadLetters, key: keyRange, value: valueRange, headers: firstHeader..<self.batch.headers.count,
            hasNoKey: !context.record.hasKey, hasNoValue: !context.record.hasValue,
            acknowledgement: self.expect(.deadLetter, place: context.place, entry: entry))
        guard self.configuration.outcomePublication.includes(.deadLettered) else { return }
        self.ledger.expectAcknowledgement(entry)
        let start = self.batch.bytes.count
        self.batch.bytes.append(utf8: "{\"outcome\":\"dead-lettered\",\"topic\":")
        JSONBytes.appendString(self.configuration.inputTopics[Int(context.source.topic)], to: &self.batch.bytes)
        self.batch.bytes.append(utf8: ",\"partition\":")
        JSONBytes.appendInteger(Int64(context.source.partition), to: &self.batch.bytes)
        self.batch.bytes.append(utf8: ",\"offset\":")
        JSONBytes.appendInteger(context.source.offset, to: &self.batch.bytes)
        self.batch.bytes.append(utf8: ",\"reason\":")
        JSONBytes.appendString("\(refusal.field): \(refusal.reason)", to: &self.batch.bytes)
        self.appendTraceparent()
        self.batch.bytes.append(UInt8(ascii: "}"))
        self.appendRecord(
            .outcomes, key: keyRange, value: start..<self.batch.bytes.count, hasNoKey: !context.record.hasKey,
            acknowledgement: self.expect(.outcome, place: context.place, entry: entry))
    }

    /// An event that APNs refused for good. The value is the event rebuilt from what is kept of it; its outcome was given.
    mutating func deadLetter(_ layer: Layer, of slot: SlotID, details: OutcomeDetails, now: EngineTime) {
        self.counters.deadLetters += 1
        // The slot lives, so its bytes do.
        let idBytes = unsafe self.idBytes(slot)
        let keyRange = unsafe self.appendBytes(Span(_unsafeElements: idBytes))
        let start = self.batch.bytes.count
        self.batch.bytes.append(utf8: "{\"event\":")
        JSONBytes.appendString(literal: layer.isEnd ? "end" : layer.isStart ? "start" : "update", to: &self.batch.bytes)
        self.batch.bytes.append(utf8: ",\"app\":")
        JSONBytes.appendString(self.app(of: slot).bundleID, to: &self.batch.bytes)
        self.batch.bytes.append(utf8: ",\"timestamp\":")
        JSONBytes.appendInteger(layer.timestampSeconds, to: &self.batch.bytes)
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
        self.appendHeader(.reason, text: "APNs refused the push: \(details.status) \(details.reason)")
        self.appendSourceHeaders(layer.source, timestampMillis: layer.recordMillis)
        let acknowledgement = self.expectGuarded(
            .deadLetter, slot: slot, stateWaits: true, place: self.slots[slot].partition)
        self.appendRecord(
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

    // MARK: Misplaced records

    /// Hands a record on to the partition its key belongs to, as it came, carrying where it first lay.
    mutating func forward(
        _ context: RecordContext, to partition: Int32, key: Span<UInt8>, value: Span<UInt8>, traceparent: Span<UInt8>,
        now: EngineTime
    ) {
        self.counters.forwarded += 1
        self.counters.misplaced += 1
        self.placement.saw(
            Misplacement(
                topic: context.record.topic, partition: context.record.partition, offset: context.record.offset,
                properPartition: partition))
        let entry = self.ledger.open(log: context.log, offset: context.record.offset, settled: true)
        self.ledger.expectAcknowledgement(entry)
        let keyRange = self.appendBytes(key)
        let valueRange = self.appendBytes(value)
        let firstHeader = self.batch.headers.count
        self.appendSourceHeaders(context.source, timestampMillis: context.record.timestampMillis)
        if !traceparent.isEmpty {
            let name = self.appendLiteral("traceparent")
            self.batch.headers.append(RecordBatch.Header(name: name, value: self.appendBytes(traceparent)))
        }
        self.appendRecord(
            .routed, partition: partition, key: keyRange, value: valueRange,
            headers: firstHeader..<self.batch.headers.count,
            hasNoValue: !context.record.hasValue, timestampMillis: context.record.timestampMillis,
            acknowledgement: self.expect(.routed, place: context.place, entry: entry))
    }

    // MARK: Parts of a record

    mutating func appendBytes(_ bytes: Span<UInt8>) -> Range<Int> {
        let start = self.batch.bytes.count
        self.batch.bytes.append(copying: bytes)
        return start..<self.batch.bytes.count
    }

    mutating func appendLiteral(_ text: StaticString) -> Range<Int> {
        let start = self.batch.bytes.count
        self.batch.bytes.append(utf8: text)
        return start..<self.batch.bytes.count
    }

    private mutating func appendHeader(_ header: RecordHeader, text: String) {
        let name = self.appendLiteral(header.name)
        let start = self.batch.bytes.count
        self.batch.bytes.append(contentsOf: text.utf8)
        self.batch.headers.append(RecordBatch.Header(name: name, value: start..<self.batch.bytes.count))
    }

    mutating func appendHeader(_ header: RecordHeader, number: Int64) {
        let name = self.appendLiteral(header.name)
        let start = self.batch.bytes.count
        JSONBytes.appendInteger(number, to: &self.batch.bytes)
        self.batch.headers.append(RecordBatch.Header(name: name, value: start..<self.batch.bytes.count))
    }

    private mutating func appendSourceHeaders(_ source: SourcePosition, timestampMillis: Int64) {
        self.appendHeader(.topic, text: self.configuration.inputTopics[Int(source.topic)])
        self.appendHeader(.partition, number: Int64(source.partition))
        self.appendHeader(.offset, number: source.offset)
        self.appendHeader(.timestamp, number: timestampMillis)
    }

    mutating func appendRecord(
        _ topic: EngineRecord.Topic, partition: Int32 = -1, key: Range<Int>, value: Range<Int>,
        headers: Range<Int> = 0..<0,
        hasNoKey: Bool = false, hasNoValue: Bool = false, timestampMillis: Int64 = 0, acknowledgement: UInt64
    ) {
        if topic == .routed { self.batch.isUrgent = true }
        self.batch.records.append(
            EngineRecord(
                topic: topic, partition: partition, key: key, hasKey: !hasNoKey, value: value, isTombstone: hasNoValue,
                headers: headers,
                timestampMillis: timestampMillis, acknowledgement: acknowledgement))
    }

    // MARK: Expecting acknowledgements

    mutating func openAcknowledgement(_ element: PendingAcknowledgement) -> UInt64 {
        self.counters.unacknowledged += 1
        return self.acknowledgements.open(element)
    }

    /// A record guarded by a ledger entry of its own.
    /// - Parameter slot: its next state record is written after the acknowledgement, too.
    mutating func expect(
        _ kind: PendingAcknowledgement.Kind, place: PartitionIndex, entry: EntryID, slot: SlotID? = nil
    ) -> UInt64 {
        self.partitions[place].unacknowledged += 1
        if let slot { self.slots[slot].unguardedRecords += 1 }
        return self.openAcknowledgement(
            PendingAcknowledgement(
                kind: kind, sequence: 0, isOpen: true, partition: place,
                partitionGeneration: self.partitions[place].generation,
                slot: slot ?? SlotID.none, slotGeneration: slot.map { self.slots[$0].generation } ?? 0,
                stateVersion: 0, isUnguarded: slot != nil, entry: entry, routedEntry: EntryID.none))
    }

    /// A record about an event of a slot. With `stateWaits` the slot's next state record is written after it is acknowledged; otherwise
    /// the slot's open entries are resolved after that.
    mutating func expectGuarded(
        _ kind: PendingAcknowledgement.Kind, slot: SlotID, stateWaits: Bool, place: PartitionIndex
    )
        -> UInt64
    {
        let open = self.slots[slot].openEntry
        let openRouted = self.slots[slot].openRoutedEntry
        let isUnguarded = stateWaits || (open.isNone && openRouted.isNone)
        if isUnguarded {
            self.slots[slot].unguardedRecords += 1
        } else {
            // The event came through one of the two logs; neither may pass it.
            if open.isSome { self.ledger.expectAcknowledgement(open) }
            if openRouted.isSome { self.ledger.expectAcknowledgement(openRouted) }
        }
        self.partitions[place].unacknowledged += 1
        return self.openAcknowledgement(
            PendingAcknowledgement(
                kind: kind, sequence: 0, isOpen: true, partition: place,
                partitionGeneration: self.partitions[place].generation,
                slot: slot, slotGeneration: self.slots[slot].generation, stateVersion: 0, isUnguarded: isUnguarded,
                entry: isUnguarded ? EntryID.none : open, routedEntry: isUnguarded ? EntryID.none : openRouted
            ))
    }
}
