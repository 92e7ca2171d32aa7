import PushModel

/// Writes records of `state` (contract: Order of acknowledgement).
extension Journal {
    /// Schedules the slot's record to be written within `stateFlushMillis`. If Kafka has not acknowledged some outcomes
    /// or dead letters of the slot, the record waits for them.
    mutating func markDirty(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        guard !memory.slots[slot].isDirty else { return }
        memory.slots[slot].isDirty = true
        guard memory.slots[slot].unguardedRecords == 0 else { return }
        self.dirtySlots.append(slot)
        if self.stateFlushAtMillis == nil {
            self.stateFlushAtMillis = now.steadyMillis + memory.configuration.settings.stateFlushMillis
        }
    }

    /// Lets nothing leave the slot until a record written from now on is acknowledged (contract: One in flight).
    @inline(__always) mutating func requireStateRecord(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        memory.slots[slot].awaitsStateRecord = true
        memory.slots[slot].requiredStateVersion = memory.slots[slot].stateVersion &+ 1
        self.markDirty(slot, in: &memory, now: now)
    }

    /// Makes the records of dirty slots due now.
    mutating func flushNow(now: EngineTime) { self.stateFlushAtMillis = now.steadyMillis }

    /// Schedules the slot's record to be written at once, because Kafka has acknowledged the last outcome or dead
    /// letter before it.
    @inline(__always) mutating func writeStateAwaited(_ slot: SlotID, in memory: borrowing ShardMemory, now: EngineTime)
    {
        guard memory.slots[slot].isDirty else { return }
        // If the slot is in the list already, its second entry will find the record written.
        self.dirtySlots.append(slot)
        self.stateFlushAtMillis = now.steadyMillis
    }

    /// Writes every dirty slot that does not wait for the acknowledgement of an outcome or dead letter. Slots that wait
    /// leave the list, because thousands may wait at any moment. They return when they no longer wait.
    @inline(__always) mutating func flushStates(
        budgets: borrowing BudgetStore, in memory: inout ShardMemory, now: EngineTime
    ) {
        self.stateFlushAtMillis = nil
        for index in self.dirtySlots.indices {
            let slot = self.dirtySlots[index]
            guard memory.slots[slot].isLive, memory.slots[slot].isDirty,
                memory.slots[slot].unguardedRecords == 0
            else { continue }
            self.writeState(slot, budgets: budgets, in: &memory, now: now)
        }
        self.dirtySlots.removeAll(keepingCapacity: true)
    }

    /// Writes everything that must change together about one slot in one record. Kafka's acknowledgement of the record
    /// settles the slot's open entries.
    mutating func writeState(
        _ slot: SlotID, budgets: borrowing BudgetStore, in memory: inout ShardMemory, now: EngineTime
    ) {
        let partition = memory.slots[slot].partition
        let keyRange = self.appendStateKey(of: slot, in: memory)
        let isTombstone = memory.slots[slot].isLeaving && !memory.slots[slot].hasWork
        let valueRange =
            isTombstone
            ? self.batch.bytes.count..<self.batch.bytes.count
            : self.appendStateValue(of: slot, budgets: budgets, in: &memory, now: now)
        memory.slots[slot].stateVersion &+= 1
        memory.slots[slot].isDirty = false
        memory.slots[slot].stateWaitExtensions = 0
        memory.slots[slot].lastStateWriteMillis = now.steadyMillis
        memory.counters.stateRecords += 1
        let entries = LedgerEntries(
            entry: memory.slots[slot].openEntry, routedEntry: memory.slots[slot].openRoutedEntry)
        let acknowledgement = self.open(
            .slotState(memory.reference(to: slot), version: memory.slots[slot].stateVersion, entries),
            partition: partition, in: &memory)
        memory.slots[slot].openEntry = .none
        memory.slots[slot].openRoutedEntry = .none
        var headers = isTombstone ? self.appendEpochHeader(partition: partition, in: memory) : 0..<0
        if !isTombstone, memory.slots[slot].earlierDeaths > 0 || memory.slots[slot].tokenStanding == .doubted {
            headers = self.appendTokenHeaders(of: slot, in: memory)
        }
        self.batch.append(
            .state, partition: memory.partitions[partition].number, key: keyRange, value: valueRange, headers: headers,
            hasNoValue: isTombstone,
            acknowledgement: acknowledgement)
        // An announced start leaves once this record is acknowledged.
        let pending = memory.slots[slot].pending
        if pending.isSome, memory.updates[pending].isAnnounced { self.batch.isUrgent = true }
        // An audience's version is sent to the partitions once this record is acknowledged.
        if memory.slots[slot].kind == .audience { self.batch.isUrgent = true }
        if isTombstone { self.forgottenSlots.append(slot) }
    }

