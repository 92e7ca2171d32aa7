/// Counts requests of all kinds that have left and have no answer. They are counted only here.
extension ShardMemory {
    /// Adds a leaving request to the counts of requests in flight.
    @inline(__always) mutating func requestLeft(_ partition: PartitionIndex) {
        self.partitions[partition].requestLeft()
        self.counters.inFlight += 1
    }
    /// Takes a request out of the counts: it has its answer, or will never have one.
    @inline(__always) mutating func requestAnswered(_ partition: PartitionIndex) {
        self.partitions[partition].requestAnswered()
        self.counters.inFlight -= 1
    }
    /// Forgets the requests of a partition that leaves memory. Nobody waits for their answers.
    mutating func forgetRequests(of partition: PartitionIndex) {
        self.counters.inFlight -= self.partitions[partition].inFlightCount
    }
}
