public import PushModel

/// Does what is due.
extension ShardEngine {
    /// When `advance` should be called next (steady clock); `nil`: nothing is waiting for a time.
    public var nextDeadlineMillis: Int64? {
        // Times are compared two at a time: `min` with more arguments allocates an array.
        var earliest = min(self.core.dispatch.nextDeadlineMillis, self.core.journal.stateFlushAtMillis ?? .max)
        earliest = min(earliest, min(self.ownership.nextDeadlineMillis, self.audienceDeadlineMillis))
        earliest = min(earliest, min(self.channelDeadlineMillis, self.review?.dueMillis ?? .max))
        return earliest == .max ? nil : earliest
    }

    /// When fan-out, or a roll-up of an audience, has something to do (steady clock). `Int64.max`: nothing waits for a
    /// time.
    private var audienceDeadlineMillis: Int64 {
        min(self.fanOut.nextDeadlineMillis, self.publisher.rollUpDeadlines.earliestMillis ?? .max)
    }

    /// Does what has become due. Windows close, budget returns, content expires, waits end, and state is written.
    public mutating func advance(now: EngineTime) {
        while let slot = self.core.dispatch.popDue(now: now) { self.becameDue(slot, now: now) }
        if self.audienceDeadlineMillis <= now.steadyMillis {
            self.fanOut.advanceCrowds(in: &self.core, now: now)
            self.publisher.advanceRollUps(in: &self.core, now: now)
            self.fanOut.forgetLeavers(in: &self.core, now: now)
        }
        if self.channelDeadlineMillis <= now.steadyMillis { self.advanceChannels(now: now) }
        self.refreshMarkers(now: now)
        self.advanceCatchUps(now: now)
        self.core.dispatch.advanceGates(in: &self.core.memory, now: now)
        if self.review != nil { self.goOnReviewing(now: now) }
        if let flush = self.core.journal.stateFlushAtMillis, flush <= now.steadyMillis { self.flushStates(now: now) }
    }

    private mutating func becameDue(_ slot: SlotID, now: EngineTime) {
        guard self.core.memory.partitions[self.core.memory.slots[slot].partition].sends else {
            // The partition is restoring or leaving. After a restore, the slot is looked at again.
            return
        }
        let isOver = self.core.memory.slots[slot].lifeEndsMillis <= now.steadyMillis
        if isOver, self.core.memory.slots[slot].inFlight.isSome || self.core.memory.hasOpenVersion(slot) {
            // The life does not end while a push has no answer, or while the event of a version has no outcome.
            self.core.memory.prolongLife(slot, now: now)
            return self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
        }
        self.core.dispatch.releaseReturnedBudget(slot, in: &self.core.memory, now: now)
        self.core.expire(slot, now: now)
        self.giveUpWaiting(slot, now: now)
        if isOver { return self.endLife(slot, now: now) }
        self.core.askKeeper(slot, now: now)
        self.giveUpQuestion(slot, now: now)
        if self.core.dispatch.mustBeDurable(slot, in: self.core.memory, now: now) {
            self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
        }
        self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
    }

    /// Gives up the slot's updates for which no usable token arrived in time (contract: No token yet).
    private mutating func giveUpWaiting(_ slot: SlotID, now: EngineTime) {
        while self.core.memory.slots[slot].pending.isSome {
            let update = self.core.memory.slots[slot].pending
            guard !self.core.memory.updates[update].isStart, !self.core.memory.slots[slot].hasUsableToken,
                self.core.memory.slots[slot].inFlight.isNone,
                self.core.dispatch.tokenWaitEndsMillis(slot, in: self.core.memory) <= now.steadyMillis
            else { return }
            let cause = self.core.memory.causeOfGivingUp(slot)
            self.core.memory.trustDoubtedToken(of: slot)
            // A former owner can only have sent something to a token, and the token's registration would have been read
            // here by now.
            if cause == .noToken, !self.core.memory.slots[slot].couldBeReached,
                !self.core.journal.isBehind(self.core.memory.slots[slot].partition, in: self.core.memory)
            {
                self.core.coalescer.mark(update, mayBeSent: false, in: &self.core.memory)
            }
            self.endPending(slot, outcome: cause == .noToken ? .unregistered : .rejected, cause: cause)
            self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
        }
    }

    /// Gives up the slot's pending update. If another update is behind it, that one becomes pending.
    mutating func endPending(_ slot: SlotID, outcome: Outcome, cause: OutcomeDetails.Cause) {
        self.core.coalescer.endAll(
            self.core.memory.slots[slot].pending, of: slot, outcome: outcome, cause: cause, in: &self.core.memory)
        self.core.settleEndings()
    }
}
