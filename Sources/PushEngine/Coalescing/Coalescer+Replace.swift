import PushModel

/// The short way that most events of a backlog take: the event replaces the unsent one as a whole.
///
/// The short way leaves out the steps of the long way that change nothing for such an event. Whether and when the
/// update may leave does not depend on its content. The event expires no sooner than the one it replaces, and the slot
/// is remembered for longer. So a deadline that was set before can only be too early. Its only cost is that the slot is
/// looked at one more time.
extension Coalescer {
    /// Takes the event if the short way fits it.
    /// - Returns: `false`: it does not fit, and nothing was changed.
    @inline(__always) mutating func replacePending(
        of slot: SlotID, with intake: borrowing Intake, value: Span<UInt8>, in memory: inout ShardMemory,
        now: EngineTime
    ) -> Bool {
        guard self.takesShorterWays, intake.event.kind == .update, intake.event.target == .activity,
            // An alert must be withdrawn from an update in flight, too. The short way changes only the pending update.
            !intake.event.withdrawsAlert,
            intake.record.origin == nil, intake.record.topic != memory.configuration.routedTopicIndex,
            !intake.liesBelowReplayEnd(in: memory), intake.isTimed
        else { return false }
        let pending = memory.slots[slot].pending
        guard pending.isSome, memory.slots[slot].behind.isNone, !memory.slots[slot].isLeaving,
            memory.slots[slot].life != .ending, memory.slots[slot].life != .ended,
            // A newer event lets a doubted token be tried again.
            memory.slots[slot].tokenStanding != .doubted,
            memory.slots[slot].openEntry.isSome, memory.slots[slot].applied.isOf(topic: intake.record.topic)
        else { return false }
        let timestamp = intake.timestampSeconds(now: now)
        let expires = intake.contentExpiresSeconds
        guard timestamp >= memory.slots[slot].lastAcceptedSeconds, expires > now.wallSeconds,
            self.mayReplace(
                pending, with: intake, timestamp: timestamp, expires: expires, nowSeconds: now.wallSeconds, in: memory)
        else { return false }

        intake.markApplied(to: slot, in: &memory)
        memory.touch(slot, now: now)
        memory.counters.eventsMerged += 1
        memory.counters.outcomes[Int(Outcome.superseded.rawValue)] += 1
        memory.updates[pending].mergedCount += 1
        memory.updates[pending].stampSeconds = nil
        if memory.updates[pending].top.isTraced { self.markReplaced(pending, by: intake.source, in: &memory) }
        memory.updates[pending].top.replace(
            with: intake.event, value: value, traceparent: intake.traceparent.span, isTraced: intake.record.isTraced,
            source: intake.source,
            arrival: memory.counters.consumed, timestampSeconds: timestamp, recordMillis: intake.writtenMillis,
            takenMillis: now.steadyMillis, expiresSeconds: expires)
        return true
    }

    /// Whether an event with these times may replace everything in the update.
    private func mayReplace(
        _ update: UpdateID, with intake: borrowing Intake, timestamp: Int64, expires: Int64, nowSeconds: Int64,
        in memory: borrowing ShardMemory
    ) -> Bool {
        let isUrgent = intake.event.priority == .high
        let hasAlert = !intake.event.alertInValue.isEmpty
        guard memory.updates[update].under.isEmpty, memory.updates[update].start.isEmpty,
            // The update's priority must not rise, and it must neither gain nor lose an alert: these decide when it may
            // leave.
            !isUrgent || memory.updates[update].priority == .high,
            hasAlert == !memory.updates[update].top.alert.isEmpty
        else { return false }
        return timestamp >= memory.updates[update].top.timestampSeconds
            && expires >= memory.updates[update].top.expiresSeconds
            && memory.updates[update].top.expiresSeconds > nowSeconds
    }
}
