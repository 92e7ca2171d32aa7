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

    private mutating func becameDue(_ slot: Int32, now: EngineTime) {
        guard self.partitions[Int(self.slots[Int(slot)].partition)].sends else {
            // Restoring or leaving: looked at again when the partition runs.
            return
        }
        if self.slots[Int(slot)].lifeEndsMillis <= now.steadyMillis {
            guard self.slots[Int(slot)].inFlight < 0 else {
                // Its answer, or its time-out, comes first.
                self.slots[Int(slot)].lifeEndsMillis = now.steadyMillis + 1_000
                return self.reschedule(slot, now: now)
            }
        }
        _ = self.budgets.spent(&self.slots[Int(slot)].budget, nowMillis: now.steadyMillis)
        self.expireContent(slot, now: now)
        self.giveUpWaiting(slot, now: now)
        if self.slots[Int(slot)].lifeEndsMillis <= now.steadyMillis { return self.endLife(slot, now: now) }
        let isOpen = self.slots[Int(slot)].openEntry >= 0 || self.slots[Int(slot)].openRoutedEntry >= 0
        if self.slots[Int(slot)].pending >= 0, isOpen, self.durableDueMillis(slot) <= now.steadyMillis {
            self.markDirty(slot, now: now)
        }
        self.reschedule(slot, now: now)
    }

    /// Sets aside what may no longer be sent. An older event that outlives a newer one comes to the front again.
    mutating func expireContent(_ slot: Int32, now: EngineTime) {
        while self.slots[Int(slot)].pending >= 0 {
            let update = self.slots[Int(slot)].pending
            guard self.updates[update].firstExpirySeconds <= now.wallSeconds else { return }
            let wasStart = self.updates[update].isStart
            if let start = self.updates[update].start.first, start.expiresSeconds <= now.wallSeconds {
                self.updates[update].start = []
                if self.slots[Int(slot)].life == .starting {
                    self.slots[Int(slot)].life = self.slots[Int(slot)].hasToken ? .alive : .awaiting
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
    private mutating func finishExpired(_ layer: Layer, of update: Int32, slot: Int32, now: EngineTime) {
        self.finishUnsent(
            layer, of: update, slot: slot, outcome: .expired,
            details: OutcomeDetails(cause: layer.isStart ? .startExpired : .expires), now: now)
    }

    /// No usable token came in time (contract §3): the update is given up.
    private mutating func giveUpWaiting(_ slot: Int32, now: EngineTime) {
        while self.slots[Int(slot)].pending >= 0 {
            let update = self.slots[Int(slot)].pending
            guard !self.updates[update].isStart, !self.slots[Int(slot)].hasUsableToken,
                self.slots[Int(slot)].inFlight < 0,
                self.tokenWaitEndsMillis(slot) <= now.steadyMillis
            else { return }
            let isDead = self.slots[Int(slot)].hasToken
            if self.slots[Int(slot)].tokenStanding == .doubted {
                self.slots[Int(slot)].tokenStanding = .usable
                // One that came after the refusal has not tried the token yet.
                if self.updates[update].firstUnsentMillis > self.slots[Int(slot)].tokenMissingSinceMillis { return }
            }
            self.finishAll(
                of: update, slot: slot, outcome: isDead ? .rejected : .unregistered,
                details: OutcomeDetails(cause: isDead ? .deadToken : .noToken), now: now)
            self.markDirty(slot, now: now)
        }
    }

    /// Gives every event of an update its outcome and takes the update out of the slot.
    private mutating func finishAll(
        of update: Int32, slot: Int32, outcome: Outcome, details: OutcomeDetails, now: EngineTime
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
        _ layer: Layer, of update: Int32, slot: Int32, outcome: Outcome, details: OutcomeDetails, now: EngineTime
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
    private mutating func endLife(_ slot: Int32, now: EngineTime) {
        while self.slots[Int(slot)].pending >= 0 {
            self.finishAll(
                of: self.slots[Int(slot)].pending, slot: slot, outcome: .expired,
                details: OutcomeDetails(cause: .lifeOver), now: now)
        }
        self.leaveReadyQueue(slot)
        self.slots[Int(slot)].isLeaving = true
        self.markDirty(slot, now: now)
    }
}
