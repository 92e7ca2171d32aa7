import PushModel

/// Records that wait for Kafka, and what follows when they are acknowledged.
extension Journal {
    /// Opens a ledger entry of the slot for the event being taken, unless the slot has one in the event's log. The
    /// watermark of the event's log does not pass the event until a state record of the slot covers it.
    @inline(__always) mutating func openEntry(
        for intake: borrowing Intake, slot: SlotID, budgets: borrowing BudgetStore, in memory: inout ShardMemory,
        now: EngineTime
    ) {
        if intake.record.topic == memory.configuration.routedTopicIndex {
            guard memory.slots[slot].openRoutedEntry.isNone else { return }
            memory.slots[slot].openRoutedEntry = self.ledger.open(log: intake.log, offset: intake.record.offset)
        } else {
            let open = memory.slots[slot].openEntry
            if open.isSome {
                guard self.ledger.log(of: open) != intake.log else { return }
                // The slot has room for one entry, and an entry of another input topic uses it. A state record settles
                // that entry first.
                self.writeState(slot, budgets: budgets, in: &memory, now: now)
            }
            memory.slots[slot].openEntry = self.ledger.open(log: intake.log, offset: intake.record.offset)
        }
    }

    /// Whether this owner has still to read a record that a former owner may have read.
    func isBehind(_ partition: PartitionIndex, in memory: borrowing ShardMemory) -> Bool {
        for topic in memory.partitions[partition].logs.indices {
            let next = self.ledger.nextOffset(log: memory.partitions[partition].logs[topic])
            if next < memory.partitions[partition].replayEnds[topic] { return true }
        }
        return false
    }

    /// Opens the acknowledgement of a record that is handed to Kafka.
    @inline(__always) mutating func open(
        _ waiter: Waiter, partition: PartitionIndex, in memory: inout ShardMemory
    ) -> UInt64 {
        memory.counters.unacknowledged += 1
        memory.partitions[partition].recordLeft()
        return self.acknowledgements.open(
            PendingAcknowledgement(
                waiter, partition: partition, generation: memory.partitions[partition].generation))
    }

    /// Opens the acknowledgement of a record that has a ledger entry of its own.
    /// - Parameter slot: a slot whose next state record also waits for this acknowledgement; `nil`: none does.
    mutating func expect(
        _ record: EventRecord, partition: PartitionIndex, entry: EntryID, slot: SlotID? = nil,
        in memory: inout ShardMemory
    ) -> UInt64 {
        guard let slot else { return self.open(.logRecord(record, entry), partition: partition, in: &memory) }
        memory.slots[slot].unguardedRecords += 1
        return self.open(
            .slotRecord(record, memory.reference(to: slot), isUnguarded: true, LedgerEntries(entry: entry)),
            partition: partition, in: &memory)
    }

    /// Opens the acknowledgement of a record about an event of a slot. With `stateWaits`, or if the slot has no open
    /// entry, the slot's next state record waits for the acknowledgement. Otherwise the slot's open entries wait for
    /// it.
    mutating func expectGuarded(
        _ record: EventRecord, slot: SlotID, stateWaits: Bool, in memory: inout ShardMemory
    ) -> UInt64 {
        let open = memory.slots[slot].openEntry
        let openRouted = memory.slots[slot].openRoutedEntry
        let isUnguarded = stateWaits || (open.isNone && openRouted.isNone)
        if isUnguarded {
            memory.slots[slot].unguardedRecords += 1
        } else {
            // The event came through one of two logs. Which one is not known here, so neither is committed past the
            // event.
            if open.isSome { self.ledger.expectAcknowledgement(open) }
            if openRouted.isSome { self.ledger.expectAcknowledgement(openRouted) }
        }
        let entries = isUnguarded ? LedgerEntries() : LedgerEntries(entry: open, routedEntry: openRouted)
        return self.open(
            .slotRecord(record, memory.reference(to: slot), isUnguarded: isUnguarded, entries),
            partition: memory.slots[slot].partition, in: &memory)
    }

