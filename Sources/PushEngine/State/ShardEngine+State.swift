public import PushModel

/// How reading one record of `state` went.
public enum RestoreResult: Equatable, Sendable {
    case restored
    /// A tombstone, a marker, a record of an older epoch behind one of a newer, or of an app that is configured no more.
    case ignored
    /// Written by a newer release: the partition must stop (contract §6).
    case unknownVersion(UInt8)
    case malformed(String)
    /// Written for another layout of the topics: the partition must stop. Why.
    case refused(String)
}

extension ShardEngine {
    // MARK: Writing

    /// The slot's record is to be written within `stateFlushMillis`; while outcomes of its must be acknowledged first, as soon as they are.
    mutating func markDirty(_ slot: SlotID, now: EngineTime) {
        guard !self.slots[slot].isDirty else { return }
        self.slots[slot].isDirty = true
        guard self.slots[slot].unguardedRecords == 0 else { return }
        self.dirtySlots.append(slot)
        if self.stateFlushAtMillis == nil {
            self.stateFlushAtMillis = now.steadyMillis + self.configuration.stateFlushMillis
        }
    }

    /// Nothing may leave the slot until a record written from here on is acknowledged (contract §4).
    mutating func requireStateRecord(_ slot: SlotID, now: EngineTime) {
        self.slots[slot].awaitsStateRecord = true
        self.slots[slot].requiredStateVersion = self.slots[slot].stateVersion &+ 1
        self.markDirty(slot, now: now)
    }

    /// The last outcome that the slot's record had to wait for is acknowledged.
    mutating func writeStateAwaited(_ slot: SlotID, now: EngineTime) {
        guard self.slots[slot].isDirty else { return }
        // It may stand there already; the second time it will be found written.
        self.dirtySlots.append(slot)
        self.stateFlushAtMillis = now.steadyMillis
    }

    /// Writes every dirty slot that is not waiting for an outcome to be acknowledged first. Those that are come back when it is: thousands wait
    /// at any moment of a rush.
    mutating func flushStates(now: EngineTime) {
        self.stateFlushAtMillis = nil
        for index in self.dirtySlots.indices {
            let slot = self.dirtySlots[index]
            guard self.slots[slot].isLive, self.slots[slot].isDirty,
                self.slots[slot].unguardedRecords == 0
            else { continue }
            self.writeState(slot, now: now)
        }
        self.dirtySlots.removeAll(keepingCapacity: true)
    }

    /// Everything that must move together about one slot, in one record. Its acknowledgement settles what the slot held open.
    mutating func writeState(_ slot: SlotID, now: EngineTime) {
        let place = self.slots[slot].partition
        let keyRange = self.appendStateKey(of: slot)
        let isTombstone = self.slots[slot].isLeaving && !self.slots[slot].hasWork
        let valueRange =
            isTombstone ? self.batch.bytes.count..<self.batch.bytes.count : self.appendStateValue(of: slot, now: now)
        self.slots[slot].stateVersion &+= 1
        self.slots[slot].isDirty = false
        self.slots[slot].stateWaitExtensions = 0
        self.slots[slot].lastStateWriteMillis = now.steadyMillis
        self.counters.stateRecords += 1
        self.partitions[place].unacknowledged += 1
        let acknowledgement = self.openAcknowledgement(
            PendingAcknowledgement(
                kind: .state, sequence: 0, isOpen: true, partition: place,
                partitionGeneration: self.partitions[place].generation,
                slot: slot, slotGeneration: self.slots[slot].generation,
                stateVersion: self.slots[slot].stateVersion,
                isUnguarded: false, entry: self.slots[slot].openEntry,
                routedEntry: self.slots[slot].openRoutedEntry))
        self.slots[slot].openEntry = .none
        self.slots[slot].openRoutedEntry = .none
        let headers = isTombstone ? self.appendEpochHeader(place: place) : 0..<0
        self.appendRecord(
            .state, partition: self.partitions[place].number, key: keyRange, value: valueRange, headers: headers,
            hasNoValue: isTombstone,
            acknowledgement: acknowledgement)
        // A start leaves once this is acknowledged.
        let pending = self.slots[slot].pending
        if pending.isSome, self.updates[pending].isAnnounced { self.batch.isUrgent = true }
        if isTombstone { self.removeSlot(slot) }
    }

