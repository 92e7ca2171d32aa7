import PushModel

/// The end of what is known of a slot (contract: Life cycle): it leaves memory and the changelog.
///
/// Whoever owns the partition next reads what is not committed once more. Only the slot says that its life is over, and what of that it has
/// taken: without it those records would begin another life, and phones would be shown what was late. So it is kept until they are committed.
/// What has come since a former owner died lies in the log as well, and belongs to the life that was there when it was written.
extension ShardEngine {
    /// An owner that cannot commit keeps what is over for so long and no longer.
    static var forgetMaxMillis: Int64 { 600_000 }
    /// Whether it may be forgotten is looked at this often.
    static var forgetEveryMillis: Int64 { 5_000 }

    /// Twelve hours without a start or update, or the retention after an end. What waits is given up at once.
    mutating func endLife(_ slot: SlotID, now: EngineTime) {
        let held = self.memory.slots[slot].pending.isSome
        while self.memory.slots[slot].pending.isSome { self.endPending(slot, outcome: .expired, cause: .lifeOver) }
        self.dispatch.leaveReadyQueue(slot, in: &self.memory)
        self.dispatch.noteWork(slot, in: &self.memory)
        if self.memory.slots[slot].kind == .audience { self.memory.owners[slot].forgetStart() }
        guard self.mayForget(slot, now: now) else {
            if held { self.journal.markDirty(slot, in: &self.memory, now: now) }
            self.memory.prolongLife(slot, millis: Self.forgetEveryMillis, now: now)
            return self.dispatch.reschedule(slot, in: &self.memory, now: now)
        }
        self.memory.beginLeaving(slot)
        if self.memory.slots[slot].kind == .audience { self.tellVoid(slot, now: now) }
        self.journal.markDirty(slot, in: &self.memory, now: now)
    }

    /// Nothing that is about its life will be read again, as far as can be known.
    private mutating func mayForget(_ slot: SlotID, now: EngineTime) -> Bool {
        // Nothing is read until something has left. What waits for Kafka leaves by itself.
        guard self.roomForActivities > 0 else { return true }
        let partition = self.memory.slots[slot].partition
        guard self.memory.partitions[partition].mayPush else { return false }
        let life =
            self.memory.slots[slot].life == .ended
            ? self.memory.app(of: slot).retentionAfterEndMillis : self.memory.configuration.settings.lifetimeMillis
        let since = max(
            self.memory.slots[slot].lastTouchedWallMillis + life, self.memory.partitions[partition].assignedWallMillis)
        guard now.wallMillis - since < Self.forgetMaxMillis else { return true }
        let (applied, routed) = (self.memory.slots[slot].applied, self.memory.slots.routedPositions(of: slot))
        return self.isCommitted(applied.offset, topic: Int(applied.topic), partition: partition, now: now)
            && self.isCommitted(
                routed.appliedOffset, topic: Int(self.memory.configuration.routedTopicIndex), partition: partition,
                now: now)
    }

    /// - Parameter offset: negative: there is none.
    private mutating func isCommitted(
        _ offset: Int64, topic: Int, partition: PartitionIndex, now: EngineTime
    ) -> Bool {
        guard offset >= 0, self.memory.partitions[partition].logs.indices.contains(topic) else { return true }
        let log = self.memory.partitions[partition].logs[topic]
        return offset < self.journal.ledger.passedOffset(log: log, nowMillis: now.steadyMillis)
    }
}
