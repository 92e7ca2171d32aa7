import PushModel

/// `"alert": null` (contract: Withdrawn alerts): the goal was none. An alert that has not been sent does not sound any more.
extension Coalescer {
    /// The event in `scratchLayer` withdraws the alerts that are not newer than itself; an `end`, which is the last word whatever its
    /// timestamp, all of them. It is merged after this, like any event.
    ///
    /// What is in flight may have sounded; should it be sent again, it does so without. A start keeps its alert, as no phone would show it
    /// without one.
    mutating func withdrawAlerts(of slot: SlotID, in memory: inout ShardMemory) {
        let newestSeconds = self.scratchLayer.isEnd ? .max : self.scratchLayer.timestampSeconds
        let pending = memory.slots[slot].pending
        let behind = memory.slots[slot].behind
        for update in [memory.slots[slot].inFlight, pending, behind] where update.isSome {
            guard !memory.updates[update].isStart else { continue }
            for index in memory.updates[update].under.indices {
                _ = memory.updates[update].under[index].withdrawAlert(upTo: newestSeconds)
            }
            guard memory.updates[update].top.withdrawAlert(upTo: newestSeconds) else { continue }
            // Another content has another stamp. Of what is in flight, `state` goes on saying with which one it left.
            if update == memory.slots[slot].inFlight {
                memory.updates[update].isChangedInFlight = true
            } else {
                memory.updates[update].stampSeconds = nil
            }
        }
        // It was for its alert alone that `pending` was to go first.
        guard behind.isSome, !memory.updates[pending].isStart, memory.updates[pending].top.alert.isEmpty else { return }
        var event = Layer()
        swap(&event, &self.scratchLayer)
        self.foldBehind(slot, into: pending, in: &memory)
        swap(&event, &self.scratchLayer)
    }
}

extension Layer {
    /// Gives up an alert that is not newer than that, and remembers so for the outcome.
    /// - Returns: whether there was one.
    fileprivate mutating func withdrawAlert(upTo seconds: Int64) -> Bool {
        guard !self.alert.isEmpty, self.alertSeconds <= seconds else { return false }
        self.alert = ByteRange()
        self.alertIsInherited = false
        self.alertIsWithdrawn = true
        self.dropUncoveredBytes()
        return true
    }
}
