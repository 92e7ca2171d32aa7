/// How far Kafka has acknowledged a shard's records in `state`, by partition. The first record of an owner is its
/// claim. Only a later record shows that the owner is at work.
struct AcknowledgedStateEnds {
    private struct End {
        var offset: Int64 = -1
        var hasClaim = false
        var hasGrown = false
    }
    /// The ends by partition number.
    private var ends: [End] = []
    private var grown: [Int32] = []

    /// Starts over for a partition that is claimed again.
    mutating func begin(_ partition: Int32) {
        while self.ends.count <= Int(partition) { self.ends.append(End()) }
        self.ends[Int(partition)] = End(hasGrown: self.ends[Int(partition)].hasGrown)
    }

    mutating func acknowledged(partition: Int32, offset: Int64) {
        guard offset >= 0, Int(partition) < self.ends.count else { return }
        guard self.ends[Int(partition)].hasClaim else {
            self.ends[Int(partition)].hasClaim = true
            return
        }
        // Offsets go back only when the log has lost acknowledged records. The end stays then.
        guard offset > self.ends[Int(partition)].offset else { return }
        self.ends[Int(partition)].offset = offset
        if !self.ends[Int(partition)].hasGrown {
            self.ends[Int(partition)].hasGrown = true
            self.grown.append(partition)
        }
    }

    /// The next offsets of the partitions whose end has grown since the last call.
    mutating func take() -> [(partition: Int32, end: Int64)] {
        guard !self.grown.isEmpty else { return [] }
        var grown: [(partition: Int32, end: Int64)] = []
        for partition in self.grown {
            self.ends[Int(partition)].hasGrown = false
            let offset = self.ends[Int(partition)].offset
            if offset >= 0 { grown.append((partition, offset + 1)) }
        }
        self.grown.removeAll(keepingCapacity: true)
        return grown
    }
}
