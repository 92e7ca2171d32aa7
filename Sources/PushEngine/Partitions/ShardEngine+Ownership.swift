import PushModel

/// Decides when a new owner may push, and writes the markers that say who owns a partition (contract: One owner).
///
/// A former owner may have pushed anything that it had read. All of that is below the log ends seen at assignment.
/// Before all of it is read again, a push could show a phone something older than what it shows already (contract:
/// Device equivalence). Pushes therefore wait until the backlog is read, for a limited time. The limit is needed
/// because a log can be long, or end with the mark of a transaction, which is never read.
extension ShardEngine {
    // MARK: Markers

    /// Writes a marker. The restore ends at the offset of the owner's first marker, which is the owner's epoch. Later
    /// markers make sure that a gap is noticed in a partition where nothing else is written.
    mutating func writeMarker(_ partition: PartitionIndex, saysTakeovers: Bool = false, now: EngineTime) {
        self.core.journal.writeMarker(partition, saysTakeovers: saysTakeovers, in: &self.core.memory)
        let dueMillis = now.steadyMillis + self.core.memory.configuration.settings.markerRefreshMillis
        self.core.memory.partitions[partition].markerWritten(nextDueMillis: dueMillis)
        self.ownership.scheduleMarker(dueMillis)
    }

    /// Writes the markers that are due again.
    mutating func refreshMarkers(now: EngineTime) {
        guard self.ownership.nextMarkerMillis <= now.steadyMillis else { return }
        self.ownership.beginMarkerRound()
        for partition in self.core.memory.partitions.identifiers
        where self.core.memory.partitions[partition].phase == .running {
            let dueMillis = self.core.memory.partitions[partition].markerDueMillis
            if dueMillis <= now.steadyMillis {
                self.writeMarker(partition, now: now)
            } else {
                self.ownership.scheduleMarker(dueMillis)
            }
        }
    }

    /// Takes Kafka's acknowledgement of a marker of the partition.
    @inline(never) mutating func markerAcknowledged(
        _ partition: PartitionIndex, claimNumber: UInt32, offset: Int64, now: EngineTime
    ) {
        switch self.core.memory.partitions[partition].markerAcknowledged(claimNumber: claimNumber, offset: offset) {
        case .nothing: break
        case .writeMarker: self.writeMarker(partition, now: now)
        case .writeClaim: _ = self.writeClaim(partition)
        case .confirmEpoch: self.writeMarker(partition, saysTakeovers: true, now: now)
        case .lookAtPushing: self.beginPushing(partition, now: now)
        }
    }

    // MARK: Catching up

    mutating func beginCatchUp(_ partition: PartitionIndex, now: EngineTime) {
        // If there is no former owner, nobody can have sent anything.
        guard self.core.memory.partitions[partition].former.isAny,
            self.core.journal.isBehind(partition, in: self.core.memory)
        else {
            return
        }
        let ends = now.steadyMillis + self.core.memory.configuration.settings.catchUpMaxMillis
        self.core.memory.partitions[partition].beginCatchUp(endsMillis: ends)
        self.ownership.scheduleCatchUpEnd(ends)
    }

    /// Lets partitions push if they have caught up, cannot catch up, or have waited long enough.
    mutating func advanceCatchUps(now: EngineTime) {
        guard self.ownership.isCatchingUp else { return }
        self.ownership.beginCatchUpRound()
        // At a limit on slots, or on one app's share, nothing is read until something has left. So pushes cannot wait
        // for the backlog.
        let isFull =
            (self.roomWithinLimits == 0 || self.isAnAppFull)
            && self.core.journal.acknowledgements.openCount < self.core.memory.configuration.settings.unacknowledgedMax
        for partition in self.core.memory.partitions.identifiers
        where self.core.memory.partitions[partition].phase == .running {
            guard let ends = self.core.memory.partitions[partition].catchUpEndsMillis else { continue }
            if ends <= now.steadyMillis || isFull || !self.core.journal.isBehind(partition, in: self.core.memory) {
                self.core.memory.partitions[partition].caughtUp()
                self.beginPushing(partition, now: now)
            } else {
                self.ownership.scheduleCatchUpEnd(ends)
            }
        }
    }

    /// Lets pushes of the partition leave, if nothing prevents it. The partition's second marker must be in `state`,
    /// and all gaps must be repaired. The wait for the backlog of the assignment must be over.
    mutating func beginPushing(_ partition: PartitionIndex, now: EngineTime) {
        guard self.core.memory.partitions[partition].opensForPushes() else { return }
        for slot in self.core.memory.slots.members(of: partition) where self.core.memory.slots[slot].pending.isSome {
            self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
        }
        for slot in self.core.memory.slots.members(of: partition) where self.core.memory.slots[slot].kind == .audience {
            self.publisher.sendAgain(slot, in: &self.core, now: now)
        }
        for crowd in self.fanOut.crowds.crowds(of: partition) { self.fanOut.schedule(crowd, in: &self.core, now: now) }
        self.keeperHost.releaseHeldErrands(of: partition, in: &self.core, now: now)
    }
}
