import PushModel

/// Forgets slots (contract: Life cycle): a slot leaves memory and `state`.
///
/// The partition's next owner reads again what is not committed. Only the slot says that its life is over, and which
/// records it has taken. Without the slot those records would begin another life, and phones would be shown outdated
/// content. So the slot is kept until those records are committed. After a takeover the log may also have events that
/// no owner has read yet. They belong to the life that existed when they were written. So a new owner forgets nothing
/// before it has read the backlog.
extension ShardEngine {
    /// How long an owner that cannot commit keeps a slot whose life is over, milliseconds.
    static var forgetMaxMillis: Int64 { 600_000 }
    /// How often it is checked whether the slot may be forgotten, milliseconds.
    static var forgetEveryMillis: Int64 { 5_000 }

    /// Ends the slot's life, because its lifetime, or the retention after its end, is over. Updates that wait are given
    /// up at once.
    mutating func endLife(_ slot: SlotID, now: EngineTime) {
        let held = self.core.memory.slots[slot].pending.isSome
        while self.core.memory.slots[slot].pending.isSome { self.endPending(slot, outcome: .expired, cause: .lifeOver) }
        self.core.dispatch.leaveReadyQueue(slot, in: &self.core.memory)
        self.core.dispatch.countWork(slot, in: &self.core.memory)
        if self.core.memory.slots[slot].kind == .audience { self.core.memory.owners[slot].forgetStart() }
        guard self.mayForget(slot, now: now) else {
            if held { self.core.journal.markDirty(slot, in: &self.core.memory, now: now) }
            self.core.memory.prolongLife(slot, millis: Self.forgetEveryMillis, now: now)
            return self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
        }
        self.core.memory.beginLeaving(slot)
        if self.core.memory.slots[slot].kind == .audience { self.publisher.sendVoid(slot, in: &self.core, now: now) }
        self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
    }

    /// Whether the slot may leave memory: no record of its life will be read again, or the slot has waited long enough.
    /// The wait ends after `forgetMaxMillis`, or when a limit of slots is reached.
    private mutating func mayForget(_ slot: SlotID, now: EngineTime) -> Bool {
        // At a limit of slots nothing is read. If slots waited for a commit, the shard could be blocked.
        guard self.roomForSlots > 0 else { return true }
        let partition = self.core.memory.slots[slot].partition
        guard self.core.memory.partitions[partition].mayPush else { return false }
        let life =
            self.core.memory.slots[slot].life == .ended
            ? self.core.memory.app(of: slot).retentionAfterEndMillis
            : self.core.memory.configuration.settings.lifetimeMillis
        let since = max(
            self.core.memory.slots[slot].lastTouchedWallMillis + life,
            self.core.memory.partitions[partition].assignedWallMillis)
        guard now.wallMillis - since < Self.forgetMaxMillis else { return true }
        let (applied, routed) = (self.core.memory.slots[slot].applied, self.core.memory.slots.routedPositions(of: slot))
        return self.isCommitted(applied.offset, topic: Int(applied.topic), partition: partition, now: now)
            && self.isCommitted(
                routed.appliedOffset, topic: Int(self.core.memory.configuration.routedTopicIndex), partition: partition,
                now: now)
    }

    /// Whether the offset is committed.
    /// - Parameter offset: negative if there is no offset, which counts as committed.
    private mutating func isCommitted(
        _ offset: Int64, topic: Int, partition: PartitionIndex, now: EngineTime
    ) -> Bool {
        guard offset >= 0, self.core.memory.partitions[partition].logs.indices.contains(topic) else { return true }
        let log = self.core.memory.partitions[partition].logs[topic]
        return offset < self.core.journal.ledger.passedOffset(log: log, nowMillis: now.steadyMillis)
    }
}
