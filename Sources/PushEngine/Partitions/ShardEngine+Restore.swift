public import PushModel

/// Reads `state` after a takeover (contract: One owner).
extension ShardEngine {
    /// What is missing from the partition's `state`, which was read up to this owner's marker; `nil`: nothing, as far
    /// as is known. The answer is in words.
    /// - Parameters:
    ///   - number: the partition's number. If the partition is not being restored, nothing is missing.
    ///   - stateEnd: how far Kafka has acknowledged `state`, according to the group's commits; `nil`: it may be empty.
    ///     Owners' first markers do not count.
    public func stateLoss(partition number: Int32, stateEnd: Int64?) -> String? {
        guard let stateEnd, let partition = self.core.memory.partitions.index(of: number),
            self.core.memory.partitions[partition].phase == .restoring
        else { return nil }
        return self.core.memory.partitions[partition].loss(before: stateEnd)
    }

    /// Reads one record of the partition's `state`. Records are read in the order of offsets, up to this owner's
    /// marker.
    /// - Parameter number: the partition's number. If the partition is not being restored, nothing happens.
    /// - Parameter key: the record's key; borrowed for the call, like `value`.
    /// - Parameter value: the record's value; empty for a tombstone.
    /// - Parameter isTombstone: whether the value is null, not empty.
    /// - Parameter header: the record's header; `nil`: the record has no header that a restore needs.
    /// - Parameter offset: the record's offset in `state`.
    /// - Parameter now: the time from which the remaining waits, and the ages of budget units, are counted.
    public mutating func restore(
        partition number: Int32, key: Span<UInt8>, value: Span<UInt8>, isTombstone: Bool, header: StateHeader? = nil,
        offset: Int64, now: EngineTime
    ) -> RestoreResult {
        guard let partition = self.core.memory.partitions.index(of: number),
            self.core.memory.partitions[partition].phase == .restoring
        else { return .ignored }
        self.core.memory.partitions[partition].reads(at: offset)
        if isTombstone {
            // A tombstone of an older epoch is not believed. A worker that had lost the partition wrote it after its
            // successor had begun to write.
            if case .epoch(let epoch)? = header {
                guard self.core.memory.isBelieved(epoch, partition: partition) else {
                    return self.outdated(key, of: partition)
                }
            }
            if key.count > 1, key[0] == MemberRecord.keyMark {
                self.fanOut.restoreMemberTombstone(key.extracting(1..<key.count), partition: partition, in: &self.core)
                return .ignored
            }
            if let pause = self.fanOut.pauseKey(ofState: key, partition: partition, in: self.core) {
                self.core.pauses.remove(pause)
                return .ignored
            }
            if key.count > 1, key[0] == StartMemberRecord.keyMark {
                self.fanOut.restoreStartTombstone(key: key, partition: partition, in: &self.core)
                return .ignored
            }
            if self.keeperHost.restoreKeptTombstone(key, partition: partition) { return .ignored }
            guard let slotKey = self.core.journal.texts.slotKey(ofState: key) else {
                self.fanOut.restoreCrowdTombstone(key, partition: partition, in: self.core)
                return .ignored
            }
            if let slot = self.core.memory.slots.find(slotKey, partition: partition) {
                self.emptyRestored(slot)
                self.removeSlot(slot)
            }
            return .ignored
        }
        var reader = StateReader(value)
        do throws(StateError) {
            guard
                let result = try self.restoreRecord(
                    of: partition, key: key, value: value, reader: &reader, header: header, offset: offset,
                    now: now)
            else { return self.outdated(key, of: partition) }
            if case .ignored = result { self.rememberPassedOver(key) }
            return result
        } catch {
            switch error {
            case .unknownVersion(let version): return .unknownVersion(version)
            case .truncated: return .malformed("the record is cut short")
            case .malformed(let text): return .malformed(text)
            }
        }
    }
    /// Ignores a record that does not count, usually because a worker wrote it after its successor had begun to write.
    /// The record's key is remembered.
    private mutating func outdated(_ key: Span<UInt8>, of partition: PartitionIndex) -> RestoreResult {
        self.core.memory.partitions[partition].metOutdated(key)
        return .ignored
    }
    /// Writes again what is known of keys with outdated records. Otherwise compaction would keep only those records.
    mutating func overwriteOutdated(_ partition: PartitionIndex, now: EngineTime) {
        let keys = self.core.memory.partitions[partition].takeOutdatedKeys()
        let number = self.core.memory.partitions[partition].number
        for key in Set(keys).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            _ = self.repair(partition: number, key: key.span, value: Span(), offset: -1, now: now)
        }
    }
    /// Restores what a record is about, depending on the record's kind.
    /// - Returns: `nil`: the record does not count, usually because its writer had already lost the partition.
    private mutating func restoreRecord(
        of partition: PartitionIndex, key: Span<UInt8>, value: Span<UInt8>, reader: inout StateReader,
        header: StateHeader?, offset: Int64, now: EngineTime
    ) throws(StateError) -> RestoreResult? {
        let kind = try StateCodec.readKind(&reader)
        switch kind {
        case .member:
            guard key.count > 1, key[0] == MemberRecord.keyMark else {
                throw .malformed("a member under a key that names none")
            }
            return try self.fanOut.restoreMember(
                key.extracting(1..<key.count), reader: &reader, partition: partition, offset: offset, in: &self.core,
                now: now)
        case .startMember:
            return try self.fanOut.restoreStartMember(
                key: key, reader: &reader, partition: partition, offset: offset, in: &self.core)
        case .versions, .progress, .voided, .startProgress:
            return try self.fanOut.restoreCrowd(
                kind, key: key, reader: &reader, partition: partition, in: &self.core, now: now)
        case .paused:
            return try self.fanOut.restorePause(key: key, reader: &reader, partition: partition, in: &self.core)
        case .keptChannel:
            return try self.keeperHost.restoreKept(key: key, reader: &reader, partition: partition, in: &self.core)
        case .audience:
            guard let slotKey = self.core.journal.texts.slotKey(ofState: key) else { return .ignored }
            guard slotKey.kind == .audience else { throw .malformed("an audience under another key") }
            return try self.restoreSlot(slotKey, of: partition, value: value, reader: &reader, offset: offset, now: now)
        case .marker:
            return self.core.memory.takeMarker(
                try MarkerRecord(&reader), header: header, partition: partition, offset: offset,
                clusterID: self.core.journal.texts.clusterID)
        case .activity:
            guard let slotKey = self.core.journal.texts.slotKey(ofState: key) else { return .ignored }
            guard slotKey.kind == .activity else { throw .malformed("an activity under a channel's key") }
            return try self.restoreSlot(slotKey, of: partition, value: value, reader: &reader, offset: offset, now: now)
        case .channel:
            guard let slotKey = self.core.journal.texts.slotKey(ofState: key) else { return .ignored }
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
            &reader, kind: key.kind, topicHashes: self.core.journal.topicHashes, now: now, ages: &self.restoredAges)
        guard self.core.memory.isBelieved(read.epoch, partition: partition) else { return nil }
        let held = try SlotRecord.readHeld(&reader, topicHashes: self.core.journal.topicHashes, now: now)
        let book = try SlotRecord.readBook(
            &reader, kind: key.kind, topicHashes: self.core.journal.topicHashes, now: now)
        // If the first update has a stamp, it had left or was about to leave. If not, nothing was in flight, and a
        // second update is the one behind it.
        let isFirstInFlight = held.first.map { $0.stampSeconds != nil || $0.isAnnounced } ?? false
        guard isFirstInFlight || held.count < 3 else { throw .malformed("3 updates, none in flight") }
        let age = max(0, now.wallMillis - read.slot.lastTouchedWallMillis)
        let life =
            read.slot.life == .ended
            ? self.core.memory.configuration.apps[Int(key.app)].retentionAfterEndMillis
            : self.core.memory.configuration.settings.lifetimeMillis
        read.slot.tokenMissingSinceMillis = now.steadyMillis
        read.slot.lifeEndsMillis = now.steadyMillis + max(0, life - age)
        // The slot's last push may have left just before the former owner stopped. The minimum distance is counted from
        // then, so the takeover does not add to it.
        read.slot.notBeforeMillis =
            self.core.memory.partitions[partition].formerOwnerQuietSinceMillis
            + self.core.memory.configuration.apps[Int(key.app)].minimumDistanceMillis
        read.slot.couldBeReached =
            !read.token.isEmpty || isFirstInFlight
            || held.contains { $0.top.mayBeSent || $0.under.contains(where: \.mayBeSent) || $0.isStart }
        let slot = self.slotToRestore(key, token: value.extracting(read.token), partition: partition)
        self.core.memory.slots.overwrite(slot, with: read.slot, recordOffset: offset)
        if let channel = read.channel {
            self.core.dispatch.restoreChannel(
                slot, storage: channel.storage, throttleSteps: channel.throttleSteps,
                notBeforeWallMillis: channel.notBeforeWallMillis, isUnkept: channel.isUnkept, in: &self.core.memory,
                now: now
            )
        }
        if read.routed != RoutedPositions() { self.core.memory.slots.setRoutedPositions(read.routed, of: slot) }
        for age in self.restoredAges {
            self.core.dispatch.restoreBudget(slot, ageMillis: age, in: &self.core.memory, now: now)
        }
        if let book {
            self.core.memory.counters.restored += UInt64(book.openCount)
            self.core.memory.counters.pending += UInt64(book.openCount)
            self.core.memory.owners.restore(book, of: slot)
            self.core.memory.stayForStarts(slot, now: now)
            self.core.dispatch.setErrand(.version, of: slot, in: &self.core.memory)
        }
        guard !held.isEmpty else { return .restored }
        for update in held {
            self.core.memory.counters.restored += UInt64(update.eventCount)
            self.core.memory.counters.pending += UInt64(update.eventCount)
        }
        self.core.coalescer.adopt(held, isFirstInFlight: isFirstInFlight, of: slot, in: &self.core.memory)
        self.core.dispatch.countWork(slot, in: &self.core.memory)
        return .restored
    }

    /// The slot that a record is about, with only its id and token. It is a new slot, or the emptied slot of an earlier
    /// record with this key.
    private mutating func slotToRestore(
        _ key: borrowing SlotKey, token: Span<UInt8>, partition: PartitionIndex
    ) -> SlotID {
        let hash = self.core.memory.slots.hash(kind: key.kind, id: key.id)
        guard let old = self.core.memory.slots.find(key, hash: hash, partition: partition) else {
            return self.core.memory.makeSlot(key, hash: hash, token: token, partition: partition)
        }
        self.emptyRestored(old)
        if !self.core.memory.slots.hasToken(token, old) { self.core.memory.slots.setToken(token, of: old) }
        return old
    }

    /// Settles a slot whose last record has been read. What may have been in flight counts as an attempt with an
    /// unknown result.
    mutating func settleRestored(_ slot: SlotID, now: EngineTime) {
        self.core.dispatch.keepDistanceFromFormerOwner(slot, in: &self.core.memory)
        guard self.core.memory.slots[slot].hasWork else { return }
        let couldBeSent = self.core.memory.couldBeSent(slot)
        for update in [
            self.core.memory.slots[slot].inFlight, self.core.memory.slots[slot].pending,
            self.core.memory.slots[slot].behind,
        ]
        where update.isSome {
            if self.core.memory.updates[update].priority == .high {
                self.core.dispatch.countUnrecordedPush(
                    slot, recordMillis: self.core.memory.updates[update].top.recordMillis, in: &self.core.memory,
                    now: now)
            }
            guard couldBeSent else { continue }
            // An update that waited when the record was written may have left since.
            self.core.coalescer.mark(update, mayBeSent: true, in: &self.core.memory)
        }
        guard self.core.memory.slots[slot].inFlight.isSome else {
            if couldBeSent, self.core.memory.slots[slot].behind.isSome {
                self.core.coalescer.putTogether(slot, in: &self.core.memory)
                self.core.settleEndings()
            }
            return
        }
        let first = self.core.memory.slots[slot].inFlight
        self.core.coalescer.markUnknown(first, dropsAlert: false, in: &self.core.memory)
        if self.core.memory.updates[first].isStart, self.core.memory.updates[first].isAnnounced,
            self.core.memory.app(of: slot).startOnUnknown == .drop
        {
            // A second card is worse than no card (contract: Unknown answers).
            self.startFailed(slot, outcome: .unknown, details: OutcomeDetails(cause: .mayBeSent), now: now)
        } else {
            self.requeue(slot)
        }
    }

    /// Empties a slot, because a later record of the same key replaces the earlier one.
    private mutating func emptyRestored(_ slot: SlotID) {
        self.core.dispatch.forgetBudget(slot, in: &self.core.memory)
        self.core.memory.slots.forgetRoutedPositions(slot)
        let events = UInt64(self.core.memory.eventCount(of: slot))
        guard events > 0 else { return }
        self.core.memory.counters.restored -= events
        self.core.memory.counters.pending -= events
        self.core.coalescer.letGo(slot, in: &self.core.memory)
        self.core.memory.owners.remove(slot)
        self.core.dispatch.countWork(slot, in: &self.core.memory)
    }
}
