public import PushModel

extension ShardEngine {
    /// A `start` without `expires` is not sent later than this after its event.
    static var startExpirySeconds: Int64 { 900 }

    /// Takes one record of an input topic. Spans are borrowed for the call; what is needed of them is copied.
    ///
    /// The partition must be running (`restoreFinished`); a record of another is ignored and stays uncommitted.
    /// - Parameters:
    ///   - key: empty when `record.hasKey` is false; likewise `value`.
    ///   - traceparent: the W3C header's value, empty when absent.
    public mutating func consume(
        _ record: InputRecord, key: Span<UInt8>, value: Span<UInt8>, traceparent: Span<UInt8>, now: EngineTime
    ) {
        let hash = self.index.hash(kind: SlotKind.activity.rawValue, id: key)
        self.consume(record, key: key, hash: hash, value: value, traceparent: traceparent, now: now)
        if self.catchUpEndsMillis != .max { self.advanceCatchUps(now: now) }
    }

    /// - Parameters:
    ///   - hash: of the key, as the index has it.
    ///   - hint: the slot where the activity probably lies; -1: not known.
    mutating func consume(
        _ record: InputRecord, key: Span<UInt8>, hash: UInt32, hint: SlotID = .none, value: Span<UInt8>,
        traceparent: Span<UInt8>, now: EngineTime
    ) {
        guard let place = self.place(of: record.partition), self.partitions[place].phase == .running else { return }
        let log = self.partitions[place].logs[Int(record.topic)]
        self.ledger.consumed(log: log, offset: record.offset)
        self.counters.consumed += 1
        let context = RecordContext(record: record, place: place, log: log)
        if !self.traceparent.isEmpty { self.traceparent.removeAll(keepingCapacity: true) }
        self.traceparent.append(copying: traceparent)

        let known = record.hasKey ? self.findKnown(id: key, hash: hash, hint: hint, partition: place) : nil
        // The key of an activity that is known here was looked at when its first event came.
        if known == nil {
            do throws(EventRejection) {
                guard record.hasKey else {
                    throw EventRejection(
                        field: "key", reason: "is missing: expected the activity id, UTF-8, 1 to 256 bytes")
                }
                try EventRules.checkKey(key)
            } catch {
                return self.deadLetter(context, key: key, value: value, refusal: error, now: now)
            }
            // A producer whose client hashes otherwise put it elsewhere: forwarded once, then taken wherever it lies.
            if !self.configuration.trustPlacement, record.topic != self.configuration.routedTopicIndex {
                let partition = Murmur2.partition(key: key, count: self.configuration.partitionCount)
                if partition != record.partition {
                    return self.forward(
                        context, to: partition, key: key, value: value, traceparent: traceparent, now: now)
                }
            }
        }
        guard record.hasValue else {
            let refusal = EventRejection(field: "value", reason: "is null: expected one JSON object")
            return self.deadLetter(context, key: key, value: value, refusal: refusal, now: now)
        }
        do throws(EventRejection) {
            try EventDecoder.decode(value, into: &self.event)
            let app = try self.resolveApp()
            try self.checkEvent(app: app, key: key, value: value, record: record, now: now)
            let isOfApp = known.map { self.slots[$0].app == app } ?? false
            let slot = isOfApp ? known : self.findSlot(app: app, id: key, hash: hash, partition: place)
            if let slot, self.replacePending(context, slot: slot, value: value, traceparent: traceparent, now: now) {
                return
            }
            self.apply(
                context, app: app, slot: slot, key: key, value: value, traceparent: traceparent, now: now)
        } catch {
            self.deadLetter(context, key: key, value: value, refusal: error, now: now)
        }
    }

    /// What is known of the record being taken.
    struct RecordContext {
        var record: InputRecord
        var place: PartitionIndex
        var log: LogID
        var source: SourcePosition {
            self.record.origin
                ?? SourcePosition(
                    topic: self.record.topic, partition: self.record.partition, offset: self.record.offset)
        }
    }

    // MARK: Checks that need more than the value