    private mutating func appendStateKey(of slot: SlotID) -> Range<Int> {
        let start = self.batch.bytes.count
        // The texts never change, and hold the array as long as the engine lives.
        let prefix = unsafe self.texts.stateKeyPrefixes[Int(self.slots[slot].app)].withUnsafeBufferPointer {
            unsafe $0
        }
        unsafe self.batch.bytes.append(contentsOf: prefix)
        // The slot lives, so its bytes do.
        let id = unsafe self.idBytes(slot)
        unsafe self.batch.bytes.append(contentsOf: id)
        return start..<self.batch.bytes.count
    }

    private mutating func appendStateValue(of slot: SlotID, now: EngineTime) -> Range<Int> {
        let start = self.batch.bytes.count
        let held = (
            self.slots[slot].inFlight, self.slots[slot].pending, self.slots[slot].behind
        )
        let budget = self.slots[slot].budget
        // Nothing here changes the slot's budget.
        let answerTimes = unsafe self.budgets.answers(budget)
        let answers = unsafe Span(_unsafeElements: answerTimes)
        var byteCountMax = StateCodec.byteCountMax(self.slots[slot], budgetUnits: answers.count)
        let count =
            self.noteWritten(held.0, &byteCountMax) + self.noteWritten(held.1, &byteCountMax)
            + self.noteWritten(held.2, &byteCountMax)
        // Nothing here changes the slot's token.
        let tokenBytes = unsafe self.tokenBytes(slot)
        let token = unsafe Span(_unsafeElements: tokenBytes)
        Self.compose(
            into: &self.batch.bytes, scratch: &self.scratchBytes, byteCountMax: byteCountMax,
            slot: self.slots[slot], token: token, routed: self.routedPositions(of: slot), answers: answers,
            isInFlight: self.budgets.isInFlight(budget), held: held, heldCount: count,
            updates: self.updates, epoch: self.partitions[self.slots[slot].partition].epoch,
            isReleased: self.isHandedOn(slot),
            topicHashes: self.topicHashes, now: now)
        return start..<self.batch.bytes.count
    }

    /// The update, if there is one, stands in a state record from here on. 1 or 0; adds the bytes it may take.
    private mutating func noteWritten(_ update: UpdateID, _ byteCountMax: inout Int) -> UInt64 {
        guard update.isSome else { return 0 }
        byteCountMax += StateCodec.byteCountMax(self.updates[update])
        self.updates[update].top.isWritten = true
        for layer in self.updates[update].under.indices { self.updates[update].under[layer].isWritten = true }
        return 1
    }

    /// Its record says that nothing of it is unrecorded. An owner that leaves before it has read what the one before may have pushed without
    /// a record does not know that.
    private func isHandedOn(_ slot: SlotID) -> Bool {
        let place = self.slots[slot].partition
        guard self.partitions[place].phase == .released else { return false }
        return !self.couldHaveUnrecordedPush(slot) || !self.isBehind(place: place)
    }

    private static func compose(
        into bytes: inout [UInt8], scratch: inout [UInt8], byteCountMax: Int, slot: Slot,
        token: Span<UInt8>, routed: RoutedPositions, answers: Span<Int64>, isInFlight: Bool,
        held: (UpdateID, UpdateID, UpdateID), heldCount: UInt64,
        updates: borrowing UpdateStore, epoch: Int64, isReleased: Bool, topicHashes: [UInt32], now: EngineTime
    ) {
        bytes.append(atMost: byteCountMax, using: &scratch) { cursor in
            StateCodec.write(
                slot, token: token, routed: routed, answers: answers, isInFlight: isInFlight, epoch: epoch,
                isReleased: isReleased, topicHashes: topicHashes, now: now, to: &cursor)
            cursor.unsigned(heldCount)
            if held.0.isSome { StateCodec.write(updates[held.0], topicHashes: topicHashes, now: now, to: &cursor) }
            if held.1.isSome { StateCodec.write(updates[held.1], topicHashes: topicHashes, now: now, to: &cursor) }
            if held.2.isSome { StateCodec.write(updates[held.2], topicHashes: topicHashes, now: now, to: &cursor) }
        }
    }

    // MARK: Restoring

