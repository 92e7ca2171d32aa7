import PushModel

/// Gives stamps to what a slot sends: the pushes' `aps.timestamp` (contract: Wire stamp).
extension ShardMemory {
    /// The time of the newest event that the slot has taken, as far as the slot remembers; 0: none.
    func newestSeconds(of slot: SlotID) -> Int64 {
        var newest = max(0, self.slots[slot].lastAcceptedSeconds)
        for update in [self.slots[slot].inFlight, self.slots[slot].pending, self.slots[slot].behind] where update.isSome
        {
            newest = max(newest, self.updates[update].top.timestampSeconds)
        }
        return newest
    }

    /// Gives the update its stamp. The device drops a push whose stamp is not newer than the last one's.
    private mutating func giveStamp(_ update: UpdateID, of slot: SlotID) {
        let stamp = max(self.updates[update].top.stampFloorSeconds, self.slots[slot].lastStampSeconds + 1)
        self.updates[update].stampSeconds = stamp
        self.slots[slot].lastStampSeconds = stamp
    }

    /// Gives a leaving update its stamp. It keeps the stamp of an earlier attempt, or gets a new one, which can be
    /// taken back.
    @inline(__always) mutating func giveStampForAttempt(_ update: UpdateID, of slot: SlotID) {
        self.updates[update].stampBeforeSeconds = nil
        guard self.updates[update].stampSeconds == nil else { return }
        if self.updates[update].containsReplay {
            self.passUnrecordedStamp(slot, floorSeconds: self.updates[update].top.stampFloorSeconds)
        }
        self.updates[update].stampBeforeSeconds = self.slots[slot].lastStampSeconds
        self.giveStamp(update, of: slot)
    }

    /// Skips the stamps that former owners may have used for an event without a record. The event is now sent again, or
    /// given up. The caller must make sure that the slot's record is written.
    ///
    /// Each former owner may have sent one push without a record, with a stamp one above that of the owner before it.
    /// Therefore this owner skips all of these stamps once, no matter how many events it sends again or gives up. If it
    /// skipped them twice and died before `state` had the second skip, the next owner's stamps would be too low. The
    /// new stamp is also later than the assignment, in case markers of former owners are gone.
    @inline(never) mutating func passUnrecordedStamp(_ slot: SlotID, floorSeconds: Int64) {
        let partition = self.slots[slot].partition
        let assigned = max(
            self.partitions[partition].assignedWallMillis, self.partitions[partition].former.stampBaseMillis)
        let further = max(1, self.partitions[partition].former.takeoversRead)
        let last = self.slots[slot].lastStampSeconds
        self.slots[slot].lastStampSeconds = max(
            floorSeconds + further - 1, self.slots[slot].hasPassedUnrecorded ? last : last + further,
            assigned / 1_000 + 1)
        self.slots[slot].hasPassedUnrecorded = true
    }

    /// Takes back a new stamp that this attempt got, because the push did not reach the phone. Therefore each owner
    /// leaves at most one used stamp out of `state`, and later owners skip it (contract: Wire stamp).
    mutating func takeStampBack(_ update: UpdateID) {
        guard let before = self.updates[update].stampBeforeSeconds else { return }
        self.slots[self.updates[update].slot].lastStampSeconds = before
        self.updates[update].stampSeconds = nil
    }

    // MARK: Announcing a start

    /// Announces a start before it leaves: the next `state` record has the start's stamp, and says that the start may
    /// have left. A second card is worse than no card (contract: Unknown answers).
    mutating func announceStart(_ update: UpdateID, of slot: SlotID) {
        if self.updates[update].containsReplay {
            self.passUnrecordedStamp(slot, floorSeconds: self.updates[update].top.stampFloorSeconds)
        }
        self.giveStamp(update, of: slot)
        self.updates[update].isAnnounced = true
    }

    /// Withdraws the announcement, because the start does not leave after all, or has not reached the phone.
    mutating func withdrawAnnouncement(_ update: UpdateID) {
        self.updates[update].isAnnounced = false
        self.updates[update].stampSeconds = nil
    }

    // MARK: Versions of an audience

    /// The next version's stamp. The version is in `state` before it leaves, so no stamp has to be skipped (contract:
    /// Wire stamp).
    mutating func nextVersionStamp(_ slot: SlotID, floorSeconds: Int64) -> Int64 {
        let stamp = max(floorSeconds, self.slots[slot].lastStampSeconds + 1)
        self.slots[slot].lastStampSeconds = stamp
        return stamp
    }
}
