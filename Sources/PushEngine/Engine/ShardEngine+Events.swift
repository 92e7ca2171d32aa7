public import PushModel

/// Takes records of the input topics.
extension ShardEngine {
    /// Takes one record of an input topic. Spans are borrowed for the call; what is needed of them is copied.
    ///
    /// The partition must be running (`restoreFinished`). A record of another is ignored and stays uncommitted.
    /// - Parameters:
    ///   - record: where the record is, when it was written, and which of its parts are null.
    ///   - key: empty when `record.hasKey` is false; likewise `value`.
    ///   - value: one event as JSON.
    ///   - traceparent: the W3C header's value, empty when absent.
    ///   - now: when the record is taken: waits and windows are counted from here.
    public mutating func consume(
        _ record: InputRecord, key: Span<UInt8>, value: Span<UInt8>, traceparent: Span<UInt8>, now: EngineTime
    ) {
        let hash = self.memory.slots.hash(id: key)
        self.consume(record, key: key, hash: hash, value: value, traceparent: traceparent, now: now)
        self.advanceCatchUps(now: now)
    }

    /// Takes one record whose key has been hashed.
    /// - Parameters:
    ///   - hash: the key's hash, as the index computes it.
    ///   - hint: the slot that the activity probably has; `none`: not known.
    mutating func consume(
        _ record: InputRecord, key: Span<UInt8>, hash: UInt32, hint: SlotID = .none, value: Span<UInt8>,
        traceparent: Span<UInt8>, now: EngineTime
    ) {
        guard let partition = self.memory.partitions.index(of: record.partition),
            self.memory.partitions[partition].phase == .running,
            self.memory.partitions[partition].stopReason == nil
        else { return }
        if !self.audiences.voids.isEmpty, self.audiences.voids.holdsUp(record, partition: partition) {
            return self.audiences.voids.wait(
                record, key: key, value: value, traceparent: traceparent, partition: partition)
        }
        let log = self.memory.partitions[partition].logs[Int(record.topic)]
        self.intake.begin(record, partition: partition, log: log, traceparent: traceparent, now: now)
        guard record.kind == .event else {
            return self.consumeBus(record.kind, key: key, value: value, now: now)
        }
        self.journal.ledger.consumed(log: log, offset: record.offset)
        self.memory.counters.consumed += 1
        if !self.intake.isTimed { self.memory.counters.untimed += 1 }
        let known =
            record.hasKey
            ? self.memory.slots.findOfAnyApp(id: key, hash: hash, hint: hint, partition: partition) : nil
        do throws(EventRejection) {
            if known == nil {
                try self.intake.checkNewKey(key)
                if let proper = self.intake.properPartition(key: key, in: self.memory) {
                    return self.forward(to: proper, key: key, value: value)
                }
            }
            let app = try self.intake.admit(key: key, value: value, in: self.memory, now: now)
            if self.shares.areSet { self.shares.note(app, of: log) }
            if self.intake.event.kind == .update || self.intake.event.kind == .start {
                self.memory.counters.updatesTaken += 1
            }
            switch self.intake.event.target {
            case .activity, .token, .startToken: break
            case .channel:
                try self.checkRoom(channel: key, app: app, partition: partition)
                return self.consume(for: .channel, app: app, partition: partition, key: key, value: value, now: now)
            case .audience:
                guard self.intake.event.kind == .register || self.intake.event.kind == .unregister else {
                    return self.consume(
                        for: .audience, app: app, partition: partition, key: key, value: value, now: now)
                }
                return try self.consumeMember(app: app, partition: partition, key: key, now: now)
            }
            if known == nil, self.intake.event.kind == .unregister, self.isMember(key, of: partition) {
                return try self.consumeMember(app: app, partition: partition, key: key, now: now)
            }
            let isOfApp = known.map { self.memory.slots[$0].app == app } ?? false
            let slot =
                isOfApp
                ? known : self.memory.slots.find(SlotKey(app: app, id: key), hash: hash, partition: partition)
            if let slot,
                self.coalescer.replacePending(of: slot, with: self.intake, value: value, in: &self.memory, now: now)
            {
                return
            }
            self.apply(kind: .activity, app: app, slot: slot, key: key, hash: hash, value: value, now: now)
        } catch {
            self.journal.deadLetter(self.intake, key: key, value: value, refusal: error, in: &self.memory)
        }
    }

