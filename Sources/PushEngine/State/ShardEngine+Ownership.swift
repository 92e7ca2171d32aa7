public import PushModel

/// A stretch of the partition's `state` that this owner did not write, between records that it did: somebody who has lost the partition
/// and does not know it wrote there.
public struct StateGap: Sendable, Equatable {
    public var partition: Int32
    /// Offsets of `state`. May hold records of this owner's own, if Kafka took one and its answer was lost.
    public var offsets: Range<Int64>
}

/// What was done about one record of a `StateGap`.
public enum StateRepair: Sendable, Equatable {
    /// The owner's own record of that key is written again, behind it.
    case overwritten
    /// The owner knows no such slot: a tombstone is written behind it.
    case removed
    /// Nothing this owner reads.
    case ignored
    /// A newer owner's marker: the partition belongs to somebody else. The runner drops it, uncommitted.
    case succeeded
}

/// One owner a partition (contract §6): the marker that begins its time, the epoch its records carry, and what it does about records of
/// others. `state` has one writer, so the offsets Kafka acknowledges run without gaps; in a gap lies a record of another.
extension ShardEngine {
    /// Gaps of one partition that wait for the runner. More than these are read as one long stretch.
    static var gapsMax: Int { 16 }

    // MARK: The marker

    /// The first one's offset ends the restore and is the owner's epoch; the later ones make sure that a gap is noticed in a partition
    /// where nothing happens.
    mutating func writeMarker(place: PartitionIndex, now: EngineTime) {
        let markerKey = StateCodec.markerKey
        let key = self.appendBytes(markerKey.span)
        let start = self.batch.bytes.count
        let marker = StateCodec.Marker(
            epoch: self.partitions[place].epoch,
            takenOverWallMillis: max(
                self.partitions[place].assignedWallMillis, self.partitions[place].stampBaseMillis),
            partitionCount: self.configuration.partitionCount, clusterID: self.texts.clusterID)
        self.batch.bytes.append(atMost: StateCodec.byteCountMax(marker), using: &self.scratchBytes) { cursor in
            StateCodec.write(marker, to: &cursor)
        }
        let value = start..<self.batch.bytes.count
        self.partitions[place].unacknowledged += 1
        self.partitions[place].markerDueMillis = now.steadyMillis + self.configuration.markerRefreshMillis
        self.nextMarkerMillis = min(self.nextMarkerMillis, self.partitions[place].markerDueMillis)
        let acknowledgement = self.openAcknowledgement(
            PendingAcknowledgement(
                kind: .marker, sequence: 0, isOpen: true, partition: place,
                partitionGeneration: self.partitions[place].generation, slot: .none, slotGeneration: 0,
                stateVersion: 0,
                isUnguarded: false, entry: EntryID.none, routedEntry: EntryID.none))
        self.appendRecord(
            .state, partition: self.partitions[place].number, key: key, value: value, acknowledgement: acknowledgement)
        self.batch.isUrgent = true
    }

    /// Writes the markers that are due again.
    mutating func refreshMarkers(now: EngineTime) {
        self.nextMarkerMillis = .max
        for place in self.partitions.identifiers where self.partitions[place].phase == .running {
            if self.partitions[place].markerDueMillis <= now.steadyMillis {
                self.writeMarker(place: place, now: now)
            } else {
                self.nextMarkerMillis = min(self.nextMarkerMillis, self.partitions[place].markerDueMillis)
            }
        }
    }

    // MARK: Gaps

    /// Kafka has a record of this owner's at `offset`; negative: the runner gave it up, and no offset is known.
    mutating func noteStateOffset(_ offset: Int64, place: PartitionIndex) {
        guard offset >= 0 else { return }
        let next = self.partitions[place].nextStateOffset
        // Records of a partition are acknowledged in order. One that stands for another's offset changes nothing.
        guard offset >= next else { return }
        self.partitions[place].nextStateOffset = offset + 1
        guard next >= 0, offset > next else { return }
        self.counters.stateGaps += 1
        self.hasStateGaps = true
        let gap = next..<offset
        if self.partitions[place].gaps.count < Self.gapsMax {
            self.partitions[place].gaps.append(gap)
        } else {
            let last = self.partitions[place].gaps.count - 1
            let begun = self.partitions[place].gaps[last].lowerBound
            self.partitions[place].gaps[last] = begun..<gap.upperBound
        }
    }

