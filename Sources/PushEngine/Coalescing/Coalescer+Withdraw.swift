import PushModel

/// Withdraws alerts when an event has `"alert": null` (contract: Withdrawn alerts), for instance because a goal was
/// disallowed. A withdrawn alert that has not been sent does not sound.
extension Coalescer {
    /// Withdraws the alerts that are not newer than the event in `scratchLayer`. An `end` withdraws all alerts, because
    /// an `end` is final no matter what its timestamp is. The event itself is merged afterwards, like any event.
    ///
    /// An alert in flight may have sounded. If its update is sent again, it is sent without the alert. A start keeps
    /// its alert, because no phone would show a start without an alert.
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
            // The changed content needs another stamp. The update in flight keeps its stamp until the answer, because
            // it left with that stamp.
            if update == memory.slots[slot].inFlight {
                memory.updates[update].isChangedInFlight = true
            } else {
                memory.updates[update].stampSeconds = nil
            }
        }
        // `pending` had to go first only because of its alert. Without that alert the two updates become one.
        guard behind.isSome, !memory.updates[pending].isStart, memory.updates[pending].top.alert.isEmpty else { return }
        var event = Layer()
        swap(&event, &self.scratchLayer)
        self.foldBehind(slot, into: pending, in: &memory)
        swap(&event, &self.scratchLayer)
    }
}

extension Layer {
    /// Removes the alert if it is not newer than `seconds`. Remembers for the outcome that the alert was withdrawn.
    /// - Returns: whether an alert was removed.
    fileprivate mutating func withdrawAlert(upTo seconds: Int64) -> Bool {
        guard !self.alert.isEmpty, self.alertSeconds <= seconds else { return false }
        self.alert = ByteRange()
        self.alertIsInherited = false
        self.alertIsWithdrawn = true
        self.dropUncoveredBytes()
        return true
    }
}
