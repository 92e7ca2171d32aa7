import PushModel

/// Decides when a new owner may push, and writes the markers that say who owns a partition (contract: One owner).
///
/// An earlier owner may have pushed whatever it has read. All of that is below the log ends seen at assignment. Before
/// it is read again, a push could show a phone something older than it shows already. (Contract: Device equivalence.)
/// No push leaves before that, for a limited time. A log can be long, and its end may never be read (the mark of a
/// transaction).
extension ShardEngine {
    // MARK: Markers

    /// Writes a marker. The first one's offset ends the restore and is the owner's epoch. Later markers make sure that
    /// a gap is noticed in a partition where nothing happens.
    mutating func writeMarker(_ partition: PartitionIndex, saysTakeovers: Bool = false, now: EngineTime) {
        self.journal.writeMarker(partition, saysTakeovers: saysTakeovers, in: &self.memory)
        let dueMillis = now.steadyMillis + self.memory.configuration.settings.markerRefreshMillis
        self.memory.partitions[partition].markerWritten(nextDueMillis: dueMillis)
        self.ownership.noteMarkerDue(dueMillis)
    }

    /// Writes the markers that are due again.
    mutating func refreshMarkers(now: EngineTime) {
        guard self.ownership.nextMarkerMillis <= now.steadyMillis else { return }
        self.ownership.beginMarkerRound()
        for partition in self.memory.partitions.identifiers
        where self.memory.partitions[partition].phase == .running {
            let dueMillis = self.memory.partitions[partition].markerDueMillis
            if dueMillis <= now.steadyMillis {
                self.writeMarker(partition, now: now)
            } else {
                self.ownership.noteMarkerDue(dueMillis)
            }
        }
    }

    /// Takes Kafka's acknowledgement of a marker of the partition.
    @inline(never) mutating func markerAcknowledged(
        _ partition: PartitionIndex, claimNumber: UInt32, offset: Int64, now: EngineTime
    ) {
        switch self.memory.partitions[partition].markerAcknowledged(claimNumber: claimNumber, offset: offset) {
        case .nothing: break
        case .writeMarker: self.writeMarker(partition, now: now)
        case .writeClaim: _ = self.writeClaim(partition)
        case .confirmEpoch: self.writeMarker(partition, saysTakeovers: true, now: now)
        case .lookAtPushing: self.beginPushing(partition, now: now)
        }
    }

    // MARK: Catching up

    mutating func beginCatchUp(_ partition: PartitionIndex, now: EngineTime) {
        // No earlier owner can have sent anything.
        guard self.memory.partitions[partition].former.isAny, self.journal.isBehind(partition, in: self.memory) else {
            return
        }
        let ends = now.steadyMillis + self.memory.configuration.settings.catchUpMaxMillis
        self.memory.partitions[partition].beginCatchUp(endsMillis: ends)
        self.ownership.noteCatchUpEnd(ends)
    }

    /// Lets partitions push that have caught up, or cannot.
    mutating func advanceCatchUps(now: EngineTime) {
        guard self.ownership.isCatchingUp else { return }
        self.ownership.beginCatchUpRound()
        // More is read only after something has left.
        let isFull =
            (self.roomWithinLimits == 0 || self.isAnAppFull)
            && self.journal.acknowledgements.openCount < self.memory.configuration.settings.unacknowledgedMax
        for partition in self.memory.partitions.identifiers
        where self.memory.partitions[partition].phase == .running {
            guard let ends = self.memory.partitions[partition].catchUpEndsMillis else { continue }
            if ends <= now.steadyMillis || isFull || !self.journal.isBehind(partition, in: self.memory) {
                self.memory.partitions[partition].caughtUp()
                self.beginPushing(partition, now: now)
            } else {
                self.ownership.noteCatchUpEnd(ends)
            }
        }
    }

    /// Lets pushes of the partition leave. Its marker must be in `state`, earlier foreign records repaired, and the
    /// backlog of the assignment read.
    mutating func beginPushing(_ partition: PartitionIndex, now: EngineTime) {
        guard self.memory.partitions[partition].opensForPushes() else { return }
        for slot in self.memory.slots.members(of: partition) where self.memory.slots[slot].pending.isSome {
            self.dispatch.reschedule(slot, in: &self.memory, now: now)
        }
        for slot in self.memory.slots.members(of: partition) where self.memory.slots[slot].kind == .audience {
            self.tellAgain(slot, now: now)
        }
        for crowd in self.audiences.crowds.crowds(of: partition) { self.schedule(crowd, now: now) }
        self.releaseHeldErrands(of: partition, now: now)
    }
}
