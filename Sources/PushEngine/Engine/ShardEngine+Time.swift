public import PushModel

/// Does what is due.
extension ShardEngine {
    /// When `advance` should be called next, steady; `nil`: nothing is waiting for a time.
    public var nextDeadlineMillis: Int64? {
        // Compared two at a time: a call with more allocates an array.
        var earliest = min(self.dispatch.nextDeadlineMillis, self.journal.stateFlushAtMillis ?? .max)
        earliest = min(earliest, min(self.ownership.nextDeadlineMillis, self.audienceDeadlineMillis))
        earliest = min(earliest, min(self.keeperDeadlineMillis, self.review?.dueMillis ?? .max))
        return earliest == .max ? nil : earliest
    }

    /// When a crowd, or a message to an audience's owner, has something to do, steady. `Int64.max`: nothing waits for a
    /// time.
    private var audienceDeadlineMillis: Int64 {
        min(self.audiences.nextDeadlineMillis, self.rollUpDeadlines.earliestMillis ?? .max)
    }

    /// Does what has become due: windows that close, budget that returns, content that expires, waits that end, state to be written.
    public mutating func advance(now: EngineTime) {
        while let slot = self.dispatch.popDue(now: now) { self.becameDue(slot, now: now) }
        if self.audienceDeadlineMillis <= now.steadyMillis {
            self.advanceCrowds(now: now)
            self.advanceRollUps(now: now)
            self.forgetLeavers(now: now)
        }
        if self.keeperDeadlineMillis <= now.steadyMillis { self.advanceKeepers(now: now) }
        self.refreshMarkers(now: now)
        self.advanceCatchUps(now: now)
        self.dispatch.advanceGates(in: &self.memory, now: now)
        if self.review != nil { self.goOnReviewing(now: now) }
        if let flush = self.journal.stateFlushAtMillis, flush <= now.steadyMillis { self.flushStates(now: now) }
    }

    private mutating func becameDue(_ slot: SlotID, now: EngineTime) {
        guard self.memory.partitions[self.memory.slots[slot].partition].sends else {
            // The partition is restoring or leaving. The slot is looked at again when it runs.
            return
        }
        let isOver = self.memory.slots[slot].lifeEndsMillis <= now.steadyMillis
        if isOver, self.memory.slots[slot].inFlight.isSome || self.memory.hasOpenVersion(slot) {
            // The push's answer, or its time-out, arrives first.
            self.memory.prolongLife(slot, now: now)
            return self.dispatch.reschedule(slot, in: &self.memory, now: now)
        }
        self.dispatch.releaseReturnedBudget(slot, in: &self.memory, now: now)
        self.expire(slot, now: now)
        self.giveUpWaiting(slot, now: now)
        if isOver { return self.endLife(slot, now: now) }
        self.askKeeper(slot, now: now)
        self.giveUpQuestion(slot, now: now)
        if self.dispatch.mustBeDurable(slot, in: self.memory, now: now) {
            self.journal.markDirty(slot, in: &self.memory, now: now)
        }
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }

    /// Gives up an update for which no usable token arrived in time (contract: No token yet).
    private mutating func giveUpWaiting(_ slot: SlotID, now: EngineTime) {
        while self.memory.slots[slot].pending.isSome {
            let update = self.memory.slots[slot].pending
            guard !self.memory.updates[update].isStart, !self.memory.slots[slot].hasUsableToken,
                self.memory.slots[slot].inFlight.isNone,
                self.dispatch.tokenWaitEndsMillis(slot, in: self.memory) <= now.steadyMillis
            else { return }
            let isDead = self.memory.slots[slot].hasToken
            if self.memory.slots[slot].tokenStanding == .doubted {
                self.memory.trustToken(of: slot)
                // An update that arrived after the refusal has not tried the token yet.
                let since = self.memory.slots[slot].tokenMissingSinceMillis
                if self.memory.updates[update].firstUnsentMillis > since { return }
            }
            let isKept = self.memory.slots[slot].tokenStanding == .kept
            let deadCause: OutcomeDetails.Cause =
                isKept ? .channelKept : self.memory.slots[slot].kind == .channel ? .channelGone : .deadToken
            self.endPending(
                slot, outcome: isDead ? .rejected : .unregistered, cause: isDead ? deadCause : .noToken)
            self.journal.markDirty(slot, in: &self.memory, now: now)
        }
    }

    /// Gives up what waits.
    mutating func endPending(_ slot: SlotID, outcome: Outcome, cause: OutcomeDetails.Cause) {
        self.coalescer.endAll(
            self.memory.slots[slot].pending, of: slot, outcome: outcome, cause: cause, in: &self.memory)
        self.settleEndings()
    }
}