    /// Reads one record of the partition's `state`, in the order of offsets, up to the own marker.
    /// - Parameter tombstoneEpoch: what the header `RecordHeader.epoch` of a tombstone says; `nil` without one.
    public mutating func restore(
        partition: Int32, key: Span<UInt8>, value: Span<UInt8>, isTombstone: Bool, tombstoneEpoch: Int64? = nil,
        offset: Int64, now: EngineTime
    ) -> RestoreResult {
        guard let place = self.place(of: partition), self.partitions[place].phase == .restoring else { return .ignored }
        if isTombstone {
            // A worker that had lost the partition wrote this after its successor had begun to write.
            if let tombstoneEpoch {
                guard tombstoneEpoch >= self.partitions[place].newestEpochRead else { return .ignored }
                self.noteEpoch(tombstoneEpoch, place: place)
            }
            guard let (app, idStart) = self.parseStateKey(key) else { return .ignored }
            let id = key.extracting(idStart..<key.count)
            if let slot = self.findSlot(app: app, id: id, partition: place) {
                self.forgetRestored(slot)
            }
            return .ignored
        }
        var reader = StateReader(value)
        do throws(StateError) {
            switch try StateCodec.readKind(&reader) {
            case .marker:
                return self.noteMarker(try StateCodec.readMarker(&reader), place: place, offset: offset)
            case .slot:
                guard let (app, idStart) = self.parseStateKey(key) else { return .ignored }
                return try self.restoreSlot(
                    place: place, app: app, id: key.extracting(idStart..<key.count), value: value, reader: &reader,
                    now: now)
            }
        } catch {
            switch error {
            case .unknownVersion(let version): return .unknownVersion(version)
            case .truncated: return .malformed("the record is cut short")
            case .malformed(let text): return .malformed(text)
            }
        }
    }

    private mutating func restoreSlot(
        place: PartitionIndex, app: UInt16, id: Span<UInt8>, value: Span<UInt8>, reader: inout StateReader,
        now: EngineTime
    ) throws(StateError) -> RestoreResult {
        if !self.restoredAges.isEmpty { self.restoredAges.removeAll(keepingCapacity: true) }
        var read = try StateCodec.readParts(
            &reader, topicHashes: self.topicHashes, now: now, ages: &self.restoredAges)
        // A worker that had lost the partition wrote this after its successor had begun to write.
        guard read.epoch >= self.partitions[place].newestEpochRead else { return .ignored }
        self.noteEpoch(read.epoch, place: place)
        let count = try reader.unsigned()
        guard count <= 3 else { throw .malformed("\(count) updates") }
        var held: [Update] = []
        for _ in 0..<count { held.append(try StateCodec.readUpdate(&reader, topicHashes: self.topicHashes, now: now)) }
        guard reader.isAtEnd else { throw .malformed("bytes behind the last update") }
        // One with a stamp had left, or was about to; without, nothing was in flight: a second one was written as following the first.
        let isFirstInFlight = held.first.map { $0.stampSeconds != nil || $0.isAnnounced } ?? false
        guard isFirstInFlight || held.count < 3 else { throw .malformed("3 updates, none in flight") }
        let age = max(0, now.wallMillis - read.slot.lastTouchedWallMillis)
        let life =
            read.slot.life == .ended
            ? self.configuration.apps[Int(app)].retentionAfterEndMillis : self.configuration.lifetimeMillis
        read.slot.tokenMissingSinceMillis = now.steadyMillis
        read.slot.lifeEndsMillis = now.steadyMillis + max(0, life - age)
        // Its last push may have left just before the former owner stopped; what the takeover has taken since counts towards the distance.
        read.slot.notBeforeMillis =
            self.partitions[place].formerOwnerQuietSinceMillis
            + self.configuration.apps[Int(app)].minimumDistanceMillis
        read.slot.isHandedOver = read.isReleased && read.epoch >= self.partitions[place].newestTakeoverRead
        let slot = self.slotToRestore(app: app, id: id, token: value.extracting(read.token), place: place)
        read.slot.hasRoutedPositions = read.routed != RoutedPositions()
        self.fill(slot, with: read.slot)
        if read.slot.hasRoutedPositions { self.routedPositions[slot] = read.routed }
        for age in self.restoredAges {
            self.budgets.restore(&self.slots[slot].budget, ageMillis: age, nowMillis: now.steadyMillis)
        }
        guard !held.isEmpty else { return .restored }
        let places: [Place] = isFirstInFlight ? [.inFlight, .pending, .behind] : [.pending, .behind]
        for (update, place) in zip(held, places) {
            self.counters.restored += UInt64(update.eventCount)
            self.counters.pending += UInt64(update.eventCount)
            self.adopt(update, of: slot, as: place)
        }
        return .restored
    }

    /// The slot that a record is about, with its id and token and nothing else: a new one, or the one that an earlier record of the same key
    /// has made. That one stays where it is, in the table as in memory.
    private mutating func slotToRestore(app: UInt16, id: Span<UInt8>, token: Span<UInt8>, place: PartitionIndex)
        -> SlotID
    {
        let hash = self.index.hash(kind: SlotKind.activity.rawValue, id: id)
        guard let old = self.findSlot(app: app, id: id, hash: hash, partition: place) else {
            let slot = self.makeSlot(app: app, hash: hash, partition: place)
            self.setID(id, token: token, slot: slot)
            return slot
        }
        self.emptyRestored(old)
        if !self.tokenEquals(token, slot: old) { self.setToken(token, slot: old) }
        return old
    }

