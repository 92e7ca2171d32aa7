import PushModel

/// Former owners of a partition, as a restore of its `state` finds them (contract: One owner), and pushes that they may
/// have sent without a record.
extension ShardMemory {
    /// Marks the slot as without a record. Each former owner then counts as one that may have sent a push of the slot.
    mutating func markUnrecorded(_ slot: SlotID) { self.slots[slot].ownersSinceRecord = FormerOwners.countMax }

    /// Whether a former owner may have sent a push of the slot without a record.
    func couldHaveUnrecordedPush(_ slot: SlotID) -> Bool {
        // Nothing of an audience leaves before `state` has it.
        self.slots[slot].kind != .audience
            && self.partitions[self.slots[slot].partition].former.mayHavePushedUnrecorded
    }

    /// Whether a former owner may have sent what it had read of this slot, without a record in `state`.
    func couldBeSent(_ slot: SlotID) -> Bool {
        guard self.couldHaveUnrecordedPush(slot) else { return false }
        // A start is announced before it leaves, and includes the updates that wait. Without an announcement,
        // therefore, nothing was sent.
        return self.slots[slot].life != .starting || self.app(of: slot).startOnUnknown == .resend
    }

    /// Whether the record that is being read is believed, given its writer's epoch.
    ///
    /// The writer's marker must be before the record. An epoch at the record's offset or beyond belongs to another log,
    /// which was deleted under its owner. Such a record is believed, but its epoch is ignored. Otherwise everything
    /// that owners of this log write would count as outdated.
    @inline(__always) mutating func isBelieved(_ epoch: Int64, partition: PartitionIndex) -> Bool {
        // Nearly all records have the epoch of the previous record's owner, whose marker was before that record
        // already.
        epoch == self.partitions[partition].former.newestEpochRead || self.isOtherBelieved(epoch, partition: partition)
    }
    @inline(never) private mutating func isOtherBelieved(_ epoch: Int64, partition: PartitionIndex) -> Bool {
        guard epoch < self.partitions[partition].readingOffset else { return true }
        guard epoch >= self.partitions[partition].former.newestEpochRead else { return false }
        self.takeEpoch(epoch, partition: partition)
        return true
    }

    /// Notes that an owner of this epoch has worked.
    mutating func takeEpoch(_ epoch: Int64, partition: PartitionIndex) {
        if self.partitions[partition].met(epoch: epoch) { self.countOwner(partition) }
    }

    /// Adds one owner to the count of each slot whose record was read before that owner was found. The owner may have
    /// sent one push of the slot without a record.
    private mutating func countOwner(_ partition: PartitionIndex) {
        for slot in self.slots.members(of: partition)
        where self.slots[slot].ownersSinceRecord < FormerOwners.countMax {
            self.slots[slot].ownersSinceRecord += 1
        }
    }

    /// Takes a marker found in a restore.
    /// - Parameter clusterID: Kafka's name of the cluster; empty: not known.
    mutating func takeMarker(
        _ marker: MarkerRecord, header: StateHeader? = nil, partition: PartitionIndex, offset: Int64,
        clusterID: [UInt8]
    ) -> RestoreResult {
        if self.partitions[partition].met(marker, header: header, at: offset) { self.countOwner(partition) }
        guard marker.partitionCount == self.configuration.partitionCount else {
            return .refused(
                "it was written for \(marker.partitionCount) partitions, and the topics have "
                    + "\(self.configuration.partitionCount): activities are in other partitions now")
        }
        self.partitions[partition].takePositions(of: marker, at: offset, clusterID: clusterID)
        return .ignored
    }
}
