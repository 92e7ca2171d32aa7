import PushModel

/// Who has owned a partition before, as a restore of its `state` tells (contract: One owner), and what of a slot such an owner may have sent without
/// a record.
extension ShardMemory {
    /// The slot has no record of its own: any owner may have sent of it.
    mutating func noteUnrecorded(_ slot: SlotID) { self.slots[slot].ownersSinceRecord = FormerOwners.countMax }

    /// False: nobody owned the partition before, or the owner before gave it back in order.
    func couldHaveUnrecordedPush(_ slot: SlotID) -> Bool {
        // Of an audience nothing leaves that `state` does not have.
        self.slots[slot].kind != .audience && !self.slots[slot].isHandedOver
            && self.partitions[self.slots[slot].partition].former.isAny
    }

    /// What an owner before has read of this slot it may have sent, too, without `state` knowing.
    func couldBeSent(_ slot: SlotID) -> Bool {
        guard self.couldHaveUnrecordedPush(slot) else { return false }
        // A start is announced before it leaves, and takes along what waits.
        return self.slots[slot].life != .starting || self.app(of: slot).startOnUnknown == .resend
    }

    /// Whether what an owner of this epoch wrote is believed, at the record that is being read.
    ///
    /// Its marker lies before the record. An epoch at the record or beyond is of another log, which was deleted under its owner, and says nothing
    /// of the owners of this one: it would outdate whatever they write.
    @inline(__always) mutating func isBelieved(_ epoch: Int64, partition: PartitionIndex) -> Bool {
        // As nearly all are: of the owner whose record came before, which lay behind that owner's marker already.
        epoch == self.partitions[partition].former.newestEpochRead || self.isOtherBelieved(epoch, partition: partition)
    }
    @inline(never) private mutating func isOtherBelieved(_ epoch: Int64, partition: PartitionIndex) -> Bool {
        guard epoch < self.partitions[partition].readingOffset else { return true }
        guard epoch >= self.partitions[partition].former.newestEpochRead else { return false }
        self.noteEpoch(epoch, partition: partition)
        return true
    }

    /// An owner of this epoch has run.
    mutating func noteEpoch(_ epoch: Int64, partition: PartitionIndex) {
        self.follow(self.partitions[partition].met(epoch: epoch), partition: partition)
    }

    /// Somebody has owned the partition since those who said that they left nothing behind: it may have sent what `state` does not know.
    private mutating func follow(_ news: FormerOwners.News, partition: PartitionIndex) {
        guard news.doubtsHandOvers else { return }
        for slot in self.slots.members(of: partition) {
            self.slots[slot].isHandedOver = false
            if news.isAnother, self.slots[slot].ownersSinceRecord < FormerOwners.countMax {
                self.slots[slot].ownersSinceRecord += 1
            }
        }
    }

    /// A marker met in a restore.
    /// - Parameter takeovers: what its header `RecordHeader.takeovers` says, or, of a first marker, `RecordHeader.acceptedEnd`; `nil` without
    ///   one.
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
