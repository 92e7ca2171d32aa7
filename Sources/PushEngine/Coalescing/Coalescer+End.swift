import PushModel

/// Ends events that have not been sent.
extension Coalescer {
    /// Whether an event of the pending update, or the update's start, has expired.
    @inline(__always) func hasExpired(_ slot: SlotID, in memory: borrowing ShardMemory, now: EngineTime) -> Bool {
        let pending = memory.slots[slot].pending
        return pending.isSome && memory.updates[pending].firstExpirySeconds <= now.wallSeconds
    }

    /// Ends events of the pending update that have expired. An older event that is valid for longer replaces a newer
    /// one that has expired. The outcome `expired` promises that the phone never got the event.
    /// - Returns: whether the slot has to be written down.
    mutating func expire(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) -> Bool {
        var isChanged = false
        while self.hasExpired(slot, in: memory, now: now) {
            let update = memory.slots[slot].pending
            let wasStart = memory.updates[update].isStart
            var startCause = OutcomeDetails.Cause.startExpired
            if let start = memory.updates[update].start.first,
                min(start.expiresSeconds, memory.updates[update].staleSeconds) <= now.wallSeconds
            {
                if start.expiresSeconds > now.wallSeconds { startCause = .startStale }
                memory.updates[update].start = []
                memory.rememberFailedStart(slot, outcome: .expired, timestampSeconds: 0)
            }
            let startExpired = wasStart && !memory.updates[update].isStart
            func isOver(_ layer: Layer) -> Bool {
                layer.expiresSeconds <= now.wallSeconds || (startExpired && layer.isStart)
            }
            func expired(_ layer: Layer) -> OutcomeDetails.Cause {
                layer.isStart ? startCause : layer.isExpiredByStaleDate ? .updateStale : .expires
            }
            var index = 0
            while index < memory.updates[update].under.count {
                let layer = memory.updates[update].under[index]
                if isOver(layer) {
                    memory.updates[update].under.remove(at: index)
                    isChanged =
                        self.endUnsent(layer, of: update, outcome: .expired, cause: expired(layer), in: &memory)
                        || isChanged
                } else {
                    index += 1
                }
            }
            let top = memory.updates[update].top
            guard isOver(top) else { continue }
            isChanged = true
            if top.isEnd { memory.reviveAfterFailedEnd(slot) }
            _ = self.endUnsent(top, of: update, outcome: .expired, cause: expired(top), in: &memory)
            if self.endTop(of: update, in: &memory) { self.letOlderGoFirst(update, of: slot, in: &memory) }
        }
        return isChanged
    }

    /// Ends every event of an update unsent, and takes the update out of the slot.
    mutating func endAll(
        _ update: UpdateID, of slot: SlotID, outcome: Outcome, cause: OutcomeDetails.Cause, in memory: inout ShardMemory
    ) {
        for layer in memory.updates[update].under {
            _ = self.endUnsent(layer, of: update, outcome: outcome, cause: cause, in: &memory)
        }
        let top = memory.updates[update].top
        if top.isEnd { memory.reviveAfterFailedEnd(slot) }
        _ = self.endUnsent(top, of: update, outcome: outcome, cause: cause, in: &memory)
        self.dropUpdate(update, of: slot, in: &memory)
    }

    /// Ends the events beneath an update's newest event. The newest has reached the device, and supersedes them.
    @inline(__always) mutating func endUnder(_ update: UpdateID, in memory: inout ShardMemory) {
        guard !memory.updates[update].under.isEmpty else { return }
        let slot = memory.updates[update].slot
        let into = memory.updates[update].top.source
        for layer in memory.updates[update].under {
            self.supersede(layer, of: slot, into: into, keepsAlert: false, keepsPriority: false, in: &memory)
        }
        memory.updates[update].under = []
    }

    /// Ends the newest event of an update. The event beneath replaces it. If no event is beneath, the update leaves the
    /// slot.
    /// - Returns: whether an event was beneath.
    mutating func endTop(of update: UpdateID, in memory: inout ShardMemory) -> Bool {
        guard let next = memory.updates[update].under.popLast() else {
            self.dropUpdate(update, of: memory.updates[update].slot, in: &memory)
            return false
        }
        memory.updates[update].top = next
        memory.updates[update].stampSeconds = nil
        return true
    }

    /// Ends an event that will not be sent. If the event may nevertheless be on the phone, its outcome is `unknown`.
    /// - Returns: whether a stamp was skipped, which has to be written down.
    private mutating func endUnsent(
        _ layer: Layer, of update: UpdateID, outcome: Outcome, cause: OutcomeDetails.Cause, in memory: inout ShardMemory
    ) -> Bool {
        let slot = memory.updates[update].slot
        // Former owners have asked the keeper, too, so nobody has sent anything to a kept channel.
        guard layer.mayBeSent, cause != .channelKept else {
            self.append(Ending(layer, slot: slot, outcome: outcome, cause: cause))
            return false
        }
        self.append(Ending(layer, slot: slot, outcome: .unknown, cause: cause.ifMayBeSent))
        guard memory.updates[update].containsReplay else { return false }
        memory.passUnrecordedStamp(slot, floorSeconds: layer.stampFloorSeconds)
        return true
    }
}
