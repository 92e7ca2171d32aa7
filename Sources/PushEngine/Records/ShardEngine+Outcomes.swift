import PushModel

/// Outcome records (contract §7): JSON, the key as the event's.
extension ShardEngine {
    // MARK: Giving an event its outcome

    /// An event that never became content: its outcome comes at once.
    mutating func finishEvent(
        _ context: RecordContext, slot: SlotID?, outcome: Outcome, detail: OutcomeDetails.Cause, key: Span<UInt8>,
        now: EngineTime
    ) {
        self.counters.outcomes[Int(outcome.rawValue)] += 1
        guard self.configuration.outcomePublication.includes(outcome) else {
            return
        }
        let isRouted = context.record.topic == self.configuration.routedTopicIndex
        let guarding =
            slot.map { isRouted ? self.slots[$0].openRoutedEntry : self.slots[$0].openEntry }
            ?? EntryID.none
        let entry =
            guarding.isSome
            ? guarding : self.ledger.open(log: context.log, offset: context.record.offset, settled: true)
        self.ledger.expectAcknowledgement(entry)
        var waiting = outcome == .duplicate ? nil : slot
        if let slot = waiting, !self.mayExtendStateWait(slot) { waiting = nil }
        let keyRange = self.appendBytes(key)
        let text = self.event.text
        let traceparent = self.traceparent
        let value = self.appendOutcome(
            outcome, app: slot.map { self.slots[$0].app }, key: key, source: context.source,
            eventID: text.span.extracting(self.event.eventIDInText.range), traceparent: traceparent.span,
            details: OutcomeDetails(cause: detail))
        self.appendRecord(
            .outcomes, key: keyRange, value: value,
            acknowledgement: self.expect(.outcome, place: context.place, entry: entry, slot: waiting))
    }

    /// A pending event gets its outcome and is pending no more. The caller takes the layer away.
    mutating func finishLayer(
        _ layer: Layer, of slot: SlotID, outcome: Outcome, details: OutcomeDetails, now: EngineTime
    ) {
        self.finish(
            slot, outcome: outcome, source: layer.source, isWritten: layer.isWritten,
            eventID: layer.blob.span.extracting(layer.eventID.range),
            traceparent: layer.blob.span.extracting(layer.traceparent.range), details: details)
        if outcome == .deadLettered { self.deadLetter(layer, of: slot, details: details, now: now) }
    }

    /// The newest event of an update was accepted. As `finishLayer`; read where it lies: lent by `updates` to a method that changes the engine,
    /// the layer would be copied for every push.
    mutating func finishAcceptedTop(of update: UpdateID, slot: SlotID, details: OutcomeDetails) {
        // Nothing before the return changes the update, which holds the array of its bytes.
        let top = unsafe self.updates.top(of: update)
        let bytes = unsafe top.pointee.blob.withUnsafeBufferPointer { unsafe $0 }
        let blob = unsafe Span(_unsafeElements: bytes)
        unsafe self.finish(
            slot, outcome: .delivered, source: top.pointee.source, isWritten: top.pointee.isWritten,
            eventID: blob.extracting(top.pointee.eventID.range),
            traceparent: blob.extracting(top.pointee.traceparent.range), details: details)
    }

    private mutating func finish(
        _ slot: SlotID, outcome: Outcome, source: SourcePosition, isWritten: Bool, eventID: Span<UInt8>,
        traceparent: Span<UInt8>, details: borrowing OutcomeDetails
    ) {
        self.counters.pending -= 1
        self.counters.outcomes[Int(outcome.rawValue)] += 1
        guard self.configuration.outcomePublication.includes(outcome) else { return }
        // The slot lives, so its bytes do.
        let idBytes = unsafe self.idBytes(slot)
        let id = unsafe Span(_unsafeElements: idBytes)
        let keyRange = self.appendBytes(id)
        let value = self.appendOutcome(
            outcome, app: self.slots[slot].app, key: id, source: source, eventID: eventID,
            traceparent: traceparent, details: details)
        // An outcome is in Kafka before the state record that says the event is done: a replay could only call it a duplicate.
        let waits = isWritten || outcome != .superseded || self.mayExtendStateWait(slot)
        let acknowledgement = self.expectGuarded(
            .outcome, slot: slot, stateWaits: waits, place: self.slots[slot].partition)
        self.appendRecord(.outcomes, key: keyRange, value: value, acknowledgement: acknowledgement)
    }

    /// Whether the slot's state record waits for one more event that needs no push. One that is due does so for a number of them only: an
    /// activity that is never quiet would never get it written, and nothing committed.
    private mutating func mayExtendStateWait(_ slot: SlotID) -> Bool {
        guard self.slots[slot].isDirty else { return true }
        guard self.slots[slot].stateWaitExtensions < Self.stateWaitExtensionsMax else { return false }
        self.slots[slot].stateWaitExtensions += 1
        return true
    }

    /// Beyond these a worker that dies before both are acknowledged leaves `duplicate` as the only outcome.
    static var stateWaitExtensionsMax: UInt8 { 64 }

    /// A pending event gave way to a newer one. `into`: `nil` when what replaced it was already accepted.
    mutating func supersede(
        _ layer: Layer, of slot: SlotID, into: SourcePosition?, keepsAlert: Bool, keepsPriority: Bool
    ) {
        self.counters.eventsMerged += 1
        guard self.configuration.outcomePublication.includes(.superseded) else {
            // The common case costs no copy of what the record would say.
            self.counters.pending -= 1
            self.counters.outcomes[Int(Outcome.superseded.rawValue)] += 1
            return
        }
        var details = OutcomeDetails(cause: layer.mayBeSent ? .mayBeSentBefore : into == nil ? .older : .none)
        details.into = into
        details.keepsAlert = keepsAlert
        details.keepsPriority = keepsPriority
        self.finishLayer(
            layer, of: slot, outcome: .superseded, details: details, now: EngineTime(steadyMillis: 0, wallMillis: 0))
    }

    // MARK: The record

    private mutating func appendOutcome(
        _ outcome: Outcome, app: UInt16?, key: Span<UInt8>, source: SourcePosition, eventID: Span<UInt8>,
        traceparent: Span<UInt8>, details: borrowing OutcomeDetails
    ) -> Range<Int> {
        let texts = self.texts
        let start = self.batch.bytes.count
        let byteCountMax = OutcomeWriter.byteCountMax(
            key: key.count, eventID: eventID.count, traceparent: traceparent.count, reason: details.reason.utf8.count,
            texts: texts, app: app, source: source, into: details.into)
        self.batch.bytes.append(atMost: byteCountMax, using: &self.scratchBytes) { cursor in
            OutcomeWriter.write(
                outcome, app: app, key: key, source: source, eventID: eventID, traceparent: traceparent,
                details: details, texts: texts, to: &cursor)
        }
        return start..<self.batch.bytes.count
    }

    /// Of the record being taken.
    mutating func appendTraceparent() {
        guard !self.traceparent.isEmpty else { return }
        self.batch.bytes.append(utf8: ",\"traceparent\":")
        let traceparent = self.traceparent
        JSONBytes.appendString(traceparent.span, to: &self.batch.bytes)
    }

    /// 64 bits of FNV-1a over the token: enough to tell tokens apart in a log, useless for sending.
    static func tokenHash(_ token: Span<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for index in token.indices { hash = (hash ^ UInt64(token[index])) &* 0x0000_0100_0000_01b3 }
        return hash
    }
}
