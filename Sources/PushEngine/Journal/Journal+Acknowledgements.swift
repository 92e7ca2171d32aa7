import PushModel

/// What waits for Kafka: which records, and what follows when they are acknowledged.
extension Journal {
    /// From here on the slot holds the watermark of this log until a state record covers the event.
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
                // Another input topic holds the one place for an entry: a state record takes that one over first.
                self.writeState(slot, budgets: budgets, in: &memory, now: now)
            }
            memory.slots[slot].openEntry = self.ledger.open(log: intake.log, offset: intake.record.offset)
        }
    }

    /// Not all of what an owner before has read has been read again.
    func isBehind(_ partition: PartitionIndex, in memory: borrowing ShardMemory) -> Bool {
        for topic in memory.partitions[partition].logs.indices {
            let next = self.ledger.nextOffset(log: memory.partitions[partition].logs[topic])
            if next < memory.partitions[partition].replayEnds[topic] { return true }
        }
        return false
    }

    /// A record that is handed to Kafka: its acknowledgement is awaited from here on.
    @inline(__always) mutating func open(
        _ kind: PendingAcknowledgement.Kind, partition: PartitionIndex, slot: SlotID = .none, stateVersion: UInt32 = 0,
        isUnguarded: Bool = false, entry: EntryID = .none, routedEntry: EntryID = .none,
        in memory: inout ShardMemory
    ) -> UInt64 {
        memory.counters.unacknowledged += 1
        memory.partitions[partition].unacknowledged += 1
        return self.acknowledgements.open(
            PendingAcknowledgement(
                kind: kind, sequence: 0, isOpen: true, partition: partition,
                partitionGeneration: memory.partitions[partition].generation, slot: slot,
                slotGeneration: slot.isSome ? memory.slots[slot].generation : 0, stateVersion: stateVersion,
                isUnguarded: isUnguarded, entry: entry, routedEntry: routedEntry))
    }

    /// The same of a record about a crowd.
    mutating func open(
        _ kind: PendingAcknowledgement.Kind, crowd: CrowdID, generation: UInt32, pass: Int = 0, number: UInt32,
        partition: PartitionIndex, entry: EntryID = .none, in memory: inout ShardMemory
    ) -> UInt64 {
        memory.counters.unacknowledged += 1
        memory.partitions[partition].unacknowledged += 1
        return self.acknowledgements.open(
            PendingAcknowledgement(
                kind: kind, sequence: 0, isOpen: true, partition: partition,
                partitionGeneration: memory.partitions[partition].generation, slot: SlotID(rawValue: crowd.rawValue),
                slotGeneration: generation, stateVersion: number, isUnguarded: false, entry: entry,
                routedEntry: EntryID(index: pass)))
    }
    /// The same of a keeper's record.
    /// - Parameter token: the number by which the keeper knows it. A keeper does not live for 2^32 of them.
    mutating func open(
        _ kind: PendingAcknowledgement.Kind, keeper: KeeperID, generation: UInt32, token: UInt64,
        partition: PartitionIndex, in memory: inout ShardMemory
    ) -> UInt64 {
        memory.counters.unacknowledged += 1
        memory.partitions[partition].unacknowledged += 1
        return self.acknowledgements.open(
            PendingAcknowledgement(
                kind: kind, sequence: 0, isOpen: true, partition: partition,
                partitionGeneration: memory.partitions[partition].generation, slot: SlotID(rawValue: keeper.rawValue),
                slotGeneration: generation, stateVersion: UInt32(truncatingIfNeeded: token), isUnguarded: false,
                entry: .none, routedEntry: .none))
    }
    /// A record guarded by a ledger entry of its own.
    /// - Parameter slot: its next state record is written after the acknowledgement, too.
    mutating func expect(
        _ kind: PendingAcknowledgement.Kind, partition: PartitionIndex, entry: EntryID, slot: SlotID? = nil,
        in memory: inout ShardMemory
    ) -> UInt64 {
        if let slot { memory.slots[slot].unguardedRecords += 1 }
        return self.open(
            kind, partition: partition, slot: slot ?? .none, isUnguarded: slot != nil, entry: entry, in: &memory)
    }

    /// A record about an event of a slot. With `stateWaits` the slot's next state record is written after it is acknowledged; otherwise
    /// the slot's open entries are resolved after that.
    mutating func expectGuarded(
        _ kind: PendingAcknowledgement.Kind, slot: SlotID, stateWaits: Bool, in memory: inout ShardMemory
    ) -> UInt64 {
        let open = memory.slots[slot].openEntry
        let openRouted = memory.slots[slot].openRoutedEntry
        let isUnguarded = stateWaits || (open.isNone && openRouted.isNone)
        if isUnguarded {
            memory.slots[slot].unguardedRecords += 1
        } else {
            // The event came through one of the two logs; neither may pass it.
            if open.isSome { self.ledger.expectAcknowledgement(open) }
            if openRouted.isSome { self.ledger.expectAcknowledgement(openRouted) }
        }
        return self.open(
            kind, partition: memory.slots[slot].partition, slot: slot, isUnguarded: isUnguarded,
            entry: isUnguarded ? .none : open, routedEntry: isUnguarded ? .none : openRouted, in: &memory)
    }

    /// Whether anything depends on this acknowledgement: not when its partition has left since.
    func isAwaited(_ acknowledgement: UInt64, in memory: borrowing ShardMemory) -> Bool {
        guard let element = self.acknowledgements.element(acknowledgement) else { return false }
        let partition = memory.partitions[element.partition]
        return partition.phase != .gone && partition.generation == element.partitionGeneration
    }

    /// What an acknowledgement changes beside what is written down.
    enum Consequence {
        case none
        /// The marker lies in `state`. Its number, if it is to begin an epoch (`PartitionState.claimNumber`); 0: it is another.
        case marker(PartitionIndex, claimNumber: UInt32)
        /// The record that the slot's next push had to wait for lies in `state`.
        case pushMayFollow(SlotID)
        /// A partition has the audience's version.
        case versionTold(SlotID, stampLow: UInt32)
        /// A crowd's versions lie in `state`.
        case versions(CrowdID, generation: UInt32, number: UInt32)
        /// How far a crowd is lies in `state`.
        case progress(CrowdID, generation: UInt32, number: UInt32)
        /// So does a join that came late.
        case lateJoin(CrowdID, generation: UInt32, pass: Int, number: UInt32)
        /// How far a crowd's start is lies in `state`.
        case startProgress(CrowdID, generation: UInt32, number: UInt32)
        /// So does a record of a start member.
        case startMember(CrowdID, generation: UInt32, round: Int, number: UInt32)
        /// So does the end of a crowd's audience.
        case voided(CrowdID, generation: UInt32, partition: PartitionIndex)
        /// A keeper's record lies in `state`.
        case kept(KeeperID, generation: UInt32, write: UInt64)
        /// Kafka has one of the records that announce something of a keeper's.
        case keeperNews(KeeperID, generation: UInt32, announcement: UInt64)
    }

    /// Kafka has the record. Once per record; an acknowledgement of a partition that has left since changes nothing.
    /// - Parameter offset: negative: the record was given up, and none is known.
    @inline(__always) mutating func acknowledged(
        _ acknowledgement: UInt64, offset: Int64, in memory: inout ShardMemory, now: EngineTime
    ) -> Consequence {
        guard let done = self.acknowledgements.close(acknowledgement) else { return .none }
        memory.counters.unacknowledged -= 1
        let partition = done.partition
        guard memory.partitions[partition].phase != .gone,
            memory.partitions[partition].generation == done.partitionGeneration
        else { return .none }
        memory.partitions[partition].unacknowledged -= 1
        if done.kind.isState, memory.partitions.noteStateOffset(offset, of: partition) {
            memory.counters.stateGaps += 1
        }
        if done.kind.isOfNoSlot {
            if done.entry.isSome {
                if done.kind == .progress || done.kind == .startMember {
                    self.ledger.acknowledged(done.entry)
                } else {
                    self.ledger.settle(done.entry)
                }
            }
            let crowd = CrowdID(rawValue: done.slot.rawValue)
            switch done.kind {
            case .versions: return .versions(crowd, generation: done.slotGeneration, number: done.stateVersion)
            case .progress: return .progress(crowd, generation: done.slotGeneration, number: done.stateVersion)
            case .startProgress:
                return .startProgress(crowd, generation: done.slotGeneration, number: done.stateVersion)
            case .startMember:
                return .startMember(
                    crowd, generation: done.slotGeneration, round: done.routedEntry.index, number: done.stateVersion)
            case .voided: return .voided(crowd, generation: done.slotGeneration, partition: partition)
            case .kept:
                return .kept(
                    KeeperID(rawValue: done.slot.rawValue), generation: done.slotGeneration,
                    write: UInt64(done.stateVersion))
            case .keeperNews:
                return .keeperNews(
                    KeeperID(rawValue: done.slot.rawValue), generation: done.slotGeneration,
                    announcement: UInt64(done.stateVersion))
            default:
                return .lateJoin(
                    crowd, generation: done.slotGeneration, pass: done.routedEntry.index, number: done.stateVersion)
            }
        }
        let isSlotThere =
            done.slot.isSome && memory.slots[done.slot].generation == done.slotGeneration
            && memory.slots[done.slot].isLive
        switch done.kind {
        case .marker:
            return .marker(partition, claimNumber: done.stateVersion)
        case .versions, .progress, .lateJoin, .startProgress, .startMember, .voided, .kept, .keeperNews: return .none
        case .version: return isSlotThere ? .versionTold(done.slot, stampLow: done.stateVersion) : .none
        case .state:
            if done.entry.isSome { self.ledger.settle(done.entry) }
            if done.routedEntry.isSome { self.ledger.settle(done.routedEntry) }
            guard isSlotThere, memory.slots[done.slot].awaitsStateRecord,
                done.stateVersion >= memory.slots[done.slot].requiredStateVersion
            else { return .none }
            memory.slots[done.slot].awaitsStateRecord = false
            return .pushMayFollow(done.slot)
        case .outcome, .deadLetter, .strandedEvent, .routed:
            if done.entry.isSome { self.ledger.acknowledged(done.entry) }
            if done.routedEntry.isSome { self.ledger.acknowledged(done.routedEntry) }
            guard isSlotThere, done.isUnguarded else { return .none }
            memory.slots[done.slot].unguardedRecords -= 1
            if memory.slots[done.slot].unguardedRecords == 0 { self.writeStateAwaited(done.slot, in: memory, now: now) }
            return .none
        }
    }
}
