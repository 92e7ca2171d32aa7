public import PushModel

/// Takes partitions over and lets them go.
extension ShardEngine {
    /// Takes the partition over: the ownership marker goes into `batch`. Its acknowledgement ends the first step.
    /// - Parameter partition: its number, the same in every topic.
    /// - Parameter releasedWallMillis: when the former owner had stopped sending, by its wall clock; `nil`: not known,
    ///   so until now. A time ahead of this worker's clock counts as now.
    /// - Parameter now: when the takeover begins.
    public mutating func partitionAssigned(
        _ partition: Int32, releasedWallMillis: Int64? = nil, now: EngineTime
    ) {
        let partition = self.memory.partitions.add(number: partition)
        self.memory.slots.addPartition(partition)
        self.audiences.crowds.addPartition(partition)
        let quietMillis = max(0, now.wallMillis - (releasedWallMillis ?? now.wallMillis))
        self.memory.partitions[partition].assigned(
            wallMillis: now.wallMillis, formerOwnerQuietSinceMillis: now.steadyMillis - quietMillis)
        self.writeMarker(partition, now: now)
        self.ownership.watch(partition)
    }

    /// Ends the restore, which has reached the marker. Records may be consumed from `starts` on.
    /// - Parameters:
    ///   - number: the partition's number. One that is not being restored is left alone.
    ///   - logEnds: by input topic, the log end seen now. A record below it may be a replay.
    ///   - starts: by input topic, the offset of the first record that will be consumed.
    ///   - isOfNewLog: whether the group was moved into another log. Positions in `state` are void then.
    ///   - now: the time from which catching up is counted.
    public mutating func restoreFinished(
        partition number: Int32, logEnds: [CommitPosition], starts: [CommitPosition], isOfNewLog: Bool = false,
        now: EngineTime
    ) {
        guard let partition = self.memory.partitions.index(of: number),
            self.memory.partitions[partition].phase == .restoring
        else { return }
        let topics = self.memory.configuration.inputTopics.indices
        let logs = topics.map { topic in
            let start = starts.first { $0.topic == UInt16(topic) }?.nextOffset ?? 0
            return self.journal.ledger.openLog(topic: UInt16(topic), partition: number, startOffset: start)
        }
        for log in logs { self.shares.forget(log) }
        let replayEnds = topics.map { topic in logEnds.first { $0.topic == UInt16(topic) }?.nextOffset ?? 0 }
        self.memory.partitions[partition].restored(logs: logs, replayEnds: replayEnds, isOfNewLog: isOfNewLog)
        self.beginCatchUp(partition, now: now)
        // Late records of former owners are not believed from here on. The marker is written before the first push
        // leaves, so that a successor stamps further than this owner, whatever compaction removes meanwhile.
        self.writeMarker(partition, saysTakeovers: true, now: now)
        if self.memory.partitions[partition].voids.cause != nil { self.ownership.watch(partition) }
        let voidBefore = self.memory.partitions[partition].voids.before
        if voidBefore >= 0 { self.audiences.forwarded.void(before: voidBefore, partition: partition) }
        for slot in self.memory.slots.members(of: partition) {
            if voidBefore >= 0, self.memory.slots[slot].recordOffset < voidBefore {
                self.memory.slots.voidPositions(of: slot)
            }
            self.settleRestored(slot, now: now)
            self.dispatch.reschedule(slot, in: &self.memory, now: now)
        }
        self.settleRestoredCrowds(partition, now: now)
        self.beginKeepers(of: partition, now: now)
        self.overwriteOutdated(partition, now: now)
    }

    /// The watermark of an input log that this engine owns: the highest offset that a commit may have.
    public func watermark(topic: UInt16, partition: Int32) -> Int64? {
        guard let partition = self.memory.partitions.index(of: partition),
            Int(topic) < self.memory.partitions[partition].logs.count
        else { return nil }
        return self.journal.ledger.watermark(log: self.memory.partitions[partition].logs[Int(topic)])
    }

    // MARK: Leaving

    /// First step of leaving: nothing more is taken or sent for the partition, but answers still count. A partition
    /// that never ran has nothing to write down: what was read so far may be older than what `state` holds.
    public mutating func beginRelease(partition: Int32, now: EngineTime) {
        guard let partition = self.memory.partitions.index(of: partition) else { return }
        self.memory.partitions[partition].beginRelease()
        self.withdrawErrands(of: partition)
        self.ownership.watch(partition)
    }

    /// Second step of leaving: what is pending, and what is still unanswered, is written to `state` as pending.
    public mutating func finishRelease(partition: Int32, now: EngineTime) {
        guard let partition = self.memory.partitions.index(of: partition),
            self.memory.partitions[partition].finishRelease()
        else { return }
        for slot in self.memory.slots.members(of: partition) {
            let pending = self.memory.slots[slot].pending
            if pending.isSome, self.memory.updates[pending].isAnnounced {
                // The start was about to leave, and does not.
                self.memory.withdrawAnnouncement(pending)
            }
            if self.memory.slots[slot].hasWork || self.memory.slots[slot].isOpen || self.memory.slots[slot].isDirty {
                self.journal.markDirty(slot, in: &self.memory, now: now)
            }
        }
        self.writeCrowds(of: partition, now: now)
        self.flushStates(now: now)
        self.ownership.watch(partition)
    }

    /// Last step of leaving, and the only one for a lost partition: everything about it is removed from memory,
    /// uncommitted work included.
    public mutating func forget(partition: Int32) {
        guard let partition = self.memory.partitions.index(of: partition) else { return }
        while let slot = self.memory.slots.lastMember(of: partition) {
            let events = UInt64(self.memory.eventCount(of: slot))
            self.memory.counters.handedOver += events
            self.memory.counters.pending -= events
            self.removeSlot(slot)
        }
        self.forgetCrowds(of: partition)
        self.forgetKeepers(of: partition)
        self.kept.forget(partition: partition)
        self.memory.forgetRequests(of: partition)
        for log in self.memory.partitions[partition].logs { self.journal.ledger.closeLog(log) }
        self.ownership.unwatch(partition)
        self.memory.partitions.remove(partition)
    }
}
