/// Progress in one partition. All records before `nextOffset` were read, or were counted as passed over. No record is
/// read or counted twice.
struct FollowedPartition {
    /// The first offset that is neither read nor counted; `nil`: nothing is known of the partition yet.
    private(set) var nextOffset: Int64?
    /// Whether Kafka deleted records that were not read yet. The next record shows how many are missing.
    private var mayMiss = false

    /// Counts a batch that was read.
    /// - Parameters:
    ///   - firstOffset: offset of its first record; `nil`: the batch has no record.
    ///   - nextOffset: offset after the batch; `nil`: not known.
    /// - Returns: number of records before the batch that can no longer be read.
    mutating func read(from firstOffset: Int64?, to nextOffset: Int64?) -> Int {
        var missed = 0
        if let firstOffset, self.mayMiss {
            self.mayMiss = false
            missed = Int(max(0, firstOffset - (self.nextOffset ?? firstOffset)))
        }
        if let nextOffset { self.nextOffset = max(nextOffset, self.nextOffset ?? nextOffset) }
        return missed
    }

    /// Remembers that the log now begins after the next offset.
    mutating func logWasCut() { self.mayMiss = true }

    /// Passes over the records up to the end of the log, while the partition is not read.
    /// - Returns: number of records that were added since the last call.
    mutating func pass(to endOffset: Int64) -> Int {
        // An answer may be older than what is known.
        guard let nextOffset = self.nextOffset, endOffset > nextOffset else { return 0 }
        self.nextOffset = endOffset
        return Int(endOffset - nextOffset)
    }
}
