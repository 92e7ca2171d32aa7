public import PushModel

/// Takes records of the input topics.
extension ShardEngine {
    /// Takes one record of an input topic. Spans are borrowed for the call; what is needed of them is copied.
    ///
    /// The partition must be running (`restoreFinished`). If it is not, the record is ignored and stays uncommitted.
    /// - Parameters:
    ///   - record: where the record is, when it was written, and which of its parts are null.
    ///   - key: empty if `record.hasKey` is false.
    ///   - value: one event as JSON; empty if the record has no value.
    ///   - traceparent: the W3C header's value, empty when absent.
    ///   - now: when the record is taken: waits and windows are counted from here.
    public mutating func consume(
        _ record: InputRecord, key: Span<UInt8>, value: Span<UInt8>, traceparent: Span<UInt8>, now: EngineTime
    ) {
        let hash = self.core.memory.slots.hash(id: key)
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
        guard let partition = self.core.memory.partitions.index(of: record.partition),
            self.core.memory.partitions[partition].phase == .running,
            self.core.memory.partitions[partition].stopReason == nil
        else { return }
        if !self.fanOut.voids.isEmpty, self.fanOut.voids.holdsUp(record, partition: partition) {
            return self.fanOut.voids.wait(
                record, key: key, value: value, traceparent: traceparent, partition: partition)
        }
        let log = self.core.memory.partitions[partition].logs[Int(record.topic)]
        self.core.intake.begin(record, partition: partition, log: log, traceparent: traceparent, now: now)
        guard record.kind == .event else {
            return self.consumeBus(record.kind, key: key, value: value, now: now)
        }
        self.core.journal.ledger.consumed(log: log, offset: record.offset)
        self.core.memory.counters.consumed += 1
        if !self.core.intake.isTimed { self.core.memory.counters.untimed += 1 }
        let known =
            record.hasKey
            ? self.core.memory.slots.findOfAnyApp(id: key, hash: hash, hint: hint, partition: partition) : nil
        do throws(EventRejection) {
            if known == nil {
                try self.core.intake.checkNewKey(key)
                if let proper = self.core.intake.properPartition(key: key, in: self.core.memory) {
                    return self.forward(to: proper, key: key, value: value)
                }
            }
            let app = try self.core.intake.admit(key: key, value: value, in: self.core.memory, now: now)
            if self.shares.areSet { self.shares.remember(app, of: log) }
            if self.core.intake.event.kind == .update || self.core.intake.event.kind == .start {
                self.core.memory.counters.updatesTaken += 1
            }
            switch self.core.intake.event.target {
            case .activity, .token, .startToken: break
            case .channel:
                try self.core.checkRoom(channel: key, app: app, partition: partition)
                return self.consume(for: .channel, app: app, partition: partition, key: key, value: value, now: now)
            case .audience:
                guard self.core.intake.event.kind == .register || self.core.intake.event.kind == .unregister else {
                    return self.consume(
                        for: .audience, app: app, partition: partition, key: key, value: value, now: now)
                }
                return try self.fanOut.consumeMember(app: app, partition: partition, key: key, in: &self.core, now: now)
            }
            if known == nil, self.core.intake.event.kind == .unregister, self.fanOut.isMember(key, of: partition) {
                return try self.fanOut.consumeMember(app: app, partition: partition, key: key, in: &self.core, now: now)
            }
            let isOfApp = known.map { self.core.memory.slots[$0].app == app } ?? false
            let slot =
                isOfApp
                ? known : self.core.memory.slots.find(SlotKey(app: app, id: key), hash: hash, partition: partition)
            if let slot,
                self.core.coalescer.replacePending(
                    of: slot, with: self.core.intake, value: value, in: &self.core.memory, now: now)
            {
                return
            }
            self.apply(kind: .activity, app: app, slot: slot, key: key, hash: hash, value: value, now: now)
        } catch {
            self.core.journal.deadLetter(
                self.core.intake, key: key, value: value, refusal: error, in: &self.core.memory)
        }
    }