    @inline(__always) private mutating func appendStateKey(of slot: SlotID, in memory: borrowing ShardMemory) -> Range<
        Int
    > {
        let start = self.batch.bytes.count
        // The array stays alive during this call: the journal holds the texts, and the texts hold the array.
        let prefix = unsafe self.texts.stateKeyPrefix(
            app: memory.slots[slot].app, kind: memory.slots[slot].kind
        ).withUnsafeBufferPointer {
            unsafe $0
        }
        unsafe self.batch.bytes.append(contentsOf: prefix)
        // The slot is live, so its bytes are valid.
        let id = unsafe memory.slots.idBytes(slot)
        unsafe self.batch.bytes.append(contentsOf: id)
        return start..<self.batch.bytes.count
    }

    private mutating func appendStateValue(
        of slot: SlotID, budgets: borrowing BudgetStore, in memory: inout ShardMemory, now: EngineTime
    ) -> Range<Int> {
        let start = self.batch.bytes.count
        let held = (
            memory.slots[slot].inFlight, memory.slots[slot].pending, memory.slots[slot].behind
        )
        let budget = memory.slots[slot].budget
        // Nothing here changes the slot's budget.
        let answerTimes = unsafe budgets.answers(budget)
        let answers = unsafe Span(_unsafeElements: answerTimes)
        Self.markWritten(held.0, in: &memory)
        Self.markWritten(held.1, in: &memory)
        Self.markWritten(held.2, in: &memory)
        // Nothing here changes the slot's token.
        let tokenBytes = unsafe memory.slots.tokenBytes(slot)
        let token = unsafe Span(_unsafeElements: tokenBytes)
        let isHandedOn = self.handsOver(memory.slots[slot].partition, in: memory)
        if memory.formerTokens.isEmpty {
            Self.compose(
                into: &self.batch.bytes, scratch: &self.scratchBytes,
                slot: memory.slots[slot], isStorageConfigured: memory.isStorageConfigured(of: slot),
                isUnkept: memory.isUnkept(slot), token: token,
                routed: memory.slots.routedPositions(of: slot), answers: answers,
                isInFlight: budgets.isInFlight(budget), held: held,
                updates: memory.updates, epoch: memory.partitions[memory.slots[slot].partition].epoch,
                isReleased: isHandedOn, topicHashes: self.topicHashes, now: now)
        } else {
            self.composeWithOtherToken(
                of: slot, token: token, answers: answers,
                isInFlight: budgets.isInFlight(budget), held: held, isHandedOn: isHandedOn,
                in: memory, now: now)
        }
        if memory.slots[slot].kind == .audience { self.appendBook(of: slot, in: memory, now: now) }
        return start..<self.batch.bytes.count
    }