    /// Takes a record of another kind. The prefetch knows activities only.
    private mutating func consume(
        for kind: SlotKind, app: UInt16, partition: PartitionIndex, key: Span<UInt8>, value: Span<UInt8>,
        now: EngineTime
    ) {
        let slotKey = SlotKey(kind: kind, app: app, id: key)
        let hash = self.memory.slots.hash(kind: kind, id: key)
        let slot = self.memory.slots.find(slotKey, hash: hash, partition: partition)
        self.apply(kind: kind, app: app, slot: slot, key: key, hash: hash, value: value, now: now)
    }

    private mutating func forward(to partition: Int32, key: Span<UInt8>, value: Span<UInt8>) {
        // Only partitions below the configured number show a fault of the producer's client.
        if self.intake.record.partition < self.memory.configuration.partitionCount {
            self.intake.noteMisplaced(properPartition: partition)
        }
        self.journal.forward(self.intake, to: partition, key: key, value: value, in: &self.memory)
    }

    /// Merges the event into its slot, or ends it.
    private mutating func apply(
        kind: SlotKind, app: UInt16, slot found: SlotID?, key: Span<UInt8>, hash: UInt32, value: Span<UInt8>,
        now: EngineTime
    ) {
        if let found, self.intake.isApplied(to: found, in: self.memory) {
            return self.finishEvent(slot: found, outcome: .duplicate, cause: .replay, key: key)
        }
        if found == nil, self.intake.event.kind == .unregister {
            return self.finishEvent(slot: nil, outcome: .applied, key: key)
        }
        let slot = found ?? self.makeSlot(SlotKey(kind: kind, app: app, id: key), hash: hash, now: now)
        self.memory.stay(slot)
        if kind == .audience, self.intake.event.kind == .start { self.publishWaitingEnd(slot, now: now) }
        self.journal.openEntry(
            for: self.intake, slot: slot, budgets: self.dispatch.budgets, in: &self.memory, now: now)
        self.intake.noteApplied(to: slot, in: &self.memory)
        switch self.intake.event.kind {
        case .register: self.register(slot, key: key, now: now)
        case .unregister: self.unregister(slot, key: key, now: now)
        case .start, .update, .end: self.takeContent(slot, key: key, value: value, now: now)
        case .open: self.open(slot, key: key, now: now)
        }
        // Nothing will leave whose answer writes a record, so the entry opened above needs a record of its own.
        if !self.memory.slots[slot].hasWork { self.journal.markDirty(slot, in: &self.memory, now: now) }
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }

    mutating func makeSlot(_ key: borrowing SlotKey, hash: UInt32, now: EngineTime) -> SlotID {
        let slot = self.memory.makeSlot(key, hash: hash, partition: self.intake.partition)
        self.memory.touch(slot, now: now)
        if key.kind == .channel {
            self.dispatch.beginChannel(slot, in: &self.memory, now: now)
            // An earlier owner may have sent the event and died over its first record.
            if self.intake.mayBeReplay(in: self.memory) {
                self.dispatch.keepDistanceFromFormerOwner(slot, in: &self.memory)
            }
            self.memory.noteAlive(slot)
        }
        if key.kind == .audience {
            self.dispatch.setErrand(.version, of: slot, in: &self.memory)
            self.memory.noteAlive(slot)
        }
        return slot
    }

