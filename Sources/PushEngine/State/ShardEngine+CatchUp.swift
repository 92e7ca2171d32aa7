import PushModel

/// What an owner before has read it may have pushed, and all of that lies below the log ends seen at assignment. Until it has been read, a
/// push could show a phone something older than it shows already (contract §4). So none leaves before; for a limited time, as a log can be
/// long, and its end may be one that is never read (the mark of a transaction).
extension ShardEngine {
    mutating func beginCatchUp(place: PartitionIndex, now: EngineTime) {
        // Nobody can have sent anything.
        guard self.partitions[place].hadOwner, self.isBehind(place: place) else { return }
        let ends = now.steadyMillis + self.configuration.catchUpMaxMillis
        self.partitions[place].catchUpEndsMillis = ends
        self.catchUpEndsMillis = min(self.catchUpEndsMillis, ends)
    }

    /// Lets those push that have caught up, or cannot.
    mutating func advanceCatchUps(now: EngineTime) {
        self.catchUpEndsMillis = .max
        // More is read only when something has left.
        let isFull = self.recordRoom == 0 && self.acknowledgements.openCount < self.configuration.unacknowledgedMax
        for place in self.partitions.identifiers where self.partitions[place].phase == .running {
            guard let ends = self.partitions[place].catchUpEndsMillis else { continue }
            if ends <= now.steadyMillis || isFull || !self.isBehind(place: place) {
                self.partitions[place].catchUpEndsMillis = nil
                self.beginPushing(place: place, now: now)
            } else {
                self.catchUpEndsMillis = min(self.catchUpEndsMillis, ends)
            }
        }
    }

    /// Not all of what an owner before has read has been read again.
    func isBehind(place: PartitionIndex) -> Bool {
        for topic in self.partitions[place].logs.indices {
            let next = self.ledger.nextOffset(log: self.partitions[place].logs[topic])
            if next < self.partitions[place].replayEnds[topic] { return true }
        }
        return false
    }
}