    /// What a record says of a slot that has its id and token.
    private mutating func fill(_ number: SlotID, with read: Slot) {
        var slot = read
        slot.generation = self.slots[number].generation
        slot.isLive = true
        slot.app = self.slots[number].app
        slot.partition = self.slots[number].partition
        slot.memberIndex = self.slots[number].memberIndex
        slot.hash = self.slots[number].hash
        slot.identity = self.slots[number].identity
        slot.idByteCount = self.slots[number].idByteCount
        slot.tokenByteCount = self.slots[number].tokenByteCount
        slot.tokenGeneration = 1
        self.slots[number] = slot
    }

    /// The last record of the slot has been read. What may have been in flight is taken as an attempt that nobody knows the answer of.
    mutating func settleRestored(_ slot: SlotID, now: EngineTime) {
        guard self.slots[slot].hasWork else { return }
        let couldBeSent = self.couldBeSent(slot)
        for update in [self.slots[slot].inFlight, self.slots[slot].pending, self.slots[slot].behind]
        where update.isSome {
            if self.updates[update].priority == .high {
                self.countUnrecordedPush(slot, recordMillis: self.updates[update].top.recordMillis, now: now)
            }
            guard couldBeSent else { continue }
            // What waited when it was written may have left since.
            self.updates[update].top.mayBeSent = true
            for layer in self.updates[update].under.indices { self.updates[update].under[layer].mayBeSent = true }
        }
        guard self.slots[slot].inFlight.isSome else { return }
        let first = self.slots[slot].inFlight
        self.updates[first].top.mayBeSent = true
        if self.updates[first].isStart, self.updates[first].isAnnounced, self.app(of: slot).startOnUnknown == .drop {
            // A second card is worse than none (contract §4).
            self.startFailed(slot, outcome: .unknown, details: OutcomeDetails(cause: .mayBeSent), now: now)
        } else {
            self.requeueInFlight(slot, now: now)
        }
    }

    private enum Place { case pending, behind, inFlight }

    private mutating func adopt(_ update: Update, of slot: SlotID, as place: Place) {
        let id = self.updates.make(slot: slot)
        let sequence = self.updates[id].sequence
        self.updates[id] = update
        self.updates[id].slot = slot
        self.updates[id].sequence = sequence
        // A later attempt may have gone unrecorded: the next one is stamped anew.
        self.updates[id].stampSeconds = nil
        self.changeWork(slot) {
            switch place {
            case .pending: $0.pending = id
            case .behind: $0.behind = id
            case .inFlight: $0.inFlight = id
            }
        }
    }

    /// A tombstone takes away what was restored from an earlier record.
    private mutating func forgetRestored(_ slot: SlotID) {
        self.emptyRestored(slot)
        self.removeSlot(slot)
    }

    /// A later record of the same key takes the place of an earlier one: what that one brought along leaves the slot.
    private mutating func emptyRestored(_ slot: SlotID) {
        self.budgets.release(&self.slots[slot].budget)
        if self.slots[slot].hasRoutedPositions {
            self.slots[slot].hasRoutedPositions = false
            self.routedPositions[slot] = nil
        }
        let held = (self.slots[slot].pending, self.slots[slot].behind, self.slots[slot].inFlight)
        guard held.0.isSome || held.1.isSome || held.2.isSome else { return }
        self.changeWork(slot) {
            $0.pending = .none
            $0.behind = .none
            $0.inFlight = .none
        }
        for update in [held.0, held.1, held.2] where update.isSome {
            let events = UInt64(self.updates[update].eventCount)
            self.counters.restored -= events
            self.counters.pending -= events
            self.updates.release(update)
        }
    }

    func parseStateKey(_ key: Span<UInt8>) -> (app: UInt16, idStart: Int)? {
        guard key.count > 3, key[0] == UInt8(ascii: "a"), key[1] == UInt8(ascii: "/") else { return nil }
        for index in self.texts.bundleIDs.indices {
            let bundleID = self.texts.bundleIDs[index]
            let idStart = 2 + bundleID.count + 1
            guard key.count > idStart, key.count - idStart <= EventRules.keyByteCountMax,
                key[idStart - 1] == UInt8(ascii: "/")
            else { continue }
            if key.extracting(2..<(idStart - 1)).holdsSameBytes(as: bundleID.span) { return (UInt16(index), idStart) }
        }
        return nil
    }
}
