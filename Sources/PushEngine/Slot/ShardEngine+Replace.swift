import PushModel

/// The way of most events in a backlog: an update that takes the place of the unsent one, nothing of which lives on.
///
/// It is `takeContent` and `merge` with everything left out that such an event does not change. What is waited for stays what it was:
/// whether and when the update may leave does not depend on its content, the event expires no sooner than the one it replaces, and the life
/// ends later. A deadline that is set too early costs one look.
extension ShardEngine {
    /// Takes the event if it is one of those. `false`: it is not, and nothing was changed.
    mutating func replacePending(
        _ context: RecordContext, slot: SlotID, value: Span<UInt8>, traceparent: Span<UInt8>, now: EngineTime
    ) -> Bool {
        let record = context.record
        guard self.event.kind == .update, self.event.target == .activity, !self.publishesSuperseded,
            record.origin == nil, record.topic != self.configuration.routedTopicIndex,
            record.offset >= self.partitions[context.place].replayEnds[Int(record.topic)]
        else { return false }
        let pending = self.slots[slot].pending
        guard pending.isSome, self.slots[slot].behind.isNone, !self.slots[slot].isLeaving,
            self.slots[slot].life != .ending, self.slots[slot].life != .ended,
            self.slots[slot].openEntry.isSome, self.slots[slot].applied.isOf(topic: record.topic)
        else { return false }
        let timestamp = self.eventTimestamp(record, now: now)
        let expires = self.contentExpiresSeconds
        guard timestamp >= self.slots[slot].lastAcceptedSeconds, expires > now.wallSeconds,
            self.mayReplace(pending, timestamp: timestamp, expires: expires, nowSeconds: now.wallSeconds)
        else { return false }
        // The open entry is always of the log that the last record came from.
        assert(self.ledger.log(of: self.slots[slot].openEntry) == context.log)

        self.slots[slot].applied.offset = record.offset
        self.touch(slot, now: now)
        self.counters.eventsMerged += 1
        self.counters.outcomes[Int(Outcome.superseded.rawValue)] += 1
        self.updates[pending].mergedCount += 1
        self.updates[pending].stampSeconds = nil
        self.updates[pending].top.replace(
            with: self.event, value: value, traceparent: traceparent, source: context.source,
            arrival: self.counters.consumed, timestampSeconds: timestamp, recordMillis: record.timestampMillis,
            takenMillis: now.steadyMillis, expiresSeconds: expires)
        return true
    }

    /// Whether an event with these times may take the place of all there is of the update.
    private func mayReplace(_ update: UpdateID, timestamp: Int64, expires: Int64, nowSeconds: Int64) -> Bool {
        let isUrgent = self.event.priority == .high
        let hasAlert = !self.event.alertInValue.isEmpty
        guard self.updates[update].under.isEmpty, self.updates[update].start.isEmpty,
            // Priority and alert decide when it may leave.
            !isUrgent || self.updates[update].priority == .high,
            hasAlert == !self.updates[update].top.alert.isEmpty
        else { return false }
        return timestamp >= self.updates[update].top.timestampSeconds
            && expires >= self.updates[update].top.expiresSeconds
            && self.updates[update].top.expiresSeconds > nowSeconds
    }
}
