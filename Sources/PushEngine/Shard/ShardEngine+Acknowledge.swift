public import PushModel

extension ShardEngine {
    /// Whether anything depends on this acknowledgement: not when its partition has left since.
    public func isAwaited(_ acknowledgement: UInt64) -> Bool {
        guard let element = self.acknowledgements.element(acknowledgement) else { return false }
        let partition = self.partitions[element.partition]
        return partition.phase != .gone && partition.generation == element.partitionGeneration
    }

    /// Kafka has the record. Once per record; an acknowledgement of a partition that has left since changes nothing.
    public mutating func acknowledged(_ acknowledgement: UInt64, offset: Int64, now: EngineTime) {
        guard let done = self.acknowledgements.close(acknowledgement) else { return }
        self.counters.unacknowledged -= 1
        let place = done.partition
        guard self.partitions[place].phase != .gone, self.partitions[place].generation == done.partitionGeneration
        else { return }
        self.partitions[place].unacknowledged -= 1
        switch done.kind {
        case .marker:
            self.noteStateOffset(offset, place: place)
            if self.partitions[place].epoch < 0 {
                self.partitions[place].epoch = offset
            } else if !self.partitions[place].isMarked {
                // Later ones of the same owner change nothing.
                self.partitions[place].isMarked = true
                self.beginPushing(place: place, now: now)
            }
            if self.partitions[place].phase == .awaitingMarker { self.partitions[place].phase = .restoring }
        case .state:
            self.noteStateOffset(offset, place: place)
            if done.entry.isSome { self.ledger.settle(done.entry) }
            if done.routedEntry.isSome { self.ledger.settle(done.routedEntry) }
            guard done.slot.isSome, self.slots[done.slot].generation == done.slotGeneration,
                self.slots[done.slot].isLive
            else {
                return
            }
            if self.slots[done.slot].awaitsStateRecord,
                done.stateVersion >= self.slots[done.slot].requiredStateVersion
            {
                self.slots[done.slot].awaitsStateRecord = false
                self.reschedule(done.slot, now: now)
            }
        case .outcome, .deadLetter, .routed:
            if done.entry.isSome { self.ledger.acknowledged(done.entry) }
            if done.routedEntry.isSome { self.ledger.acknowledged(done.routedEntry) }
            guard done.isUnguarded, self.slots[done.slot].generation == done.slotGeneration,
                self.slots[done.slot].isLive
            else {
                return
            }
            self.slots[done.slot].unguardedRecords -= 1
            if self.slots[done.slot].unguardedRecords == 0 { self.writeStateAwaited(done.slot, now: now) }
        }
    }
}
