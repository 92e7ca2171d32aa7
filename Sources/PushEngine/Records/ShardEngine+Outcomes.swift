import PushModel

/// Outcome records (contract §7): JSON, the key as the event's.
extension ShardEngine {
    // MARK: Giving an event its outcome

    /// An event that never became content: its outcome comes at once.
    mutating func finishEvent(
        _ context: RecordContext, slot: Int32?, outcome: Outcome, detail: OutcomeDetails.Cause, key: Span<UInt8>,
        now: EngineTime
    ) {
        self.counters.outcomes[Int(outcome.rawValue)] += 1
        guard self.configuration.outcomePublication.includes(outcome) else {
            return
        }
        let isRouted = context.record.topic == self.configuration.routedTopicIndex
        let guarding =
            slot.map { isRouted ? self.slots[Int($0)].openRoutedEntry : self.slots[Int($0)].openEntry }
            ?? OffsetLedger.none
        let entry =
            guarding >= 0 ? guarding : self.ledger.open(log: context.log, offset: context.record.offset, settled: true)
        self.ledger.expectAcknowledgement(entry)
        let keyRange = self.appendBytes(key)
        let start = self.batch.bytes.count
        let eventID = self.event.eventIDInText.range
        let text = self.event.text
        self.beginOutcome(
            outcome, app: slot.map { self.slots[Int($0)].app }, key: key, source: context.source,
            eventID: text.span.extracting(eventID), details: OutcomeDetails(cause: detail))
        self.appendTraceparent()
        self.batch.bytes.append(UInt8(ascii: "}"))
        self.appendRecord(
            .outcomes, key: keyRange, value: start..<self.batch.bytes.count,
            acknowledgement: self.expect(.outcome, place: context.place, entry: entry))
    }

    /// A pending event gets its outcome and is pending no more. The caller takes the layer away.
    mutating func finishLayer(
        _ layer: Layer, of slot: Int32, outcome: Outcome, details: OutcomeDetails, now: EngineTime
    ) {
        self.counters.pending -= 1
        self.counters.outcomes[Int(outcome.rawValue)] += 1
        let place = self.slots[Int(slot)].partition
        if self.configuration.outcomePublication.includes(outcome) {
            let idByteCount = Int(self.slots[Int(slot)].idByteCount)
            let identity = self.slots[Int(slot)].identity
            let id = identity.span.extracting(0..<idByteCount)
            let keyRange = self.appendBytes(id)
            let start = self.batch.bytes.count
            self.beginOutcome(
                outcome, app: self.slots[Int(slot)].app, key: id, source: layer.source,
                eventID: layer.blob.span.extracting(layer.eventID.range), details: details)
            if details.hasPush {
                self.batch.bytes.append(utf8: ",\"token-hash\":")
                self.appendTokenHash(details.tokenHash)
            }
            if !layer.traceparent.isEmpty {
                self.batch.bytes.append(utf8: ",\"traceparent\":")
                JSONBytes.appendString(layer.blob.span.extracting(layer.traceparent.range), to: &self.batch.bytes)
            }
            self.batch.bytes.append(UInt8(ascii: "}"))
            // A push's outcome is in Kafka before the state record that says the event is done: a replay could only call it a duplicate.
            let waits = layer.isWritten || outcome != .superseded
            let acknowledgement = self.expectGuarded(.outcome, slot: slot, stateWaits: waits, place: place)
            self.appendRecord(
                .outcomes, key: keyRange, value: start..<self.batch.bytes.count, acknowledgement: acknowledgement)
        }
        if outcome == .deadLettered { self.deadLetter(layer, of: slot, details: details, now: now) }
    }

    /// A pending event gave way to a newer one. `into`: `nil` when what replaced it was already accepted.
    mutating func supersede(
        _ layer: Layer, of slot: Int32, into: SourcePosition?, keepsAlert: Bool, keepsPriority: Bool
    ) {
        self.counters.eventsMerged += 1
        guard self.configuration.outcomePublication.includes(.superseded) else {
            // The common case costs no copy of what the record would say.
            self.counters.pending -= 1
            self.counters.outcomes[Int(Outcome.superseded.rawValue)] += 1
            return
        }
        var details = OutcomeDetails(cause: into == nil ? .older : .none)
        details.into = into
        details.keepsAlert = keepsAlert
        details.keepsPriority = keepsPriority
        self.finishLayer(
            layer, of: slot, outcome: .superseded, details: details, now: EngineTime(steadyMillis: 0, wallMillis: 0))
    }

