public import PushModel

/// Takes partitions over and lets them go.
extension ShardEngine {
    /// Takes the partition over: the ownership marker goes into `batch`. The marker's acknowledgement ends the first
    /// step.
    /// - Parameter partition: its number, the same in every topic.
    /// - Parameter releasedWallMillis: when the former owner had stopped sending, by its wall clock; `nil`: not known,
    ///   so the former owner may have sent until now. A time ahead of this worker's clock counts as now.
    /// - Parameter now: when the takeover begins.
    public mutating func partitionAssigned(
        _ partition: Int32, releasedWallMillis: Int64? = nil, now: EngineTime
    ) {
        let partition = self.core.memory.partitions.add(number: partition)
        self.core.memory.slots.addPartition(partition)
        self.fanOut.crowds.addPartition(partition)
        let quietMillis = max(0, now.wallMillis - (releasedWallMillis ?? now.wallMillis))
        self.core.memory.partitions[partition].assigned(
            wallMillis: now.wallMillis, formerOwnerQuietSinceMillis: now.steadyMillis - quietMillis)
        self.writeMarker(partition, now: now)
        self.ownership.watch(partition)
    }

    /// Ends the restore, which has reached the marker. Records may be consumed from `starts` on.
    /// - Parameters:
    ///   - number: the partition's number. If the partition is not being restored, nothing happens.
    ///   - logEnds: by input topic, the log end seen now. A record below it may be a replay.
    ///   - starts: by input topic, the offset of the first record that will be consumed.
    ///   - isOfNewLog: whether the group was moved into another log. Positions in `state` are then void.
    ///   - now: the time from which catching up is counted.
    public mutating func restoreFinished(
        partition number: Int32, logEnds: [CommitPosition], starts: [CommitPosition], isOfNewLog: Bool = false,
        now: EngineTime
    ) {
        guard let partition = self.core.memory.partitions.index(of: number),
            self.core.memory.partitions[partition].phase == .restoring
        else { return }
        let topics = self.core.memory.configuration.inputTopics.indices
        let logs = topics.map { topic in
            let start = starts.first { $0.topic == UInt16(topic) }?.nextOffset ?? 0
            return self.core.journal.ledger.openLog(topic: UInt16(topic), partition: number, startOffset: start)
        }
        for log in logs { self.shares.forget(log) }
        let replayEnds = topics.map { topic in logEnds.first { $0.topic == UInt16(topic) }?.nextOffset ?? 0 }
        self.core.memory.partitions[partition].restored(logs: logs, replayEnds: replayEnds, isOfNewLog: isOfNewLog)
        self.beginCatchUp(partition, now: now)
        // Once this marker is in `state`, delayed records of former owners are not believed. It is in `state` before
        // the first push leaves. A successor's stamps are therefore later than this owner's, no matter what compaction
        // removes.
        self.writeMarker(partition, saysTakeovers: true, now: now)
        if self.core.memory.partitions[partition].voids.cause != nil { self.ownership.watch(partition) }
        let voidBefore = self.core.memory.partitions[partition].voids.before
        if voidBefore >= 0 { self.fanOut.forwarded.void(before: voidBefore, partition: partition) }
        for slot in self.core.memory.slots.members(of: partition) {
            if voidBefore >= 0, self.core.memory.slots[slot].recordOffset < voidBefore {
                self.core.memory.slots.voidPositions(of: slot)
            }
            self.settleRestored(slot, now: now)
            self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
        }
        self.fanOut.settleRestoredCrowds(partition, in: &self.core, now: now)
        self.keeperHost.beginKeepers(of: partition, in: &self.core, now: now)
        self.overwriteOutdated(partition, now: now)
    }

    /// The watermark of an input log: the highest offset that may be committed. `nil`: this engine does not own the
    /// log.
    public func watermark(topic: UInt16, partition: Int32) -> Int64? {
        guard let partition = self.core.memory.partitions.index(of: partition),
            Int(topic) < self.core.memory.partitions[partition].logs.count
        else { return nil }
        return self.core.journal.ledger.watermark(log: self.core.memory.partitions[partition].logs[Int(topic)])
    }

    // MARK: Leaving

    /// First step of leaving: nothing more is taken or sent for the partition, but answers still count. A partition
    /// that never ran writes nothing down, because what was read so far may be older than what `state` has.
    public mutating func beginRelease(partition: Int32, now: EngineTime) {
        guard let partition = self.core.memory.partitions.index(of: partition) else { return }
        self.core.memory.partitions[partition].beginRelease()
        self.keeperHost.withdrawErrands(of: partition, in: &self.core)
        self.ownership.watch(partition)
    }

    /// Second step of leaving: what is pending or unanswered is written to `state` as pending.
    public mutating func finishRelease(partition: Int32, now: EngineTime) {
        guard let partition = self.core.memory.partitions.index(of: partition),
            self.core.memory.partitions[partition].finishRelease()
        else { return }
        for slot in self.core.memory.slots.members(of: partition) {
            let pending = self.core.memory.slots[slot].pending
            if pending.isSome, self.core.memory.updates[pending].isAnnounced {
                // The start was announced, but now will not leave.
                self.core.memory.withdrawAnnouncement(pending)
            }
            if self.core.memory.slots[slot].hasWork || self.core.memory.slots[slot].isOpen
                || self.core.memory.slots[slot].isDirty
            {
                self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
            }
        }
        self.fanOut.writeCrowds(of: partition, in: &self.core, now: now)
        self.flushStates(now: now)
        self.ownership.watch(partition)
    }

    /// Last step of leaving, and the only step for a lost partition: everything about it is removed from memory,
    /// including work that is not committed.
    public mutating func forget(partition: Int32) {
        guard let partition = self.core.memory.partitions.index(of: partition) else { return }
        while let slot = self.core.memory.slots.lastMember(of: partition) {
            let events = UInt64(self.core.memory.eventCount(of: slot))
            self.core.memory.counters.handedOver += events
            self.core.memory.counters.pending -= events
            self.removeSlot(slot)
        }
        self.fanOut.forgetCrowds(of: partition, in: &self.core)
        self.keeperHost.forgetKeepers(of: partition, in: &self.core)
        self.keeperHost.kept.forget(partition: partition)
        self.core.memory.forgetRequests(of: partition)
        for log in self.core.memory.partitions[partition].logs { self.core.journal.ledger.closeLog(log) }
        self.ownership.unwatch(partition)
        self.core.memory.partitions.remove(partition)
    }
}
