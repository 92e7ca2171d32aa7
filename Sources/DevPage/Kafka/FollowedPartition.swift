/// How far one partition is known: what is before has been read, or was counted as passed over. So nothing is read or counted twice.
struct FollowedPartition {
    /// The first offset that is neither read nor counted; `nil`: nothing is known of the partition yet.
    private(set) var nextOffset: Int64?
    /// Kafka had dropped what was to be read next: how much is missing, the next record tells.
    private var mayMiss = false

    /// A batch was read.
    /// - Parameters:
    ///   - firstOffset: that of its first record; `nil`: it had none.
    ///   - nextOffset: the one after it; `nil`: not known.
    /// - Returns: number of records before it that can no longer be read.
    mutating func read(from firstOffset: Int64?, to nextOffset: Int64?) -> Int {
        var missed = 0
        if let firstOffset, self.mayMiss {
            self.mayMiss = false
            missed = Int(max(0, firstOffset - (self.nextOffset ?? firstOffset)))
        }
        if let nextOffset { self.nextOffset = max(nextOffset, self.nextOffset ?? nextOffset) }
        return missed
    }

    /// The log begins after what was to be read next.
    mutating func logWasCut() { self.mayMiss = true }

    /// While it is not read, the log was found to end here. - Returns: how many records have come since the last time.
    mutating func pass(to endOffset: Int64) -> Int {
        // An answer may be older than what is known.
        guard let nextOffset = self.nextOffset, endOffset > nextOffset else { return 0 }
        self.nextOffset = endOffset
        return Int(endOffset - nextOffset)
    }
}