    private func resolveApp() throws(EventRejection) -> UInt16 {
        let name = self.event.appInText
        if name.isEmpty {
            guard self.configuration.apps.count == 1 else {
                throw EventRejection(
                    field: "app",
                    reason: "is missing: expected a bundle id, as \(self.configuration.apps.count) apps are configured")
            }
            return 0
        }
        let given = self.event.text.span.extracting(name.range)
        for index in self.texts.bundleIDs.indices {
            let bundleID = self.texts.bundleIDs[index]
            if given.holdsSameBytes(as: bundleID.span) { return UInt16(index) }
        }
        let shown = RejectionText.quoted(given, byteCountMax: 80)
        throw EventRejection(
            field: "app", reason: "\"\(shown)\" is not configured in this worker: expected a configured bundle id")
    }

    private func checkEvent(
        app: UInt16, key: Span<UInt8>, value: Span<UInt8>, record: InputRecord, now: EngineTime
    ) throws(EventRejection) {
        switch self.event.target {
        case .activity:
            if !self.event.activityInText.isEmpty, !self.isText(self.event.activityInText, equalTo: key) {
                let activity = self.event.text.span.extracting(self.event.activityInText.range)
                let given = RejectionText.quoted(activity, byteCountMax: 80)
                throw EventRejection(
                    field: "to.activity",
                    reason: "\"\(given)\" differs from the record's key: expected the same activity id")
            }
        case .token, .startToken: break
        case .audience:
            let isRegistration = self.event.kind == .register || self.event.kind == .unregister
            throw Self.notYet(isRegistration ? "audience" : "to.audience")
        case .channel:
            throw Self.notYet("to.channel")
        }
        if !self.event.audienceInText.isEmpty {
            throw Self.notYet("audience")
        }
        if self.event.kind == .start, self.event.target != .startToken {
            throw EventRejection(field: "to", reason: "has no start-token: a start needs {\"start-token\": hex}")
        }
        let bringsToken =
            self.event.kind == .register || self.event.target == .token || self.event.target == .startToken
        if bringsToken, self.lanes[self.lane(app: app, environment: self.event.environment)].route == nil {
            throw EventRejection(
                field: "environment",
                reason:
                    "\"\(self.event.environment == .production ? "production" : "development")\" is not configured for this app"
            )
        }
        guard self.event.kind != .register, self.event.kind != .unregister else { return }
        if let given = self.event.timestampSeconds { try EventRules.checkTimestamp(given, nowSeconds: now.wallSeconds) }
        // What the payload has besides the event's own bytes is little: only a large event has to be looked at.
        guard value.count > PayloadWriter.payloadByteCountMax - PayloadWriter.framingByteCountMax else { return }
        let content = PayloadContent(of: self.event)
        let size = PayloadWriter.byteCount(
            kind: self.event.kind, stampSeconds: max(self.eventTimestamp(record, now: now), Self.longStampSeconds),
            content: content,
            source: value, alert: value.extracting(self.event.alertInValue.range))
        if size > PayloadWriter.payloadByteCountMax {
            throw EventRules.payloadTooLarge(
                byteCount: size, limit: PayloadWriter.payloadByteCountMax, content: content,
                alertByteCount: Int(self.event.alertInValue.count))
        }
    }

    private static func notYet(_ field: String) -> EventRejection {
        EventRejection(
            field: field, reason: "is not supported by this version: expected to.activity, to.token or to.start-token")
    }

    func isText(_ range: ByteRange, equalTo bytes: Span<UInt8>) -> Bool {
        guard Int(range.count) == bytes.count else { return false }
        for index in bytes.indices where self.event.text[Int(range.start) + index] != bytes[index] { return false }
        return true
    }

    /// The event's own time, or the record's, not ahead of the worker's clock.
    func eventTimestamp(_ record: InputRecord, now: EngineTime) -> Int64 {
        self.event.timestampSeconds ?? max(0, min(record.timestampMillis, now.wallMillis) / 1_000)
    }

    // MARK: Taking an event