    /// Gives an event that never became content its outcome at once.
    private mutating func finishEvent(
        slot: SlotID?, outcome: Outcome, cause: OutcomeDetails.Cause = .none, replacedTokenHash: UInt64? = nil,
        key: Span<UInt8>
    ) {
        var details = OutcomeDetails(cause: cause)
        details.replacedTokenHash = replacedTokenHash
        if outcome == .applied, self.intake.event.kind == .register,
            self.memory.configuration.settings.outcomePublication.includes(.applied)
        {
            details.fill(tokenHash: PushComposer.hash(ofToken: self.intake.deviceToken))
        }
        self.journal.finishEvent(
            self.intake, slot: slot, outcome: outcome, details: details, key: key, in: &self.memory)
    }

    // MARK: Registrations

    private mutating func register(_ slot: SlotID, key: Span<UInt8>, now: EngineTime) {
        if self.memory.slots[slot].life == .ended {
            guard !self.memory.slots.hasToken(self.intake.deviceToken, slot) else {
                return self.finishEvent(slot: slot, outcome: .late, cause: .afterEnd, key: key)
            }
            self.memory.beginNewLife(slot)
        }
        self.memory.noteAlive(slot)
        let replaced = self.memory.hashOfLivingToken(of: slot, replacedBy: self.intake.deviceToken)
        self.takeToken(slot)
        self.memory.setFrequentUpdates(self.intake.event.frequentUpdates, of: slot)
        self.memory.touch(slot, now: now)
        self.finishEvent(slot: slot, outcome: .applied, replacedTokenHash: replaced, key: key)
        self.journal.markDirty(slot, in: &self.memory, now: now)
    }

    /// Unregisters the activity's token. An event that names a token means that token only.
    private mutating func unregister(_ slot: SlotID, key: Span<UInt8>, now: EngineTime) {
        let isMeant =
            self.intake.deviceToken.isEmpty || self.memory.slots.hasToken(self.intake.deviceToken, slot)
        if isMeant, self.memory.slots[slot].hasToken { self.memory.loseToken(slot, now: now) }
        if let other = self.memory.formerTokens[slot], other.bytes.span.holdsSameBytes(as: self.intake.deviceToken) {
            self.memory.formerTokens.forget(slot)
        }
        self.finishEvent(slot: slot, outcome: .applied, key: key)
        self.journal.markDirty(slot, in: &self.memory, now: now)
    }

    /// Makes the event's token the activity's newest one.
    private mutating func takeToken(_ slot: SlotID) {
        let hasMoved = self.memory.slots[slot].environment != self.intake.event.environment
        self.dispatch.setEnvironment(self.intake.event.environment, of: slot, in: &self.memory)
        // A span of the intake's own would borrow the whole engine.
        let text = self.intake.event.text
        let isNew = self.memory.takeToken(
            text.span.extracting(self.intake.event.tokenInText.range), of: slot, hasMoved: hasMoved,
            recordMillis: self.intake.writtenMillis)
        if isNew { self.dispatch.forgetFailures(slot, in: &self.memory) }
    }

    /// Opens the channel kept for the audience, before its first content arrives.
    private mutating func open(_ slot: SlotID, key: Span<UInt8>, now: EngineTime) {
        switch self.memory.slots[slot].life {
        case .ending, .ended: return self.finishEvent(slot: slot, outcome: .late, cause: .afterEnd, key: key)
        case .awaiting, .starting, .started, .alive: break
        }
        self.memory.touch(slot, now: now)
        self.finishEvent(slot: slot, outcome: .applied, key: key)
        self.openChannels(slot, now: now)
    }

    // MARK: Content

    /// Withdraws alerts of earlier versions from members that have not got them.
    private mutating func noteWithdrawal(_ slot: SlotID) {
        let behind = self.memory.slots[slot].behind
        let newest = behind.isSome ? behind : self.memory.slots[slot].pending
        if newest.isSome { self.memory.updates[newest].withdrawsAlert = true }
    }

