import PushModel

/// Who has owned a partition before, as a restore of its `state` tells (contract: One owner), and what of a slot such an owner may have sent without
/// a record.
extension ShardMemory {
    /// The slot has no record of its own: any owner may have sent of it.
    mutating func noteUnrecorded(_ slot: SlotID) { self.slots[slot].ownersSinceRecord = Self.ownersReadMax }

    /// False: nobody owned the partition before, or the owner before gave it back in order.
    func couldHaveUnrecordedPush(_ slot: SlotID) -> Bool {
        // Of an audience nothing leaves that `state` does not have.
        self.slots[slot].kind != .audience && !self.slots[slot].isHandedOver
            && self.partitions[self.slots[slot].partition].hadOwner
    }

    /// What an owner before has read of this slot it may have sent, too, without `state` knowing.
    func couldBeSent(_ slot: SlotID) -> Bool {
        guard self.couldHaveUnrecordedPush(slot) else { return false }
        // A start is announced before it leaves, and takes along what waits.
        return self.slots[slot].life != .starting || self.app(of: slot).startOnUnknown == .resend
    }

    /// More owners than this, one after the other within the compaction lag, are not told apart.
    static var takeoversReadMax: Int64 { 600 }

    /// How much the clocks of two owners may differ and stamps still grow from the one to the other.
    static var clockDifferenceMillisMax: Int64 { 300_000 }

    /// Whether what an owner of this epoch wrote is believed, at the record that is being read.
    ///
    /// Its marker lies before the record. An epoch at the record or beyond is of another log, which was deleted under its owner, and says nothing
    /// of the owners of this one: it would outdate whatever they write.
    @inline(__always) mutating func isBelieved(_ epoch: Int64, partition: PartitionIndex) -> Bool {
        // As nearly all are: of the owner whose record came before, which lay behind that owner's marker already.
        epoch == self.partitions[partition].newestEpochRead || self.isOtherBelieved(epoch, partition: partition)
    }
    @inline(never) private mutating func isOtherBelieved(_ epoch: Int64, partition: PartitionIndex) -> Bool {
        guard epoch < self.partitions[partition].readingOffset else { return true }
        guard epoch >= self.partitions[partition].newestEpochRead else { return false }
        self.noteEpoch(epoch, partition: partition)
        return true
    }

    /// An owner of this epoch has run: what older ones wrote behind this is not believed. Its first marker alone does not say so: that of
    /// a worker that died over it may come to lie behind its successor's.
    mutating func noteEpoch(_ epoch: Int64, partition: PartitionIndex) {
        guard epoch > self.partitions[partition].newestEpochRead else { return }
        self.partitions[partition].newestEpochRead = epoch
        self.doubtHandOvers(partition: partition)
        // Compaction may have taken the first marker; a later one of the same owner tells the time as well.
        let begun = self.partitions[partition].takeovers.last { $0.epoch == epoch }?.wallMillis ?? 0
        // The owner before goes on, with another Kafka client: no two take over at one moment by what they write (`stampBaseMillis`).
        if begun != 0, begun == self.partitions[partition].ownersWallMillis.last { return }
        if self.partitions[partition].ownersWallMillis.count >= Self.ownersReadMax {
            self.partitions[partition].ownersWallMillis.removeFirst()
        }
        self.partitions[partition].ownersWallMillis.append(begun)
        for slot in self.slots.members(of: partition) where self.slots[slot].ownersSinceRecord < Self.ownersReadMax {
            self.slots[slot].ownersSinceRecord += 1
        }
    }

    /// Of each of so many owners that died one after the other over the same slot the one push that may have gone unrecorded is counted.
    static var ownersReadMax: UInt8 { 64 }

    /// Somebody has owned the partition since those who said that they left nothing behind: it may have sent what `state` does not know.
    private mutating func doubtHandOvers(partition: PartitionIndex) {
        for slot in self.slots.members(of: partition) { self.slots[slot].isHandedOver = false }
    }

    /// A marker met in a restore.
    /// - Parameter takeovers: what its header `RecordHeader.takeovers` says, or, of a first marker, `RecordHeader.acceptedEnd`; `nil` without
    ///   one.
    /// - Parameter clusterID: Kafka's name of the cluster; empty: not known.
    mutating func noteMarker(
        _ marker: StateCodec.Marker, takeovers: Int64? = nil, partition: PartitionIndex, offset: Int64,
        clusterID: [UInt8]
    ) -> RestoreResult {
        if marker.epoch >= offset {
            // The marker is of another log.
        } else if marker.epoch >= 0 {
            self.noteEpoch(marker.epoch, partition: partition)
            if let takeovers {
                self.partitions[partition].takeoversRead = min(
                    max(self.partitions[partition].takeoversRead, takeovers), Self.takeoversReadMax)
            }
            let last = self.partitions[partition].ownersWallMillis.count - 1
            if last >= 0, self.partitions[partition].ownersWallMillis[last] == 0,
                marker.epoch == self.partitions[partition].newestEpochRead
            {
                self.partitions[partition].ownersWallMillis[last] = marker.takenOverWallMillis
            }
        } else if let acceptedEnd = takeovers {
            // Nobody's claim: a person has accepted that `state` is lost.
            self.partitions[partition].acceptedStateEnd = acceptedEnd
            self.partitions[partition].voids.begin(.accepted, at: offset)
        } else {
            self.partitions[partition].takeoversRead = min(
                self.partitions[partition].takeoversRead + 1, Self.takeoversReadMax)
            if offset < self.partitions[partition].epoch {
                if self.partitions[partition].takeovers.count >= Self.ownersReadMax {
                    self.partitions[partition].takeovers.removeFirst()
                }
                self.partitions[partition].takeovers.append((offset, marker.takenOverWallMillis))
                self.partitions[partition].newestTakeoverRead = offset
                self.doubtHandOvers(partition: partition)
            }
        }
        // Later than every owner before, however their clocks went, unless one was wrong by more than may be mended.
        let wall = self.partitions[partition].assignedWallMillis
        let after = min(marker.takenOverWallMillis, wall + Self.clockDifferenceMillisMax) + 1_000
        if offset < self.partitions[partition].epoch {
            self.partitions[partition].stampBaseMillis = max(self.partitions[partition].stampBaseMillis, after)
        }
        if marker.partitionCount != self.configuration.partitionCount {
            return .refused(
                "it was written for \(marker.partitionCount) partitions, and the topics have "
                    + "\(self.configuration.partitionCount): activities lie in other partitions now")
        }
        // One without a name knows nothing about the other.
        if !marker.clusterID.isEmpty, !clusterID.isEmpty, marker.clusterID != clusterID {
            let name = String(decoding: marker.clusterID, as: UTF8.self)
            self.partitions[partition].voids.begin(.cluster(name), at: offset)
        } else {
            self.partitions[partition].voids.note(marker, at: offset)
        }
        return .ignored
    }
}