    private mutating func apply(
        _ context: RecordContext, app: UInt16, slot found: SlotID?, key: Span<UInt8>, value: Span<UInt8>,
        traceparent: Span<UInt8>, now: EngineTime
    ) {
        if let found, self.isApplied(context, slot: found) {
            return self.finishEvent(context, slot: found, outcome: .duplicate, detail: .replay, key: key, now: now)
        }
        if found == nil, self.event.kind == .unregister {
            return self.finishEvent(context, slot: nil, outcome: .applied, detail: .none, key: key, now: now)
        }
        let slot = found ?? self.makeSlot(app: app, id: key, partition: context.place, now: now)
        self.slots[slot].isLeaving = false
        self.openEntry(context, slot: slot, now: now)
        self.noteApplied(context, slot: slot)
        let tokenRange = self.event.tokenInText
        switch self.event.kind {
        case .register:
            self.register(context, slot: slot, key: key, now: now)
        case .unregister:
            let isMeant =
                tokenRange.isEmpty
                || self.tokenEquals(self.event.text.span.extracting(tokenRange.range), slot: slot)
            if isMeant, self.slots[slot].hasToken {
                self.clearToken(slot: slot)
                self.slots[slot].tokenMissingSinceMillis = now.steadyMillis
                if self.slots[slot].life == .alive { self.slots[slot].life = .awaiting }
            }
            self.finishEvent(context, slot: slot, outcome: .applied, detail: .none, key: key, now: now)
            self.markDirty(slot, now: now)
        case .start, .update, .end:
            self.takeContent(context, slot: slot, key: key, value: value, traceparent: traceparent, now: now)
        }
        // Nothing will leave whose answer writes a record: the entry that was opened above needs one of its own.
        if !self.slots[slot].hasWork { self.markDirty(slot, now: now) }
        self.reschedule(slot, now: now)
    }

    private mutating func register(_ context: RecordContext, slot: SlotID, key: Span<UInt8>, now: EngineTime) {
        let token = self.event.tokenInText
        switch self.slots[slot].life {
        case .ended:
            guard !self.tokenEquals(self.event.text.span.extracting(token.range), slot: slot) else {
                return self.finishEvent(context, slot: slot, outcome: .late, detail: .afterEnd, key: key, now: now)
            }
            self.beginNewLife(slot)
            self.slots[slot].life = .alive
        case .awaiting, .started:
            self.slots[slot].life = .alive
        case .alive, .starting, .ending: break
        }
        self.takeToken(slot, now: now, registeredMillis: context.record.timestampMillis)
        self.slots[slot].frequentUpdates = self.event.frequentUpdates
        self.touch(slot, now: now)
        self.finishEvent(context, slot: slot, outcome: .applied, detail: .none, key: key, now: now)
        self.markDirty(slot, now: now)
    }

    /// The token in `event.text` is the newest one this activity has.
    private mutating func takeToken(_ slot: SlotID, now: EngineTime, registeredMillis: Int64) {
        let token = self.event.tokenInText
        self.setEnvironment(self.event.environment, of: slot)
        self.slots[slot].awaitsTokenOfStart = false
        if self.tokenEquals(self.event.text.span.extracting(token.range), slot: slot) {
            // The same token registered again: the app says that it lives.
            self.slots[slot].tokenStanding = .usable
        } else {
            let text = self.event.text
            self.setToken(text.span.extracting(token.range), slot: slot)
            self.slots[slot].backoffUntilMillis = .min
            self.slots[slot].attempt = 0
        }
        self.slots[slot].registeredWallMillis = registeredMillis
    }

    /// What an owner before has read of this slot it may have sent, too, without `state` knowing.
    func couldBeSent(_ slot: SlotID) -> Bool {
        guard self.couldHaveUnrecordedPush(slot) else { return false }
        // A start is announced before it leaves, and takes along what waits.
        return self.slots[slot].life != .starting || self.app(of: slot).startOnUnknown == .resend
    }

    /// A card of its own: nothing known of the one before holds for it but the budget, which is the device's.
    private mutating func beginNewLife(_ slot: SlotID) {
        self.clearToken(slot: slot)
        self.slots[slot].life = .awaiting
        self.slots[slot].awaitsTokenOfStart = false
        self.slots[slot].lastAcceptedSeconds = .min
        self.slots[slot].lastStampSeconds = 0
    }

