/// Requests that have left and have no answer, of whatever kind: each is counted here, and nowhere else.
extension ShardMemory {
    /// One leaves.
    @inline(__always) mutating func requestLeft(_ partition: PartitionIndex) {
        self.partitions[partition].requestLeft()
        self.counters.inFlight += 1
    }
    /// It has its answer, or nobody will ever know it.
    @inline(__always) mutating func requestAnswered(_ partition: PartitionIndex) {
        self.partitions[partition].requestAnswered()
        self.counters.inFlight -= 1
    }
    /// The partition leaves memory: nobody waits for its answers.
    mutating func forgetRequests(of partition: PartitionIndex) {
        self.counters.inFlight -= self.partitions[partition].inFlightCount
    }
}