    private mutating func takeContent(_ slot: SlotID, key: Span<UInt8>, value: Span<UInt8>, now: EngineTime) {
        let kind = self.intake.event.kind
        let expires = self.intake.contentExpiresSeconds
        let isExpired = expires <= now.wallSeconds
        let isOfAudience = self.memory.slots[slot].kind == .audience
        if isOfAudience, kind == .start, let cause = self.startRefusal(slot, now: now) {
            return self.finishEvent(slot: slot, outcome: .expired, cause: cause, key: key)
        }
        // An end that may no longer be sent ends nothing. No event is late for it, whether it has been set aside yet or
        // not. All owners agree on that, however much of the log each reads at once.
        if self.memory.slots[slot].life == .ending { self.expire(slot, now: now) }
        if let refusal = self.memory.enterLife(kind, isExpired: isExpired, of: slot) {
            return self.finishEvent(slot: slot, outcome: refusal.outcome, cause: refusal.cause, key: key)
        }
        if kind == .start, !isOfAudience {
            self.dispatch.setEnvironment(self.intake.event.environment, of: slot, in: &self.memory)
        }
        if self.intake.event.target == .channel {
            self.takeChannel(slot, now: now)
        } else if self.intake.event.target == .token {
            let standing = self.memory.slots[slot].tokenStanding
            if !self.memory.slots.hasToken(self.intake.deviceToken, slot)
                || (standing != .usable && standing != .proven)
            {
                self.takeToken(slot)
            }
            self.memory.noteAlive(slot)
        }
        self.memory.touch(slot, now: now)
        let timestamp = self.intake.orderSeconds(of: slot, in: self.memory, now: now)
        let isReplay = self.intake.mayBeReplay(in: self.memory)
        if kind == .update, timestamp < self.memory.slots[slot].lastAcceptedSeconds {
            let wasSent = isReplay && self.memory.couldBeSent(slot)
            return self.finishEvent(
                slot: slot, outcome: .superseded, cause: wasSent ? .mayBeSentBefore : .older, key: key)
        }
        // Expired events are set aside before anything can take over from them, or give way to them.
        self.expire(slot, now: now)
        // Nobody has sent an event that had expired when it was written.
        let mayBeSent =
            isReplay && self.memory.couldBeSent(slot) && expires > self.intake.writtenAtTheEarliestMillis / 1_000
        if isExpired {
            guard mayBeSent else {
                let cause: OutcomeDetails.Cause = self.intake.event.expiresSeconds == nil ? .updateStale : .expires
                return self.finishEvent(slot: slot, outcome: .expired, cause: cause, key: key)
            }
            self.memory.passUnrecordedStamp(slot, floorSeconds: self.intake.timestampSeconds(now: now))
            self.journal.markDirty(slot, in: &self.memory, now: now)
            return self.finishEvent(slot: slot, outcome: .unknown, cause: .mayBeSent, key: key)
        }
        self.intake.fill(
            &self.coalescer.scratchLayer, value: value, arrival: self.memory.counters.consumed, timestamp: timestamp,
            now: now)
        self.coalescer.scratchLayer.mayBeSent = mayBeSent
        var start = kind == .start ? self.intake.startPart(value: value, now: now) : nil
        var priority = self.intake.event.priority
        if isOfAudience, let part = start {
            self.keepStart(part, of: slot)
            // For the audience's update members the start is an update like others.
            (start, priority) = (nil, .low)
        }
        if isReplay, self.intake.event.priority == .high {
            self.dispatch.countUnrecordedPush(
                slot, recordMillis: self.intake.writtenAtTheEarliestMillis, in: &self.memory, now: now)
        }
        self.memory.counters.pending += 1
        if self.intake.event.withdrawsAlert { self.coalescer.withdrawAlerts(of: slot, in: &self.memory) }
        self.coalescer.merge(
            into: slot, start: start, priority: priority, isReplay: isReplay, in: &self.memory,
            now: now)
        if self.intake.event.withdrawsAlert, isOfAudience { self.noteWithdrawal(slot) }
        self.settleEndings()
    }
}