    /// Writes the record of a slot that may have two tokens. If the slot's newest token is set aside, the record has
    /// that token, because a record has room for only one.
    @inline(never) private mutating func composeWithOtherToken(
        of slot: SlotID, token: Span<UInt8>, answers: Span<Int64>, isInFlight: Bool,
        held: (UpdateID, UpdateID, UpdateID), isHandedOn: Bool, in memory: borrowing ShardMemory,
        now: EngineTime
    ) {
        var stated = memory.slots[slot]
        let newest = memory.formerTokens.newest(of: slot)
        if let newest { stated.registeredWallMillis = newest.registeredWallMillis }
        let newestBytes = newest?.bytes ?? []
        Self.compose(
            into: &self.batch.bytes, scratch: &self.scratchBytes,
            slot: stated, isStorageConfigured: memory.isStorageConfigured(of: slot), isUnkept: memory.isUnkept(slot),
            token: newest == nil ? token : newestBytes.span, routed: memory.slots.routedPositions(of: slot),
            answers: answers, isInFlight: isInFlight, held: held, updates: memory.updates,
            epoch: memory.partitions[memory.slots[slot].partition].epoch, isReleased: isHandedOn,
            topicHashes: self.topicHashes, now: now)
    }

    /// Marks the update, if it exists, as written in a state record.
    private static func markWritten(_ update: UpdateID, in memory: inout ShardMemory) {
        guard update.isSome else { return }
        memory.updates[update].top.isWritten = true
        for layer in memory.updates[update].under.indices { memory.updates[update].under[layer].isWritten = true }
    }

    /// Whether the partition leaves, and certainly nothing was pushed without a record. An owner that leaves before it
    /// has read its backlog cannot be certain, because the former owner may have pushed without a record.
    private func handsOver(_ partition: PartitionIndex, in memory: borrowing ShardMemory) -> Bool {
        guard memory.partitions[partition].phase == .released else { return false }
        return !memory.partitions[partition].former.mayHavePushedUnrecorded || !self.isBehind(partition, in: memory)
    }

    @inline(__always) private static func compose(
        into bytes: inout [UInt8], scratch: inout [UInt8], slot: Slot, isStorageConfigured: Bool,
        isUnkept: Bool, token: Span<UInt8>, routed: RoutedPositions, answers: Span<Int64>, isInFlight: Bool,
        held: (UpdateID, UpdateID, UpdateID),
        updates: borrowing UpdateStore, epoch: Int64, isReleased: Bool, topicHashes: [UInt32], now: EngineTime
    ) {
        bytes.append(using: &scratch) { cursor in
            SlotRecord.write(
                slot, isStorageConfigured: isStorageConfigured, isUnkept: isUnkept, token: token, routed: routed,
                answers: answers,
                isInFlight: isInFlight, epoch: epoch, isReleased: isReleased, topicHashes: topicHashes, now: now,
                to: &cursor)
            SlotRecord.writeHeld(held, of: updates, topicHashes: topicHashes, now: now, to: &cursor)
        }
    }

    /// Writes the record that says who owns the partition.
    /// - Parameters:
    ///   - isClaim: whether the marker begins an epoch. Such a marker states no epoch, because its own offset is the
    ///     epoch.
    ///   - saysTakeovers: whether the marker states how many takeovers this owner has found.
    ///   - releasedWallMillis: when the owner has given the partition back, by its clock; `nil`: it has not.
    /// - Returns: the number of the marker's acknowledgement.
    @discardableResult
    mutating func writeMarker(
        _ partition: PartitionIndex, isClaim: Bool = false, saysTakeovers: Bool = false,
        releasedWallMillis: Int64? = nil, in memory: inout ShardMemory
    ) -> UInt64 {
        let markerKey = MarkerRecord.key
        let key = self.batch.append(markerKey.span)
        let marker = MarkerRecord(
            epoch: isClaim ? -1 : memory.partitions[partition].epoch,
            takenOverWallMillis: max(
                memory.partitions[partition].assignedWallMillis, memory.partitions[partition].former.stampBaseMillis),
            partitionCount: memory.configuration.partitionCount, clusterID: self.texts.clusterID,
            voidBefore: isClaim ? -1 : memory.partitions[partition].voids.before)
        let value = self.appendValue { marker.write(to: &$0) }
        let acknowledgement = self.open(
            .partition(claimNumber: isClaim ? memory.partitions[partition].claimNumber : 0), partition: partition,
            in: &memory)
        let firstHeader = self.batch.headers.count
        if saysTakeovers {
            self.batch.appendHeader(.takeovers, number: memory.partitions[partition].former.takeoversRead)
        }
        if let releasedWallMillis { self.batch.appendHeader(.released, number: releasedWallMillis) }
        self.batch.append(
            .state, partition: memory.partitions[partition].number, key: key, value: value,
            headers: firstHeader..<self.batch.headers.count,
            acknowledgement: acknowledgement)
        self.batch.isUrgent = true
        return acknowledgement
    }

