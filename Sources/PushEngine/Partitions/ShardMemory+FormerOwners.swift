import PushModel

/// Earlier owners of a partition, as a restore of its `state` finds them (contract: One owner), and what they may have
/// sent of a slot without a record.
extension ShardMemory {
    /// Notes that the slot has no record of its own: any owner may have sent pushes of it.
    mutating func noteUnrecorded(_ slot: SlotID) { self.slots[slot].ownersSinceRecord = FormerOwners.countMax }

    /// Whether an earlier owner may have sent an unrecorded push of the slot. `false`: there was none, or the last one
    /// gave the partition back in order.
    func couldHaveUnrecordedPush(_ slot: SlotID) -> Bool {
        // Nothing of an audience leaves that `state` does not have.
        self.slots[slot].kind != .audience && !self.slots[slot].isHandedOver
            && self.partitions[self.slots[slot].partition].former.isAny
    }

    /// Whether an earlier owner may have sent what it has read of this slot, without a record in `state`.
    func couldBeSent(_ slot: SlotID) -> Bool {
        guard self.couldHaveUnrecordedPush(slot) else { return false }
        // A start is announced before it leaves, and takes along what waits.
        return self.slots[slot].life != .starting || self.app(of: slot).startOnUnknown == .resend
    }

    /// Whether a record of an owner of this epoch is believed, at the record that is being read.
    ///
    /// The owner's marker is before the record. An epoch at the record's offset or beyond is of another log, which was
    /// deleted under its owner. It says nothing of the owners of this log, and would make whatever they write outdated.
    @inline(__always) mutating func isBelieved(_ epoch: Int64, partition: PartitionIndex) -> Bool {
        // Nearly all records have the epoch of the previous record's owner, which was behind that owner's marker
        // already.
        epoch == self.partitions[partition].former.newestEpochRead || self.isOtherBelieved(epoch, partition: partition)
    }
    @inline(never) private mutating func isOtherBelieved(_ epoch: Int64, partition: PartitionIndex) -> Bool {
        guard epoch < self.partitions[partition].readingOffset else { return true }
        guard epoch >= self.partitions[partition].former.newestEpochRead else { return false }
        self.noteEpoch(epoch, partition: partition)
        return true
    }

    /// Notes that an owner of this epoch has run.
    mutating func noteEpoch(_ epoch: Int64, partition: PartitionIndex) {
        self.follow(self.partitions[partition].met(epoch: epoch), partition: partition)
    }

    /// Follows the discovery of an owner. It is later than owners that said they left nothing behind, and may have sent
    /// what `state` does not know.
    private mutating func follow(_ news: FormerOwners.News, partition: PartitionIndex) {
        guard news.doubtsHandOvers else { return }
        for slot in self.slots.members(of: partition) {
            self.slots[slot].isHandedOver = false
            if news.isAnother, self.slots[slot].ownersSinceRecord < FormerOwners.countMax {
                self.slots[slot].ownersSinceRecord += 1
            }
        }
    }

    /// Notes a marker found in a restore.
    /// - Parameter takeovers: the value of its header `RecordHeader.takeovers`, or `RecordHeader.acceptedEnd` of a
    ///   first marker; `nil` without one.
    /// - Parameter clusterID: Kafka's name of the cluster; empty: not known.
    mutating func noteMarker(
        _ marker: MarkerRecord, takeovers: Int64? = nil, partition: PartitionIndex, offset: Int64,
        clusterID: [UInt8]
    ) -> RestoreResult {
        let news = self.partitions[partition].met(marker, takeovers: takeovers, at: offset)
        self.follow(news, partition: partition)
        guard marker.partitionCount == self.configuration.partitionCount else {
            return .refused(
                "it was written for \(marker.partitionCount) partitions, and the topics have "
                    + "\(self.configuration.partitionCount): activities lie in other partitions now")
        }
        self.partitions[partition].notePositions(of: marker, at: offset, clusterID: clusterID)
        return .ignored
    }
}