    private mutating func takeContent(
        _ context: RecordContext, slot: SlotID, key: Span<UInt8>, value: Span<UInt8>, traceparent: Span<UInt8>,
        now: EngineTime
    ) {
        let kind = self.event.kind
        let isExpired = self.contentExpiresSeconds <= now.wallSeconds
        switch (kind, self.slots[slot].life) {
        case (.update, .ending), (.update, .ended), (.end, .ending), (.end, .ended):
            return self.finishEvent(context, slot: slot, outcome: .late, detail: .afterEnd, key: key, now: now)
        case (.start, .alive), (.start, .starting), (.start, .started), (.start, .ending):
            return self.finishEvent(
                context, slot: slot, outcome: .duplicate, detail: .alreadyStarted, key: key, now: now)
        case (.start, .ended), (.start, .awaiting):
            if self.slots[slot].life == .ended { self.beginNewLife(slot) }
            self.slots[slot].life = .starting
            self.setEnvironment(self.event.environment, of: slot)
        case (.update, .awaiting), (.update, .alive), (.update, .starting), (.update, .started): break
        case (.end, .awaiting), (.end, .alive), (.end, .starting), (.end, .started):
            if !isExpired { self.slots[slot].life = .ending }
        case (.register, _), (.unregister, _): return
        }
        if self.event.target == .token {
            if !self.tokenEquals(self.event.text.span.extracting(self.event.tokenInText.range), slot: slot)
                || self.slots[slot].tokenStanding != .usable
            {
                self.takeToken(slot, now: now, registeredMillis: context.record.timestampMillis)
            }
            if self.slots[slot].life == .awaiting || self.slots[slot].life == .started {
                self.slots[slot].life = .alive
            }
        }
        self.touch(slot, now: now)
        let timestamp = self.eventTimestamp(context.record, now: now)
        if kind == .update, timestamp < self.slots[slot].lastAcceptedSeconds {
            let wasSent = self.mayBeReplay(context) && self.couldBeSent(slot)
            return self.finishEvent(
                context, slot: slot, outcome: .superseded, detail: wasSent ? .mayBeSentBefore : .older, key: key,
                now: now)
        }
        // What has expired is set aside before anything can take over from it, or give way to it.
        self.expireContent(slot, now: now)
        let isReplay = self.mayBeReplay(context)
        // What had expired when it was written has been sent by nobody.
        let mayBeSent =
            isReplay && self.couldBeSent(slot)
            && self.contentExpiresSeconds > context.record.timestampMillis / 1_000
        if isExpired {
            if mayBeSent { self.passUnrecordedStamp(slot, floorSeconds: timestamp, now: now) }
            return self.finishEvent(
                context, slot: slot, outcome: mayBeSent ? .unknown : .expired,
                detail: mayBeSent ? .mayBeSent : .expires,
                key: key, now: now)
        }
        self.fillLayer(context, timestamp: timestamp, value: value, traceparent: traceparent, now: now)
        self.scratchLayer.mayBeSent = mayBeSent
        let start = kind == .start ? self.makeStart(context, value: value, now: now) : nil
        if isReplay, self.event.priority == .high {
            self.countUnrecordedPush(slot, recordMillis: context.record.timestampMillis, now: now)
        }
        self.counters.pending += 1
        self.merge(into: slot, start: start, priority: self.event.priority, isReplay: isReplay, now: now)
    }

    /// Copies what the payload and the outcome will need of the event into `scratchLayer`.
    private mutating func fillLayer(
        _ context: RecordContext, timestamp: Int64, value: Span<UInt8>, traceparent: Span<UInt8>, now: EngineTime
    ) {
        self.scratchLayer.reset()
        self.scratchLayer.source = context.source
        self.scratchLayer.arrival = self.counters.consumed
        self.scratchLayer.timestampSeconds = timestamp
        self.scratchLayer.alertSeconds = timestamp
        self.scratchLayer.contentSeconds = timestamp
        self.scratchLayer.stampFloorSeconds = timestamp
        self.scratchLayer.recordMillis = context.record.timestampMillis
        self.scratchLayer.takenMillis = now.steadyMillis
        self.scratchLayer.isEnd = self.event.kind == .end
        self.scratchLayer.isStart = self.event.kind == .start
        self.scratchLayer.expirationHeaderSeconds = self.event.expiresSeconds
        let given = PayloadContent(of: self.event)
        self.scratchLayer.content.staleDateSeconds = given.staleDateSeconds
        self.scratchLayer.content.dismissalDateSeconds = given.dismissalDateSeconds
        self.scratchLayer.content.contentState = self.scratchLayer.append(value.extracting(given.contentState.range))
        self.scratchLayer.content.relevanceScore = self.scratchLayer.append(
            value.extracting(given.relevanceScore.range))
        self.scratchLayer.alert = self.scratchLayer.append(value.extracting(self.event.alertInValue.range))
        let eventID = self.event.eventIDInText.range
        let text = self.event.text
        self.scratchLayer.eventID = self.scratchLayer.append(text.span.extracting(eventID))
        self.scratchLayer.traceparent = self.scratchLayer.append(traceparent)
        self.scratchLayer.expiresSeconds = self.contentExpiresSeconds
    }

