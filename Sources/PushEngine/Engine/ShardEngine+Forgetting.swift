import PushModel

/// Forgets slots (contract: Life cycle): a slot leaves memory and the changelog.
///
/// The partition's next owner reads once more what is not committed. Only the slot says that its life is over, and
/// which records it has taken. Without it those records would begin another life, and phones would be shown late
/// content. It is therefore kept until they are committed. Events written since a former owner died are in the log as
/// well. They belong to the life that was there when they were written.
extension ShardEngine {
    /// How long an owner that cannot commit keeps a slot whose life is over, milliseconds.
    static var forgetMaxMillis: Int64 { 600_000 }
    /// How often it is checked whether the slot may be forgotten, milliseconds.
    static var forgetEveryMillis: Int64 { 5_000 }

    /// Ends the life: twelve hours without a start or update, or the retention after an end. What waits is given up at
    /// once.
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

    /// Whether nothing of the slot's life will be read again, as far as is known.
    private mutating func mayForget(_ slot: SlotID, now: EngineTime) -> Bool {
        // Nothing is read until something has left. Records for Kafka leave by themselves.
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

    /// Whether the offset is committed.
    /// - Parameter offset: negative: there is none, which counts as committed.
    private mutating func isCommitted(
        _ offset: Int64, topic: Int, partition: PartitionIndex, now: EngineTime
    ) -> Bool {
        guard offset >= 0, self.memory.partitions[partition].logs.indices.contains(topic) else { return true }
        let log = self.memory.partitions[partition].logs[topic]
        return offset < self.journal.ledger.passedOffset(log: log, nowMillis: now.steadyMillis)
    }
}
