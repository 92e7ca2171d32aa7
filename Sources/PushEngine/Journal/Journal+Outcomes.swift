import PushModel

/// Outcome records (contract: What an outcome says). Their value is JSON, and their key is the event's.
extension Journal {
    /// Writes the outcome of an event at once, because nothing of the event will be sent.
    mutating func finishEvent(
        _ intake: borrowing Intake, slot: SlotID?, outcome: Outcome, details: borrowing OutcomeDetails,
        key: Span<UInt8>,
        in memory: inout ShardMemory
    ) {
        memory.counters.outcomes[Int(outcome.rawValue)] += 1
        if intake.record.isTraced {
            memory.addOutcome(outcome, details, kind: SlotKind(of: intake.event.target), of: intake.source)
        }
        guard memory.configuration.settings.outcomePublication.includes(outcome) else {
            return
        }
        let isRouted = intake.record.topic == memory.configuration.routedTopicIndex
        let guarding =
            slot.map { isRouted ? memory.slots[$0].openRoutedEntry : memory.slots[$0].openEntry }
            ?? EntryID.none
        let entry =
            guarding.isSome
            ? guarding : self.ledger.open(log: intake.log, offset: intake.record.offset, settled: true)
        self.ledger.expectAcknowledgement(entry)
        var waiting = outcome == .duplicate ? nil : slot
        if let slot = waiting, !self.mayExtendStateWait(slot, in: &memory) { waiting = nil }
        let keyRange = self.batch.append(key)
        let value = self.appendOutcome(
            outcome, kind: SlotKind(of: intake.event.target), app: slot.map { memory.slots[$0].app }, key: key,
            source: intake.source,
            eventID: intake.event.text.span.extracting(intake.event.eventIDInText.range),
            traceparent: intake.traceparent.span, isTraced: intake.record.isTraced,
            details: details, in: memory)
        self.batch.append(
            .outcomes, key: keyRange, value: value,
            headers: self.traceHeader(intake.record.isTraced, intake.traceparent.span),
            acknowledgement: self.expect(
                .outcome, partition: intake.partition, entry: entry, slot: waiting, in: &memory))
    }

    /// Writes the outcome of a pending event that ended unsent. The event is no longer pending.
    mutating func finish(_ ending: borrowing Coalescer.Ending, in memory: inout ShardMemory) {
        var details = OutcomeDetails(cause: ending.cause)
        if ending.cause == .channelKept, let audience = memory.keptFor[ending.slot], !audience.isEmpty {
            details.reason = OutcomeDetails.reason(keptFor: audience)
        }
        if ending.cause == .older, memory.configuration.settings.outcomePublication.includes(ending.outcome) {
            details.explainAge(
                of: ending.timestampSeconds, accepted: memory.slots[ending.slot].lastAcceptedSeconds)
        }
        if let standing = ending.cause.refusedToken {
            details.tokenStanding = standing
            // The slot is live, so its bytes are valid.
            let token = unsafe memory.slots.tokenBytes(ending.slot)
            details.fill(tokenHash: PushComposer.hash(ofToken: unsafe Span(_unsafeElements: token)))
        }
        details.into = ending.into
        details.keepsAlert = ending.keepsAlert
        details.keepsPriority = ending.keepsPriority
        self.finish(
            ending.slot, outcome: ending.outcome, source: ending.source, isWritten: ending.isWritten,
            isTraced: ending.isTraced,
            eventID: ending.blob.span.extracting(ending.eventID.range),
            traceparent: ending.blob.span.extracting(ending.traceparent.range), details: details, in: &memory)
    }

    /// Writes the outcome of a layer of an update that was in flight. Also writes the dead letter if the outcome is
    /// `dead-lettered`. The caller removes the layer.
    mutating func finishLayer(
        _ layer: borrowing Layer, of slot: SlotID, outcome: Outcome, details: borrowing OutcomeDetails,
        in memory: inout ShardMemory
    ) {
        self.finish(
            slot, outcome: outcome, source: layer.source, isWritten: layer.isWritten, isTraced: layer.isTraced,
            eventID: layer.blob.span.extracting(layer.eventID.range),
            traceparent: layer.blob.span.extracting(layer.traceparent.range), details: details, in: &memory)
        if outcome == .deadLettered { self.deadLetter(layer, of: slot, details: details, in: &memory) }
    }