    /// Writes the partition's last record, a marker which says that `state` has everything. If that is not certain,
    /// writes nothing.
    mutating func writeReleaseMarker(_ partition: PartitionIndex, in memory: inout ShardMemory, now: EngineTime) {
        guard self.handsOver(partition, in: memory) else { return }
        self.writeMarker(partition, releasedWallMillis: now.wallMillis, in: &memory)
    }

    /// Appends the book of the audience's owner, which is the last part of an audience's record.
    private mutating func appendBook(of slot: SlotID, in memory: borrowing ShardMemory, now: EngineTime) {
        let book = memory.owners[slot]
        let topicHashes = self.topicHashes
        _ = self.appendValue { book.write(topicHashes: topicHashes, now: now, to: &$0) }
    }
    /// Writes a tombstone for a key without a slot.
    mutating func writeTombstone(key: Span<UInt8>, of partition: PartitionIndex, in memory: inout ShardMemory) {
        self.writeTombstone(key: self.batch.append(key), of: partition, entry: .none, in: &memory)
    }
    /// Writes a tombstone.
    /// - Parameter keyRange: range of the key in the batch's bytes.
    /// - Parameter entry: settled once Kafka has the tombstone.
    mutating func writeTombstone(
        key keyRange: Range<Int>, of partition: PartitionIndex, entry: EntryID, in memory: inout ShardMemory
    ) {
        self.writeTombstone(
            key: keyRange, of: partition,
            acknowledgement: self.open(.logState(entry), partition: partition, in: &memory), in: &memory)
    }
    mutating func writeTombstone(
        key keyRange: Range<Int>, of partition: PartitionIndex, acknowledgement: UInt64, in memory: inout ShardMemory
    ) {
        memory.counters.stateRecords += 1
        let headers = self.appendEpochHeader(partition: partition, in: memory)
        self.batch.append(
            .state, partition: memory.partitions[partition].number, key: keyRange,
            value: self.batch.bytes.count..<self.batch.bytes.count, headers: headers, hasNoValue: true,
            acknowledgement: acknowledgement)
    }

    /// Appends headers about the record's token. They say how often APNs has said that the token died before its
    /// registration, and whether the token is doubted. If the newest token is set aside, the count is another token's,
    /// and is left out.
    @inline(never) private mutating func appendTokenHeaders(
        of slot: SlotID, in memory: borrowing ShardMemory
    ) -> Range<Int> {
        let first = self.batch.headers.count
        if memory.slots[slot].tokenStanding == .doubted { self.batch.appendHeader(.tokenDoubted, number: 1) }
        if memory.slots[slot].earlierDeaths > 0, memory.formerTokens.newest(of: slot) == nil {
            self.batch.appendHeader(.earlierDeaths, number: Int64(memory.slots[slot].earlierDeaths))
        }
        return first..<self.batch.headers.count
    }

    /// Appends the header with a tombstone's epoch.
    private mutating func appendEpochHeader(partition: PartitionIndex, in memory: borrowing ShardMemory) -> Range<Int> {
        let first = self.batch.headers.count
        self.batch.appendHeader(.epoch, number: memory.partitions[partition].epoch)
        return first..<self.batch.headers.count
    }
}