    /// The next stretch of `state` to be read and given to `repair`, record by record; then `stateGapRepaired`. One of a partition at a
    /// time, none before it runs.
    public mutating func takeStateGap() -> StateGap? {
        guard self.hasStateGaps else { return nil }
        var isAnyLeft = false
        for place in self.partitions.identifiers where !self.partitions[place].gaps.isEmpty {
            guard self.partitions[place].phase == .running, !self.partitions[place].isUnderRepair else {
                isAnyLeft = true
                continue
            }
            self.partitions[place].isUnderRepair = true
            return StateGap(
                partition: self.partitions[place].number, offsets: self.partitions[place].gaps.removeFirst())
        }
        self.hasStateGaps = isAnyLeft
        return nil
    }

    /// The whole of the gap that was taken last has been given to `repair`.
    public mutating func stateGapRepaired(partition: Int32, now: EngineTime) {
        guard let place = self.place(of: partition) else { return }
        self.partitions[place].isUnderRepair = false
        self.beginPushing(place: place, now: now)
    }

    /// Pushes of the partition leave once its marker lies in `state`, what others wrote before that is repaired, and what lay in the log
    /// has been read.
    mutating func beginPushing(place: PartitionIndex, now: EngineTime) {
        let partition = self.partitions[place]
        guard partition.phase == .running, partition.isMarked, partition.gaps.isEmpty, !partition.isUnderRepair,
            partition.catchUpEndsMillis == nil, !partition.mayPush
        else { return }
        self.partitions[place].mayPush = true
        self.forEachMember(place: place) { engine, slot in
            if engine.slots[slot].pending.isSome { engine.reschedule(slot, now: now) }
        }
    }

    /// A record found in a gap. What this owner knows of its key is written again, so that a restore, or compaction, keeps that.
    ///
    /// - Parameters:
    ///   - value: of a marker, its value; of anything else it is not looked at.
    public mutating func repair(
        partition: Int32, key: Span<UInt8>, value: Span<UInt8>, offset: Int64, now: EngineTime
    ) -> StateRepair {
        guard let place = self.place(of: partition), self.partitions[place].phase == .running else { return .ignored }
        let markerKey = StateCodec.markerKey
        if key.holdsSameBytes(as: markerKey.span) {
            var reader = StateReader(value)
            // A marker of a release to come belongs to somebody newer, too.
            guard let kind = try? StateCodec.readKind(&reader), kind == .marker,
                let marker = try? StateCodec.readMarker(&reader)
            else { return .succeeded }
            // A first marker here is a former owner's, late on its way: repairs go on only while the group confirms the ownership. One who
            // has run longer than this owner has to be taken for real.
            if marker.epoch > self.partitions[place].epoch { return .succeeded }
            self.counters.stateRecordsForeign += 1
            self.writeMarker(place: place, now: now)
            return .overwritten
        }
        guard let (app, idStart) = self.parseStateKey(key) else { return .ignored }
        self.counters.stateRecordsForeign += 1
        if let slot = self.findSlot(app: app, id: key.extracting(idStart..<key.count), partition: place) {
            if self.partitions[place].mayPush {
                self.markDirty(slot, now: now)
            } else {
                self.requireStateRecord(slot, now: now)
            }
            return .overwritten
        }
        self.writeTombstone(place: place, key: key)
        return .removed
    }

    /// For a key that no slot stands behind.
    private mutating func writeTombstone(place: PartitionIndex, key: Span<UInt8>) {
        let keyRange = self.appendBytes(key)
        self.counters.stateRecords += 1
        self.partitions[place].unacknowledged += 1
        let acknowledgement = self.openAcknowledgement(
            PendingAcknowledgement(
                kind: .state, sequence: 0, isOpen: true, partition: place,
                partitionGeneration: self.partitions[place].generation, slot: .none, slotGeneration: 0,
                stateVersion: 0,
                isUnguarded: false, entry: EntryID.none, routedEntry: EntryID.none))
        let headers = self.appendEpochHeader(place: place)
        self.appendRecord(
            .state, partition: self.partitions[place].number, key: keyRange,
            value: self.batch.bytes.count..<self.batch.bytes.count, headers: headers, hasNoValue: true,
            acknowledgement: acknowledgement)
    }

    /// The header that says a tombstone's epoch.
    mutating func appendEpochHeader(place: PartitionIndex) -> Range<Int> {
        let first = self.batch.headers.count
        self.appendHeader(.epoch, number: self.partitions[place].epoch)
        return first..<self.batch.headers.count
    }