    /// Takes a record about a channel or an audience. Nothing was prefetched for such a slot.
    private mutating func consume(
        for kind: SlotKind, app: UInt16, partition: PartitionIndex, key: Span<UInt8>, value: Span<UInt8>,
        now: EngineTime
    ) {
        let slotKey = SlotKey(kind: kind, app: app, id: key)
        let hash = self.core.memory.slots.hash(kind: kind, id: key)
        let slot = self.core.memory.slots.find(slotKey, hash: hash, partition: partition)
        self.apply(kind: kind, app: app, slot: slot, key: key, hash: hash, value: value, now: now)
    }

    private mutating func forward(to partition: Int32, key: Span<UInt8>, value: Span<UInt8>) {
        // Records in inlets (partitions from `partitionCount` on) are always misplaced, and show no fault of the
        // producer's client. So only misplaced records in other partitions are counted.
        if self.core.intake.record.partition < self.core.memory.configuration.partitionCount {
            self.core.intake.countMisplaced(properPartition: partition)
        }
        self.core.journal.forward(self.core.intake, to: partition, key: key, value: value, in: &self.core.memory)
    }

    /// Applies the event to its slot, or writes the event's outcome at once.
    private mutating func apply(
        kind: SlotKind, app: UInt16, slot found: SlotID?, key: Span<UInt8>, hash: UInt32, value: Span<UInt8>,
        now: EngineTime
    ) {
        if let found, self.core.intake.isApplied(to: found, in: self.core.memory) {
            return self.finishEvent(slot: found, outcome: .duplicate, cause: .replay, key: key)
        }
        if found == nil, self.core.intake.event.kind == .unregister {
            return self.finishEvent(slot: nil, outcome: .applied, key: key)
        }
        let slot = found ?? self.core.makeSlot(SlotKey(kind: kind, app: app, id: key), hash: hash, now: now)
        self.core.memory.stay(slot)
        if kind == .audience, self.core.intake.event.kind == .start {
            self.publisher.publishWaitingEnd(slot, in: &self.core, now: now)
        }
        self.core.journal.openEntry(
            for: self.core.intake, slot: slot, budgets: self.core.dispatch.budgets, in: &self.core.memory, now: now)
        self.core.intake.markApplied(to: slot, in: &self.core.memory)
        switch self.core.intake.event.kind {
        case .register: self.register(slot, key: key, now: now)
        case .unregister: self.unregister(slot, key: key, now: now)
        case .start, .update, .end: self.takeContent(slot, key: key, value: value, now: now)
        case .open: self.open(slot, key: key, now: now)
        }
        // If no push will leave, there will be no answer after which a record of `state` is written. The ledger entry
        // opened above needs such a record.
        if !self.core.memory.slots[slot].hasWork { self.core.journal.markDirty(slot, in: &self.core.memory, now: now) }
        self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
    }

    /// Writes at once the outcome of an event that gives the slot no content.
    private mutating func finishEvent(
        slot: SlotID?, outcome: Outcome, cause: OutcomeDetails.Cause = .none, replacedTokenHash: UInt64? = nil,
        key: Span<UInt8>
    ) {
        var details = OutcomeDetails(cause: cause)
        details.replacedTokenHash = replacedTokenHash
        if outcome == .applied, self.core.intake.event.kind == .register,
            self.core.memory.configuration.settings.outcomePublication.includes(.applied)
        {
            details.fill(tokenHash: PushComposer.hash(ofToken: self.core.intake.deviceToken))
        }
        self.core.journal.finishEvent(
            self.core.intake, slot: slot, outcome: outcome, details: details, key: key, in: &self.core.memory)
    }

    /// Supersedes an update that is older than what APNs has accepted. If superseded outcomes are published and the
    /// cause is `older`, the outcome states the times of both events.
    @inline(never) private mutating func finishOlder(
        _ slot: SlotID, timestamp: Int64, cause: OutcomeDetails.Cause, key: Span<UInt8>
    ) {
        var details = OutcomeDetails(cause: cause)
        if self.core.memory.configuration.settings.outcomePublication.includes(.superseded) {
            details.explainAge(of: timestamp, accepted: self.core.memory.slots[slot].lastAcceptedSeconds)
        }
        self.core.journal.finishEvent(
            self.core.intake, slot: slot, outcome: .superseded, details: details, key: key, in: &self.core.memory)
    }