    /// Writes the outcome of an update's newest event, which was accepted. It does what `finishLayer` does, but reads
    /// the layer in place. If the layer were passed to a method that changes the engine, it would be copied for every
    /// push.
    mutating func finishAcceptedTop(
        of update: UpdateID, slot: SlotID, details: borrowing OutcomeDetails, in memory: inout ShardMemory
    ) {
        // The pointer stays valid: nothing before the return changes the update, which holds the array of its bytes.
        let top = unsafe memory.updates.top(of: update)
        let bytes = unsafe top.pointee.blob.withUnsafeBufferPointer { unsafe $0 }
        let blob = unsafe Span(_unsafeElements: bytes)
        unsafe self.finish(
            slot, outcome: .delivered, source: top.pointee.source, isWritten: top.pointee.isWritten,
            isTraced: top.pointee.isTraced,
            eventID: blob.extracting(top.pointee.eventID.range),
            traceparent: blob.extracting(top.pointee.traceparent.range), details: details, in: &memory)
    }

    private mutating func finish(
        _ slot: SlotID, outcome: Outcome, source: SourcePosition, isWritten: Bool, isTraced: Bool,
        eventID: Span<UInt8>,
        traceparent: Span<UInt8>, details: borrowing OutcomeDetails, in memory: inout ShardMemory
    ) {
        memory.counters.pending -= 1
        memory.counters.outcomes[Int(outcome.rawValue)] += 1
        if isTraced { memory.addOutcome(outcome, details, kind: memory.slots[slot].kind, of: source) }
        guard memory.configuration.settings.outcomePublication.includes(outcome) else { return }
        // The slot is live, so its bytes are valid.
        let idBytes = unsafe memory.slots.idBytes(slot)
        let id = unsafe Span(_unsafeElements: idBytes)
        let keyRange = self.batch.append(id)
        let value = self.appendOutcome(
            outcome, kind: memory.slots[slot].kind, app: memory.slots[slot].app, key: id, source: source,
            eventID: eventID,
            traceparent: traceparent, isTraced: isTraced, details: details, in: memory)
        // Kafka must have the outcome before the state record that says that the event is done. Otherwise a replay
        // could only call the event a duplicate.
        let waits = isWritten || outcome != .superseded || self.mayExtendStateWait(slot, in: &memory)
        let acknowledgement = self.expectGuarded(
            .outcome, slot: slot, stateWaits: waits, in: &memory)
        self.batch.append(
            .outcomes, key: keyRange, value: value, headers: self.traceHeader(isTraced, traceparent),
            acknowledgement: acknowledgement)
    }

    /// Whether the slot's state record may wait for the outcome of one more superseded event. A record that is due
    /// waits for a limited number of such outcomes, which this method counts. Otherwise a busy activity's record would
    /// never be written, and nothing could be committed.
    private mutating func mayExtendStateWait(_ slot: SlotID, in memory: inout ShardMemory) -> Bool {
        guard memory.slots[slot].isDirty else { return true }
        guard memory.slots[slot].stateWaitExtensions < Self.stateWaitExtensionsMax else { return false }
        memory.slots[slot].stateWaitExtensions += 1
        return true
    }

    /// Maximum number of superseded events that are not in `state` yet and whose outcomes a due state record waits for.
    /// A further outcome is lost if the worker dies when Kafka has the state record, but not the outcome. The event's
    /// only outcome is then `duplicate`.
    static var stateWaitExtensionsMax: UInt8 { 64 }

    /// Adds the text of an outcome to the batch.
    /// - Parameter carried: the trace context of the event; its `traceparent` is written.
    /// - Returns: the range of the text.
    mutating func appendOutcome(
        _ outcome: Outcome, kind: SlotKind, app: UInt16?, key: Span<UInt8>, source: SourcePosition,
        eventID: Span<UInt8>,
        traceparent carried: Span<UInt8>, isTraced: Bool, details: borrowing OutcomeDetails,
        in memory: borrowing ShardMemory
    ) -> Range<Int> {
        let texts = self.texts
        let traceparent = carried.extracting(
            first: TraceContext.headerByteCount(ofCarried: carried.count, isTraced: isTraced))
        return self.appendValue { cursor in
            OutcomeWriter.write(
                outcome, kind: kind, app: app, key: key, source: source, eventID: eventID, traceparent: traceparent,
                details: details, texts: texts, to: &cursor)
        }
    }
}
