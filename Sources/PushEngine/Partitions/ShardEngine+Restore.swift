public import PushModel

/// Reads `state` after a takeover (contract: One owner).
extension ShardEngine {
    /// Reads one record of the partition's `state`, in the order of offsets, up to the own marker.
    /// - Parameter number: the partition's number. One that is not being restored is left alone.
    /// - Parameter key: the record's key; borrowed for the call, as `value` is.
    /// - Parameter value: empty for a tombstone.
    /// - Parameter isTombstone: whether the value is null, not empty.
    /// - Parameter headerNumber: the number in the record's header; `nil` without one. A tombstone has
    ///   `RecordHeader.epoch`, a marker `RecordHeader.takeovers` or `RecordHeader.acceptedEnd`.
    /// - Parameter offset: the record's offset in `state`.
    /// - Parameter now: the time for which the rest of waits and of the budget is computed.
    public mutating func restore(
        partition number: Int32, key: Span<UInt8>, value: Span<UInt8>, isTombstone: Bool, headerNumber: Int64? = nil,
        offset: Int64, now: EngineTime
    ) -> RestoreResult {
        guard let partition = self.memory.partitions.index(of: number),
            self.memory.partitions[partition].phase == .restoring
        else { return .ignored }
        self.memory.partitions[partition].reads(at: offset)
        if isTombstone {
            // A worker that had lost the partition wrote this after its successor had begun to write.
            if let epoch = headerNumber {
                guard self.memory.isBelieved(epoch, partition: partition) else {
                    return self.outdated(key, of: partition)
                }
            }
            if key.count > 1, key[0] == MemberRecord.keyMark {
                self.restoreMemberTombstone(key.extracting(1..<key.count), partition: partition)
                return .ignored
            }
            if let pause = self.pauseKey(ofState: key, partition: partition) {
                self.audiences.pauses.remove(pause)
                return .ignored
            }
            if key.count > 1, key[0] == StartMemberRecord.keyMark {
                self.restoreStartTombstone(key: key, partition: partition)
                return .ignored
            }
            if self.restoreKeptTombstone(key, partition: partition) { return .ignored }
            guard let slotKey = self.journal.texts.slotKey(ofState: key) else {
                self.restoreCrowdTombstone(key, partition: partition)
                return .ignored
            }
            if let slot = self.memory.slots.find(slotKey, partition: partition) {
                self.emptyRestored(slot)
                self.removeSlot(slot)
            }
            return .ignored
        }
        var reader = StateReader(value)
        do throws(StateError) {
            guard
                let result = try self.restoreRecord(
                    of: partition, key: key, value: value, reader: &reader, headerNumber: headerNumber, offset: offset,
                    now: now)
            else { return self.outdated(key, of: partition) }
            if case .ignored = result { self.notePassedOver(key) }
            return result
        } catch {
            switch error {
            case .unknownVersion(let version): return .unknownVersion(version)
            case .truncated: return .malformed("the record is cut short")
            case .malformed(let text): return .malformed(text)
            }
        }
    }
    /// Ignores a record of a worker that had lost the partition, written after its successor had begun to write. Its
    /// key is remembered.
    private mutating func outdated(_ key: Span<UInt8>, of partition: PartitionIndex) -> RestoreResult {
        self.memory.partitions[partition].metOutdated(key)
        return .ignored
    }
    /// Writes again what is known of keys with outdated records. Compaction would keep only those records.
    mutating func overwriteOutdated(_ partition: PartitionIndex, now: EngineTime) {
        let keys = self.memory.partitions[partition].takeOutdatedKeys()
        let number = self.memory.partitions[partition].number
        for key in Set(keys).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            _ = self.repair(partition: number, key: key.span, value: Span(), offset: -1, now: now)
        }
    }
    /// Restores a slot from its record.
    /// - Returns: `nil`: the record's writer was not the owner then.
    private mutating func restoreRecord(
        of partition: PartitionIndex, key: Span<UInt8>, value: Span<UInt8>, reader: inout StateReader,
        headerNumber: Int64?, offset: Int64, now: EngineTime
    ) throws(StateError) -> RestoreResult? {
        let kind = try StateCodec.readKind(&reader)
        switch kind {
        case .member:
            guard key.count > 1, key[0] == MemberRecord.keyMark else {
                throw .malformed("a member under a key that names none")
            }
            return try self.restoreMember(
                key.extracting(1..<key.count), reader: &reader, partition: partition, offset: offset, now: now)
        case .startMember:
            return try self.restoreStartMember(key: key, reader: &reader, partition: partition, offset: offset)
        case .versions, .progress, .voided, .startProgress:
            return try self.restoreCrowd(kind, key: key, reader: &reader, partition: partition, now: now)
        case .paused: return try self.restorePause(key: key, reader: &reader, partition: partition)
        case .keptChannel: return try self.restoreKept(key: key, reader: &reader, partition: partition)
        case .audience:
            guard let slotKey = self.journal.texts.slotKey(ofState: key) else { return .ignored }
            guard slotKey.kind == .audience else { throw .malformed("an audience under another key") }
            return try self.restoreSlot(slotKey, of: partition, value: value, reader: &reader, offset: offset, now: now)
        case .marker:
            return self.memory.noteMarker(
                try MarkerRecord(&reader), takeovers: headerNumber, partition: partition, offset: offset,
                clusterID: self.journal.texts.clusterID)
        case .activity:
            guard let slotKey = self.journal.texts.slotKey(ofState: key) else { return .ignored }
            guard slotKey.kind == .activity else { throw .malformed("an activity under a channel's key") }
            return try self.restoreSlot(slotKey, of: partition, value: value, reader: &reader, offset: offset, now: now)
        case .channel:
            guard let slotKey = self.journal.texts.slotKey(ofState: key) else { return .ignored }
            guard slotKey.kind == .channel else { throw .malformed("a channel under an activity's key") }
            return try self.restoreSlot(slotKey, of: partition, value: value, reader: &reader, offset: offset, now: now)
        }
    }

    private mutating func restoreSlot(
        _ key: borrowing SlotKey, of partition: PartitionIndex, value: Span<UInt8>, reader: inout StateReader,
        offset: Int64, now: EngineTime
    ) throws(StateError) -> RestoreResult? {
        if !self.restoredAges.isEmpty { self.restoredAges.removeAll(keepingCapacity: true) }
        var read = try SlotRecord(
            &reader, kind: key.kind, topicHashes: self.journal.topicHashes, now: now, ages: &self.restoredAges)
        guard self.memory.isBelieved(read.epoch, partition: partition) else { return nil }
        let held = try SlotRecord.readHeld(&reader, topicHashes: self.journal.topicHashes, now: now)
        let book = try SlotRecord.readBook(&reader, kind: key.kind, topicHashes: self.journal.topicHashes, now: now)
        // With a stamp, the first update had left, or was about to. Without one nothing was in flight, and the second
        // follows the first.
        let isFirstInFlight = held.first.map { $0.stampSeconds != nil || $0.isAnnounced } ?? false
        guard isFirstInFlight || held.count < 3 else { throw .malformed("3 updates, none in flight") }
        let age = max(0, now.wallMillis - read.slot.lastTouchedWallMillis)
        let life =
            read.slot.life == .ended
            ? self.memory.configuration.apps[Int(key.app)].retentionAfterEndMillis
            : self.memory.configuration.settings.lifetimeMillis
        read.slot.tokenMissingSinceMillis = now.steadyMillis
        read.slot.lifeEndsMillis = now.steadyMillis + max(0, life - age)
        // Its last push may have left just before the former owner stopped. The time that the takeover has taken counts
        // towards the distance.
        read.slot.notBeforeMillis =
            self.memory.partitions[partition].formerOwnerQuietSinceMillis
            + self.memory.configuration.apps[Int(key.app)].minimumDistanceMillis
        read.slot.isHandedOver =
            read.isReleased && read.epoch >= self.memory.partitions[partition].former.newestTakeoverRead
        let slot = self.slotToRestore(key, token: value.extracting(read.token), partition: partition)
        self.memory.slots.overwrite(slot, with: read.slot, recordOffset: offset)
        if let channel = read.channel {
            self.dispatch.restoreChannel(
                slot, storage: channel.storage, throttleSteps: channel.throttleSteps,
                notBeforeWallMillis: channel.notBeforeWallMillis, isUnkept: channel.isUnkept, in: &self.memory, now: now
            )
        }
        if read.routed != RoutedPositions() { self.memory.slots.setRoutedPositions(read.routed, of: slot) }
        for age in self.restoredAges {
            self.dispatch.restoreBudget(slot, ageMillis: age, in: &self.memory, now: now)
        }
        if let book {
            self.memory.counters.restored += UInt64(book.openCount)
            self.memory.counters.pending += UInt64(book.openCount)
            self.memory.owners.restore(book, of: slot)
            self.memory.stayForStarts(slot, now: now)
            self.dispatch.setErrand(.version, of: slot, in: &self.memory)
        }
        guard !held.isEmpty else { return .restored }
        for update in held {
            self.memory.counters.restored += UInt64(update.eventCount)
            self.memory.counters.pending += UInt64(update.eventCount)
        }
        self.coalescer.adopt(held, isFirstInFlight: isFirstInFlight, of: slot, in: &self.memory)
        self.dispatch.noteWork(slot, in: &self.memory)
        return .restored
    }

    /// The slot that a record is about, with its id and token and nothing else. It is new, or the one that an earlier
    /// record of the same key has made. The latter stays where it is, in the table as in memory.
    private mutating func slotToRestore(
        _ key: borrowing SlotKey, token: Span<UInt8>, partition: PartitionIndex
    ) -> SlotID {
        let hash = self.memory.slots.hash(kind: key.kind, id: key.id)
        guard let old = self.memory.slots.find(key, hash: hash, partition: partition) else {
            return self.memory.makeSlot(key, hash: hash, token: token, partition: partition)
        }
        self.emptyRestored(old)
        if !self.memory.slots.hasToken(token, old) { self.memory.slots.setToken(token, of: old) }
        return old
    }

    /// Settles a slot whose last record has been read. What may have been in flight is taken as an attempt whose answer
    /// nobody knows.
    mutating func settleRestored(_ slot: SlotID, now: EngineTime) {
        self.dispatch.keepDistanceFromFormerOwner(slot, in: &self.memory)
        guard self.memory.slots[slot].hasWork else { return }
        let couldBeSent = self.memory.couldBeSent(slot)
        for update in [
            self.memory.slots[slot].inFlight, self.memory.slots[slot].pending, self.memory.slots[slot].behind,
        ]
        where update.isSome {
            if self.memory.updates[update].priority == .high {
                self.dispatch.countUnrecordedPush(
                    slot, recordMillis: self.memory.updates[update].top.recordMillis, in: &self.memory, now: now)
            }
            guard couldBeSent else { continue }
            // Updates that waited when the record was written may have left since.
            self.coalescer.noteMayBeSent(update, in: &self.memory)
        }
        guard self.memory.slots[slot].inFlight.isSome else {
            if couldBeSent, self.memory.slots[slot].behind.isSome {
                self.coalescer.putTogether(slot, in: &self.memory)
                self.settleEndings()
            }
            return
        }
        let first = self.memory.slots[slot].inFlight
        self.coalescer.noteUnknown(first, dropsAlert: false, in: &self.memory)
        if self.memory.updates[first].isStart, self.memory.updates[first].isAnnounced,
            self.memory.app(of: slot).startOnUnknown == .drop
        {
            // A second card is worse than none (contract: Unknown answers).
            self.startFailed(slot, outcome: .unknown, details: OutcomeDetails(cause: .mayBeSent), now: now)
        } else {
            self.requeue(slot)
        }
    }

    /// Empties a slot before a later record of the same key replaces an earlier one.
    private mutating func emptyRestored(_ slot: SlotID) {
        self.dispatch.forgetBudget(slot, in: &self.memory)
        self.memory.slots.forgetRoutedPositions(slot)
        let events = UInt64(self.memory.eventCount(of: slot))
        guard events > 0 else { return }
        self.memory.counters.restored -= events
        self.memory.counters.pending -= events
        self.coalescer.letGo(slot, in: &self.memory)
        self.memory.owners.remove(slot)
        self.dispatch.noteWork(slot, in: &self.memory)
    }
}