    // MARK: Registrations

    private mutating func register(_ slot: SlotID, key: Span<UInt8>, now: EngineTime) {
        if self.core.memory.slots[slot].life == .ended {
            guard !self.core.memory.slots.hasToken(self.core.intake.deviceToken, slot) else {
                return self.finishEvent(slot: slot, outcome: .late, cause: .afterEnd, key: key)
            }
            self.core.memory.beginNewLife(slot)
        }
        self.core.memory.markAlive(slot)
        let replaced = self.core.memory.hashOfLivingToken(of: slot, replacedBy: self.core.intake.deviceToken)
        self.takeToken(slot)
        self.core.memory.setFrequentUpdates(self.core.intake.event.frequentUpdates, of: slot)
        self.core.memory.touch(slot, now: now)
        self.finishEvent(slot: slot, outcome: .applied, replacedTokenHash: replaced, key: key)
        self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
    }

    /// Unregisters the activity's token. If the event names a token, only that token is meant.
    private mutating func unregister(_ slot: SlotID, key: Span<UInt8>, now: EngineTime) {
        let isMeant =
            self.core.intake.deviceToken.isEmpty || self.core.memory.slots.hasToken(self.core.intake.deviceToken, slot)
        if isMeant, self.core.memory.slots[slot].hasToken { self.core.memory.loseToken(slot, now: now) }
        if let other = self.core.memory.formerTokens[slot],
            other.bytes.span.holdsSameBytes(as: self.core.intake.deviceToken)
        {
            self.core.memory.formerTokens.forget(slot)
        }
        self.finishEvent(slot: slot, outcome: .applied, key: key)
        self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
    }

    /// Makes the event's token the activity's newest one.
    private mutating func takeToken(_ slot: SlotID) {
        let hasMoved = self.core.memory.slots[slot].environment != self.core.intake.event.environment
        self.core.dispatch.setEnvironment(self.core.intake.event.environment, of: slot, in: &self.core.memory)
        let wasUsable = self.core.memory.slots[slot].tokenStanding.isUsable
        // A copy, because a span of the intake's own bytes would borrow the whole engine.
        let text = self.core.intake.event.text
        let isNew = self.core.memory.takeToken(
            text.span.extracting(self.core.intake.event.tokenInText.range), of: slot, hasMoved: hasMoved,
            recordMillis: self.core.intake.writtenMillis)
        if isNew || !wasUsable { self.core.dispatch.forgetFailures(slot, in: &self.core.memory) }
    }

    /// Asks for the audience's channels before the audience's first content arrives.
    private mutating func open(_ slot: SlotID, key: Span<UInt8>, now: EngineTime) {
        switch self.core.memory.slots[slot].life {
        case .ending, .ended: return self.finishEvent(slot: slot, outcome: .late, cause: .afterEnd, key: key)
        case .awaiting, .starting, .started, .alive: break
        }
        self.core.memory.touch(slot, now: now)
        self.finishEvent(slot: slot, outcome: .applied, key: key)
        self.publisher.openChannels(slot, in: &self.core, now: now)
    }

    // MARK: Content

    /// Marks the newest update that waits in an audience's slot. Its version withdraws earlier alerts from members that
    /// have not got them yet.
    private mutating func rememberWithdrawal(_ slot: SlotID) {
        let behind = self.core.memory.slots[slot].behind
        let newest = behind.isSome ? behind : self.core.memory.slots[slot].pending
        if newest.isSome { self.core.memory.updates[newest].withdrawsAlert = true }
    }