    // MARK: The record

    private mutating func beginOutcome(
        _ outcome: Outcome, app: UInt16?, key: Span<UInt8>, source: SourcePosition, eventID: Span<UInt8>,
        details: OutcomeDetails
    ) {
        self.batch.bytes.append(utf8: "{\"outcome\":")
        JSONBytes.appendString(literal: outcome.name, to: &self.batch.bytes)
        if !eventID.isEmpty {
            self.batch.bytes.append(utf8: ",\"event-id\":")
            JSONBytes.appendString(eventID, to: &self.batch.bytes)
        }
        if let app {
            self.batch.bytes.append(utf8: ",\"app\":")
            JSONBytes.appendString(self.configuration.apps[Int(app)].bundleID, to: &self.batch.bytes)
        }
        if !key.isEmpty {
            self.batch.bytes.append(utf8: ",\"activity\":")
            JSONBytes.appendString(key, to: &self.batch.bytes)
        }
        self.appendPosition(source)
        if details.hasPush {
            self.batch.bytes.append(utf8: ",\"apns-id\":\"")
            self.appendUUID(details.apnsID)
            self.batch.bytes.append(UInt8(ascii: "\""))
        }
        if details.status != 0 {
            self.batch.bytes.append(utf8: ",\"status\":")
            JSONBytes.appendInteger(Int64(details.status), to: &self.batch.bytes)
        }
        if !details.reason.isEmpty {
            self.batch.bytes.append(utf8: ",\"reason\":")
            JSONBytes.appendString(details.reason, to: &self.batch.bytes)
        } else if let text = details.cause.text {
            self.batch.bytes.append(utf8: ",\"reason\":")
            JSONBytes.appendString(literal: text, to: &self.batch.bytes)
        }
        if details.hasPush {
            self.appendNumber(",\"priority\":", Int64(details.priority.rawValue))
            self.appendNumber(",\"merged\":", Int64(details.mergedCount))
        }
        if let into = details.into {
            self.batch.bytes.append(utf8: ",\"into\":{")
            self.batch.bytes.append(utf8: "\"topic\":")
            JSONBytes.appendString(self.configuration.inputTopics[Int(into.topic)], to: &self.batch.bytes)
            self.appendNumber(",\"partition\":", Int64(into.partition))
            self.appendNumber(",\"offset\":", into.offset)
            self.batch.bytes.append(UInt8(ascii: "}"))
        }
        switch (details.keepsAlert, details.keepsPriority) {
        case (false, false): break
        case (true, false): self.batch.bytes.append(utf8: ",\"kept\":[\"alert\"]")
        case (false, true): self.batch.bytes.append(utf8: ",\"kept\":[\"priority\"]")
        case (true, true): self.batch.bytes.append(utf8: ",\"kept\":[\"alert\",\"priority\"]")
        }
        if details.queuedMillis >= 0 { self.appendNumber(",\"queued-ms\":", details.queuedMillis) }
        if details.apnsMicros >= 0 { self.appendNumber(",\"apns-ms\":", details.apnsMicros / 1_000) }
    }

    private mutating func appendPosition(_ source: SourcePosition) {
        self.batch.bytes.append(utf8: ",\"topic\":")
        JSONBytes.appendString(self.configuration.inputTopics[Int(source.topic)], to: &self.batch.bytes)
        self.appendNumber(",\"partition\":", Int64(source.partition))
        self.appendNumber(",\"offset\":", source.offset)
    }

    private mutating func appendNumber(_ name: StaticString, _ value: Int64) {
        self.batch.bytes.append(utf8: name)
        JSONBytes.appendInteger(value, to: &self.batch.bytes)
    }

    private mutating func appendUUID(_ id: (UInt64, UInt64)) {
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 { self.batch.bytes.append(UInt8(ascii: "-")) }
            let half = digit < 16 ? id.0 : id.1
            self.batch.bytes.append(Hex.digit(UInt8((half >> UInt64((15 - digit % 16) * 4)) & 0xf)))
        }
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

    private mutating func appendTokenHash(_ hash: UInt64) {
        self.batch.bytes.append(UInt8(ascii: "\""))
        for digit in 0..<16 { self.batch.bytes.append(Hex.digit(UInt8((hash >> UInt64((15 - digit) * 4)) & 0xf))) }
        self.batch.bytes.append(UInt8(ascii: "\""))
    }
}