    // MARK: Who wrote the state that is restored

    /// More owners than this, one after the other within the compaction lag, are not told apart.
    static var takeoversReadMax: Int64 { 600 }
    /// How much the clocks of two owners may differ and stamps still grow from the one to the other.
    static var clockDifferenceMillisMax: Int64 { 300_000 }

    /// An owner of this epoch has run: what older ones wrote behind this is not believed. Its first marker alone does not say so: that of
    /// a worker that died over it may come to lie behind its successor's.
    mutating func noteEpoch(_ epoch: Int64, place: PartitionIndex) {
        guard epoch > self.partitions[place].newestEpochRead else { return }
        self.partitions[place].newestEpochRead = epoch
        self.doubtHandOvers(place: place)
        // Compaction may have taken the first marker; a later one of the same owner tells the time as well.
        let begun = self.partitions[place].takeovers.last { $0.epoch == epoch }?.wallMillis ?? 0
        if self.partitions[place].ownersWallMillis.count >= Self.ownersReadMax {
            self.partitions[place].ownersWallMillis.removeFirst()
        }
        self.partitions[place].ownersWallMillis.append(begun)
        self.forEachMember(place: place) { engine, slot in
            guard engine.slots[slot].ownersSinceRecord < Self.ownersReadMax else { return }
            engine.slots[slot].ownersSinceRecord += 1
        }
    }

    /// Of each of so many owners that died one after the other over the same slot the one push that may have gone unrecorded is counted.
    static var ownersReadMax: UInt8 { 64 }

    /// Somebody has owned the partition since those who said that they left nothing behind: it may have sent what `state` does not know.
    private mutating func doubtHandOvers(place: PartitionIndex) {
        self.forEachMember(place: place) { engine, slot in engine.slots[slot].isHandedOver = false }
    }

    /// A marker met in a restore.
    mutating func noteMarker(_ marker: StateCodec.Marker, place: PartitionIndex, offset: Int64) -> RestoreResult {
        if marker.epoch >= 0 {
            self.noteEpoch(marker.epoch, place: place)
            let last = self.partitions[place].ownersWallMillis.count - 1
            if last >= 0, self.partitions[place].ownersWallMillis[last] == 0,
                marker.epoch == self.partitions[place].newestEpochRead
            {
                self.partitions[place].ownersWallMillis[last] = marker.takenOverWallMillis
            }
        } else {
            self.partitions[place].takeoversRead = min(
                self.partitions[place].takeoversRead + 1, Self.takeoversReadMax)
            if offset < self.partitions[place].epoch {
                if self.partitions[place].takeovers.count >= Self.ownersReadMax {
                    self.partitions[place].takeovers.removeFirst()
                }
                self.partitions[place].takeovers.append((offset, marker.takenOverWallMillis))
                self.partitions[place].newestTakeoverRead = offset
                self.doubtHandOvers(place: place)
            }
        }
        // Later than every owner before, however their clocks went, unless one was wrong by more than may be mended.
        let wall = self.partitions[place].assignedWallMillis
        let after = min(marker.takenOverWallMillis, wall + Self.clockDifferenceMillisMax) + 1_000
        if offset < self.partitions[place].epoch {
            self.partitions[place].stampBaseMillis = max(self.partitions[place].stampBaseMillis, after)
        }
        if marker.partitionCount != self.configuration.partitionCount {
            return .refused(
                "it was written for \(marker.partitionCount) partitions, and the topics have "
                    + "\(self.configuration.partitionCount): activities lie in other partitions now")
        }
        // One without a name knows nothing about the other.
        if !marker.clusterID.isEmpty, !self.texts.clusterID.isEmpty, marker.clusterID != self.texts.clusterID {
            self.partitions[place].voidingClusterID = String(decoding: marker.clusterID, as: UTF8.self)
        } else {
            self.partitions[place].voidingClusterID = nil
        }
        return .ignored
    }

    /// The cluster that the partition's state was written for, when it is another one: positions in it mean nothing here, and every event
    /// found in the log is taken as new. `nil`: positions hold.
    public func voidingClusterID(partition: Int32) -> String? {
        guard let place = self.place(of: partition) else { return nil }
        return self.partitions[place].voidingClusterID
    }

    /// Positions of another cluster's log are forgotten.
    mutating func voidPositions(of slot: SlotID) {
        self.slots[slot].applied = AppliedPosition()
        self.slots[slot].hasRoutedPositions = false
        self.routedPositions[slot] = nil
    }
}