    private mutating func takeContent(_ slot: SlotID, key: Span<UInt8>, value: Span<UInt8>, now: EngineTime) {
        let kind = self.core.intake.event.kind
        let expires = self.core.intake.contentExpiresSeconds
        let isExpired = expires <= now.wallSeconds
        let isOfAudience = self.core.memory.slots[slot].kind == .audience
        if isOfAudience, kind == .start, let cause = self.publisher.startRefusal(slot, in: &self.core, now: now) {
            return self.finishEvent(slot: slot, outcome: .expired, cause: cause, key: key)
        }
        // An expired end ends nothing, so events after it are not too late. It leaves the slot before this event is
        // judged. Otherwise the decision would depend on how much of the log an owner reads at once.
        if self.core.memory.slots[slot].life == .ending { self.core.expire(slot, now: now) }
        if let refusal = self.core.memory.enterLife(kind, isExpired: isExpired, of: slot) {
            return self.finishEvent(slot: slot, outcome: refusal.outcome, cause: refusal.cause, key: key)
        }
        if kind == .start, !isOfAudience {
            self.core.dispatch.setEnvironment(self.core.intake.event.environment, of: slot, in: &self.core.memory)
        }
        if self.core.intake.event.target == .channel {
            self.takeChannel(slot, now: now)
        } else if self.core.intake.event.target == .token {
            let standing = self.core.memory.slots[slot].tokenStanding
            if !self.core.memory.slots.hasToken(self.core.intake.deviceToken, slot)
                || (standing != .usable && standing != .proven)
            {
                self.takeToken(slot)
            }
            self.core.memory.markAlive(slot)
        }
        self.core.memory.touch(slot, now: now)
        let timestamp = self.core.intake.orderSeconds(of: slot, in: self.core.memory, now: now)
        let isReplay = self.core.intake.mayBeReplay(in: self.core.memory)
        if kind == .update, timestamp < self.core.memory.slots[slot].lastAcceptedSeconds {
            let wasSent = isReplay && self.core.memory.couldBeSent(slot)
            return self.finishOlder(
                slot, timestamp: timestamp, cause: wasSent ? .mayBeSentBefore : .older, key: key)
        }
        // Expired events end first. Otherwise a newer event could take over parts of them, or give way to them.
        self.core.expire(slot, now: now)
        // If the event had expired when it was written, nobody has sent it.
        let mayBeSent =
            isReplay && self.core.memory.couldBeSent(slot)
            && expires > self.core.intake.writtenAtTheEarliestMillis / 1_000
        if isExpired, !mayBeSent {
            let cause: OutcomeDetails.Cause = self.core.intake.event.expiresSeconds == nil ? .updateStale : .expires
            return self.finishEvent(slot: slot, outcome: .expired, cause: cause, key: key)
        }
        if isReplay, self.core.intake.event.priority == .high {
            self.core.dispatch.countUnrecordedPush(
                slot, recordMillis: self.core.intake.writtenAtTheEarliestMillis, in: &self.core.memory, now: now)
        }
        if isExpired {
            self.core.memory.passUnrecordedStamp(slot, floorSeconds: self.core.intake.timestampSeconds(now: now))
            self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
            return self.finishEvent(slot: slot, outcome: .unknown, cause: .mayBeSent, key: key)
        }
        self.core.intake.fill(
            &self.core.coalescer.scratchLayer, value: value, arrival: self.core.memory.counters.consumed,
            timestamp: timestamp,
            now: now)
        self.core.coalescer.scratchLayer.mayBeSent = mayBeSent
        if kind == .start { self.core.memory.slots[slot].couldBeReached = true }
        var start = kind == .start ? self.core.intake.startPart(value: value, now: now) : nil
        var priority = self.core.intake.event.priority
        if isOfAudience, let part = start {
            self.publisher.keepStart(part, of: slot, in: &self.core)
            // Members of the audience that have update tokens get the start as an ordinary update.
            (start, priority) = (nil, .low)
        }
        self.core.memory.counters.pending += 1
        if self.core.intake.event.withdrawsAlert { self.core.coalescer.withdrawAlerts(of: slot, in: &self.core.memory) }
        self.core.coalescer.merge(
            into: slot, start: start, priority: priority, isReplay: isReplay, in: &self.core.memory,
            now: now)
        if self.core.intake.event.withdrawsAlert, isOfAudience { self.rememberWithdrawal(slot) }
        if kind != .start { self.core.memory.trustDoubtedToken(of: slot) }
        self.core.settleEndings()
    }
}