    /// Whether anything depends on this acknowledgement. Nothing does if its partition has left since.
    func isAwaited(_ acknowledgement: UInt64, in memory: borrowing ShardMemory) -> Bool {
        guard let element = self.acknowledgements.element(acknowledgement) else { return false }
        let partition = memory.partitions[element.partition]
        return partition.phase != .gone && partition.generation == element.partitionGeneration
    }

    /// What an acknowledgement means for parts of the engine other than the journal.
    enum Consequence {
        case none
        /// `state` has the marker. `claimNumber` is not 0 if the marker begins an epoch (`PartitionState.claimNumber`).
        case marker(PartitionIndex, claimNumber: UInt32)
        /// `state` has the record that the slot's next push had to wait for.
        case pushMayFollow(SlotID)
        /// Kafka has the audience's version for one of the partitions.
        case versionAcknowledged(SlotID, stampLow: UInt32)
        /// Kafka has a crowd's record, for this partition.
        case crowd(CrowdWait, PartitionIndex)
        /// Kafka has a keeper's record.
        case keeper(KeeperWait)
    }

    /// Takes the acknowledgement of a record that Kafka has, or that was given up. This method is called once for each
    /// record. If the record's partition has left since, nothing follows.
    /// - Parameter offset: see `ShardEngine.acknowledged`.
    @inline(__always) mutating func acknowledged(
        _ acknowledgement: UInt64, offset: Int64, in memory: inout ShardMemory, now: EngineTime
    ) -> Consequence {
        guard let done = self.acknowledgements.close(acknowledgement) else { return .none }
        memory.counters.unacknowledged -= 1
        let partition = done.partition
        guard memory.partitions[partition].phase != .gone,
            memory.partitions[partition].generation == done.partitionGeneration
        else { return .none }
        memory.partitions[partition].recordAcknowledged()
        if done.waiter.isState, memory.partitions.takeStateOffset(offset, of: partition) {
            memory.counters.stateGaps += 1
        }
        switch done.waiter {
        case .partition(let claimNumber): return .marker(partition, claimNumber: claimNumber)
        case .logState(let entry):
            if entry.isSome { self.ledger.settle(entry) }
            return .none
        case .logRecord(_, let entry):
            if entry.isSome { self.ledger.acknowledged(entry) }
            return .none
        case .slotState(let reference, let version, let entries):
            if entries.entry.isSome { self.ledger.settle(entries.entry) }
            if entries.routedEntry.isSome { self.ledger.settle(entries.routedEntry) }
            let slot = reference.slot
            guard memory.holds(reference), memory.slots[slot].awaitsStateRecord,
                version >= memory.slots[slot].requiredStateVersion
            else { return .none }
            memory.slots[slot].awaitsStateRecord = false
            return .pushMayFollow(slot)
        case .slotRecord(_, let reference, let isUnguarded, let entries):
            if entries.entry.isSome { self.ledger.acknowledged(entries.entry) }
            if entries.routedEntry.isSome { self.ledger.acknowledged(entries.routedEntry) }
            guard isUnguarded, memory.holds(reference) else { return .none }
            let slot = reference.slot
            memory.slots[slot].unguardedRecords -= 1
            if memory.slots[slot].unguardedRecords == 0 { self.writeStateAwaited(slot, in: memory, now: now) }
            return .none
        case .owner(let reference, let stampLow):
            return memory.holds(reference) ? .versionAcknowledged(reference.slot, stampLow: stampLow) : .none
        case .crowd(let wait):
            self.acknowledged(wait)
            return .crowd(wait, partition)
        case .keeper(let wait): return .keeper(wait)
        }
    }
    /// Passes the acknowledgement of a crowd's record to the ledger entry of the event that led to the record.
    @inline(never) private mutating func acknowledged(_ wait: CrowdWait) {
        guard wait.entry.isSome else { return }
        if wait.record.isBeforeState { self.ledger.acknowledged(wait.entry) } else { self.ledger.settle(wait.entry) }
    }
}