    /// When the content of `event` may not be sent any more, seconds since 1970; `Int64.max`: never.
    var contentExpiresSeconds: Int64 {
        switch self.event.kind {
        // A stale update is worth no more than an expired one (contract §2, `expires`).
        case .update: self.event.expiresSeconds ?? self.event.staleDateSeconds ?? .max
        case .end: self.event.expiresSeconds ?? .max
        // The start's own expiry stands in `StartPart`.
        case .start, .register, .unregister: .max
        }
    }

    private func makeStart(_ context: RecordContext, value: Span<UInt8>, now: EngineTime) -> StartPart {
        let writtenSeconds = min(context.record.timestampMillis, now.wallMillis) / 1_000
        var layer = Layer()
        let given = PayloadContent(of: self.event)
        var content = PayloadContent()
        content.attributesType = layer.append(value.extracting(given.attributesType.range))
        content.attributes = layer.append(value.extracting(given.attributes.range))
        content.inputPushChannel = layer.append(value.extracting(given.inputPushChannel.range))
        content.inputPushToken = given.inputPushToken
        return StartPart(
            token: Array(self.event.text[self.event.tokenInText.range]), environment: self.event.environment,
            blob: layer.blob,
            content: content, expiresSeconds: self.event.expiresSeconds ?? writtenSeconds + Self.startExpirySeconds)
    }

    // MARK: Positions

    /// The event may have been taken, and pushed, by an owner before. A forwarded one may have been forwarded twice: its own time tells.
    private func mayBeReplay(_ context: RecordContext) -> Bool {
        let place = context.place
        if context.record.offset < self.partitions[place].replayEnds[Int(context.record.topic)] { return true }
        return context.record.origin != nil
            && context.record.timestampMillis < self.partitions[place].assignedWallMillis
    }

    /// A replay of what `state` already covers (contract §6): only records below the log end seen at assignment can be one.
    private func isApplied(_ context: RecordContext, slot: SlotID) -> Bool {
        let record = context.record
        guard record.offset < self.partitions[context.place].replayEnds[Int(record.topic)] || record.origin != nil
        else { return false }
        if let origin = record.origin {
            let positions = self.routedPositions(of: slot)
            let applied = positions.appliedOrigin
            if applied.topic == origin.topic, applied.partition == origin.partition, origin.offset <= applied.offset {
                return true
            }
            return record.offset <= positions.appliedOffset
        }
        let applied = self.slots[slot].applied
        return applied.isOf(topic: record.topic) && record.offset <= applied.offset
    }

    func routedPositions(of slot: SlotID) -> RoutedPositions {
        guard self.slots[slot].hasRoutedPositions else { return RoutedPositions() }
        return self.routedPositions[slot] ?? RoutedPositions()
    }

    private mutating func noteApplied(_ context: RecordContext, slot: SlotID) {
        let record = context.record
        if record.topic == self.configuration.routedTopicIndex {
            self.slots[slot].hasRoutedPositions = true
            self.routedPositions[slot, default: RoutedPositions()].appliedOffset = record.offset
            if let origin = record.origin {
                self.routedPositions[slot, default: RoutedPositions()].appliedOrigin = origin
            }
        } else {
            self.slots[slot].applied = AppliedPosition(
                offset: record.offset, topic: record.topic)
        }
    }

    /// From here on the slot holds the watermark of this log until a state record covers the event.
    private mutating func openEntry(_ context: RecordContext, slot: SlotID, now: EngineTime) {
        if context.record.topic == self.configuration.routedTopicIndex {
            guard self.slots[slot].openRoutedEntry.isNone else { return }
            self.slots[slot].openRoutedEntry = self.ledger.open(log: context.log, offset: context.record.offset)
        } else {
            let open = self.slots[slot].openEntry
            if open.isSome {
                guard self.ledger.log(of: open) != context.log else { return }
                // Another input topic holds the one place for an entry: a state record takes that one over first.
                self.writeState(slot, now: now)
            }
            self.slots[slot].openEntry = self.ledger.open(log: context.log, offset: context.record.offset)
        }
    }
}
