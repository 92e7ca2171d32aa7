/// How far Kafka has acknowledged what a shard wrote to `state`, by partition. The first record of an owner is its claim; that it is at work
/// only a later one says.
struct AcknowledgedStateEnds {
    private struct End {
        var offset: Int64 = -1
        var hasClaim = false
        var isToTell = false
    }
    /// By partition number.
    private var ends: [End] = []
    private var toTell: [Int32] = []

    /// The partition is claimed anew.
    mutating func begin(_ partition: Int32) {
        while self.ends.count <= Int(partition) { self.ends.append(End()) }
        self.ends[Int(partition)] = End(isToTell: self.ends[Int(partition)].isToTell)
    }

    mutating func note(partition: Int32, offset: Int64) {
        guard offset >= 0, Int(partition) < self.ends.count else { return }
        guard self.ends[Int(partition)].hasClaim else {
            self.ends[Int(partition)].hasClaim = true
            return
        }
        // A log that goes back has lost what was acknowledged before.
        guard offset > self.ends[Int(partition)].offset else { return }
        self.ends[Int(partition)].offset = offset
        if !self.ends[Int(partition)].isToTell {
            self.ends[Int(partition)].isToTell = true
            self.toTell.append(partition)
        }
    }

    /// The next offsets of those that have grown since this was last asked.
    mutating func take() -> [(partition: Int32, end: Int64)] {
        guard !self.toTell.isEmpty else { return [] }
        var grown: [(partition: Int32, end: Int64)] = []
        for partition in self.toTell {
            self.ends[Int(partition)].isToTell = false
            let offset = self.ends[Int(partition)].offset
            if offset >= 0 { grown.append((partition, offset + 1)) }
        }
        self.toTell.removeAll(keepingCapacity: true)
        return grown
    }
}
