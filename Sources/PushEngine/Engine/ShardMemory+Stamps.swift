import PushModel

/// The wire stamp (contract: Wire stamp): `aps.timestamp` of what a slot sends next.
extension ShardMemory {
    /// The time of the newest event that the slot has taken, as far as it remembers; 0: none.
    func newestSeconds(of slot: SlotID) -> Int64 {
        var newest = max(0, self.slots[slot].lastAcceptedSeconds)
        for update in [self.slots[slot].inFlight, self.slots[slot].pending, self.slots[slot].behind] where update.isSome
        {
            newest = max(newest, self.updates[update].top.timestampSeconds)
        }
        return newest
    }

    /// Gives the update its stamp. The device drops what is not newer than what it has.
    private mutating func giveStamp(_ update: UpdateID, of slot: SlotID) {
        var stamp = max(self.updates[update].top.stampFloorSeconds, self.slots[slot].lastStampSeconds + 1)
        if self.updates[update].containsReplay {
            stamp = self.stampPastUnrecorded(slot, floorSeconds: self.updates[update].top.stampFloorSeconds)
        }
        self.updates[update].stampSeconds = stamp
        self.slots[slot].lastStampSeconds = stamp
    }

    /// The update leaves: it keeps the stamp of an earlier attempt, or has a new one, which can be taken back.
    @inline(__always) mutating func giveStampForAttempt(_ update: UpdateID, of slot: SlotID) {
        self.updates[update].stampBeforeSeconds = nil
        guard self.updates[update].stampSeconds == nil else { return }
        self.updates[update].stampBeforeSeconds = self.slots[slot].lastStampSeconds
        self.giveStamp(update, of: slot)
    }

    /// Past the one push of each owner before that may have gone unrecorded: of several that died one after the other each has gone
    /// one further. The time of the assignment helps where their markers are gone.
    private func stampPastUnrecorded(_ slot: SlotID, floorSeconds: Int64) -> Int64 {
        let partition = self.slots[slot].partition
        let assigned = max(self.partitions[partition].assignedWallMillis, self.partitions[partition].stampBaseMillis)
        let further = max(1, self.partitions[partition].takeoversRead)
        return max(
            floorSeconds + further, self.slots[slot].lastStampSeconds + 1 + further, assigned / 1_000 + 2)
    }

    /// An event that an owner before may have sent ends without being sent again. No record tells of the stamp it may have left with:
    /// whatever comes next is stamped past it, by the next owner too. The caller has the slot written
    /// down.
    mutating func passUnrecordedStamp(_ slot: SlotID, floorSeconds: Int64) {
        self.slots[slot].lastStampSeconds = self.stampPastUnrecorded(slot, floorSeconds: floorSeconds)
    }

    /// The push did not reach the phone: a stamp first given to this attempt is free again. So there is never more than one stamp that
    /// `state` does not know, which is what a replay steps over (contract: Wire stamp).
    mutating func takeStampBack(_ update: UpdateID) {
        guard let before = self.updates[update].stampBeforeSeconds else { return }
        self.slots[self.updates[update].slot].lastStampSeconds = before
        self.updates[update].stampSeconds = nil
    }

    // MARK: Announcing a start

    /// A second card is worse than none (contract: Unknown answers): before a start leaves, `state` says that it may have, and with which stamp.
    mutating func announceStart(_ update: UpdateID, of slot: SlotID) {
        self.giveStamp(update, of: slot)
        self.updates[update].isAnnounced = true
    }

    /// It does not leave after all, or has not reached the phone.
    mutating func withdrawAnnouncement(_ update: UpdateID) {
        self.updates[update].isAnnounced = false
        self.updates[update].stampSeconds = nil
    }

    // MARK: Versions of an audience

    /// The next version's stamp. It lies in `state` before it leaves, so nothing has to be passed over (contract: Wire stamp).
    mutating func nextVersionStamp(_ slot: SlotID, floorSeconds: Int64) -> Int64 {
        let stamp = max(floorSeconds, self.slots[slot].lastStampSeconds + 1)
        self.slots[slot].lastStampSeconds = stamp
        return stamp
    }
}
