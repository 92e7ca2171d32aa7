public import PushModel

extension ShardEngine {
    /// Does what has become due: windows that close, budget that returns, content that expires, waits that end, state to be written.
    public mutating func advance(now: EngineTime) {
        while let slot = self.deadlines.popDue(nowMillis: now.steadyMillis) { self.becameDue(slot, now: now) }
        if self.nextMarkerMillis <= now.steadyMillis { self.refreshMarkers(now: now) }
        if self.catchUpEndsMillis != .max { self.advanceCatchUps(now: now) }
        if let due = self.laneDeadlineMillis, due <= now.steadyMillis { self.advanceLanes(now: now) }
        if let flush = self.stateFlushAtMillis, flush <= now.steadyMillis { self.flushStates(now: now) }
    }

    private mutating func becameDue(_ slot: SlotID, now: EngineTime) {
        guard self.partitions[self.slots[slot].partition].sends else {
            // Restoring or leaving: looked at again when the partition runs.
            return
        }
        if self.slots[slot].lifeEndsMillis <= now.steadyMillis {
            guard self.slots[slot].inFlight.isNone else {
                // Its answer, or its time-out, comes first.
                self.slots[slot].lifeEndsMillis = now.steadyMillis + 1_000
                return self.reschedule(slot, now: now)
            }
        }
        _ = self.budgets.spent(&self.slots[slot].budget, nowMillis: now.steadyMillis)
        self.expireContent(slot, now: now)
        self.giveUpWaiting(slot, now: now)
        if self.slots[slot].lifeEndsMillis <= now.steadyMillis { return self.endLife(slot, now: now) }
        let isOpen = self.slots[slot].openEntry.isSome || self.slots[slot].openRoutedEntry.isSome
        if self.slots[slot].pending.isSome, isOpen, self.durableDueMillis(slot) <= now.steadyMillis {
            self.markDirty(slot, now: now)
        }
        self.reschedule(slot, now: now)
    }

    /// Sets aside what may no longer be sent. An older event that outlives a newer one comes to the front again.
    mutating func expireContent(_ slot: SlotID, now: EngineTime) {
        while self.slots[slot].pending.isSome {
            let update = self.slots[slot].pending
            guard self.updates[update].firstExpirySeconds <= now.wallSeconds else { return }
            let wasStart = self.updates[update].isStart
            if let start = self.updates[update].start.first, start.expiresSeconds <= now.wallSeconds {
                self.updates[update].start = []
                if self.slots[slot].life == .starting {
                    self.slots[slot].life = self.slots[slot].hasToken ? .alive : .awaiting
                }
            }
            let startExpired = wasStart && !self.updates[update].isStart
            var place = 0
            while place < self.updates[update].under.count {
                let layer = self.updates[update].under[place]
                if layer.expiresSeconds <= now.wallSeconds || (startExpired && layer.isStart) {
                    self.updates[update].under.remove(at: place)
                    self.finishExpired(layer, of: update, slot: slot, now: now)
                } else {
                    place += 1
                }
            }
            let top = self.updates[update].top
            guard top.expiresSeconds <= now.wallSeconds || (startExpired && top.isStart) else { continue }
            if top.isEnd { self.reviveAfterFailedEnd(slot) }
            self.finishExpired(top, of: update, slot: slot, now: now)
            if let next = self.updates[update].under.popLast() {
                self.updates[update].top = next
                self.updates[update].stampSeconds = nil
                self.letAlertGoFirst(update, of: slot)
            } else {
                self.dropUpdate(update, of: slot)
            }
            self.markDirty(slot, now: now)
        }
    }

    /// Whoever reads "expired" may rely on it that the phone never got it.
    private mutating func finishExpired(_ layer: Layer, of update: UpdateID, slot: SlotID, now: EngineTime) {
        self.finishUnsent(
            layer, of: update, slot: slot, outcome: .expired,
            details: OutcomeDetails(cause: layer.isStart ? .startExpired : .expires), now: now)
    }

    /// No usable token came in time (contract §3): the update is given up.
    private mutating func giveUpWaiting(_ slot: SlotID, now: EngineTime) {
        while self.slots[slot].pending.isSome {
            let update = self.slots[slot].pending
            guard !self.updates[update].isStart, !self.slots[slot].hasUsableToken,
                self.slots[slot].inFlight.isNone,
                self.tokenWaitEndsMillis(slot) <= now.steadyMillis
            else { return }
            let isDead = self.slots[slot].hasToken
            if self.slots[slot].tokenStanding == .doubted {
                self.slots[slot].tokenStanding = .usable
                // One that came after the refusal has not tried the token yet.
                if self.updates[update].firstUnsentMillis > self.slots[slot].tokenMissingSinceMillis { return }
            }
            self.finishAll(
                of: update, slot: slot, outcome: isDead ? .rejected : .unregistered,
                details: OutcomeDetails(cause: isDead ? .deadToken : .noToken), now: now)
            self.markDirty(slot, now: now)
        }
    }

    /// Gives every event of an update its outcome and takes the update out of the slot.
    private mutating func finishAll(
        of update: UpdateID, slot: SlotID, outcome: Outcome, details: OutcomeDetails, now: EngineTime
    ) {
        for layer in self.updates[update].under {
            self.finishUnsent(layer, of: update, slot: slot, outcome: outcome, details: details, now: now)
        }
        let top = self.updates[update].top
        if top.isEnd { self.reviveAfterFailedEnd(slot) }
        self.finishUnsent(top, of: update, slot: slot, outcome: outcome, details: details, now: now)
        self.dropUpdate(update, of: slot)
    }

    /// An event that is not sent any more. One that may be on the phone all the same is not said to be set aside.
    private mutating func finishUnsent(
        _ layer: Layer, of update: UpdateID, slot: SlotID, outcome: Outcome, details: OutcomeDetails, now: EngineTime
    ) {
        if layer.mayBeSent {
            if self.updates[update].containsReplay {
                self.passUnrecordedStamp(slot, floorSeconds: layer.stampFloorSeconds, now: now)
            }
            self.finishLayer(
                layer, of: slot, outcome: .unknown, details: OutcomeDetails(cause: .mayBeSent), now: now)
        } else {
            self.finishLayer(layer, of: slot, outcome: outcome, details: details, now: now)
        }
    }

    /// Twelve hours without a start or update, or the retention after an end: the slot leaves memory and the changelog.
    private mutating func endLife(_ slot: SlotID, now: EngineTime) {
        while self.slots[slot].pending.isSome {
            self.finishAll(
                of: self.slots[slot].pending, slot: slot, outcome: .expired,
                details: OutcomeDetails(cause: .lifeOver), now: now)
        }
        self.leaveReadyQueue(slot)
        self.slots[slot].isLeaving = true
        self.markDirty(slot, now: now)
    }
}
