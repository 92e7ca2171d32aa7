/// Lists the members of a ring in the order of their positions.
extension MemberTable {
    /// Appends members of a ring in ascending order, from `position` on. It appends `limit` members, and all further
    /// members at the position of the last of them. If there are fewer, it appends all up to the ring's end. It stops
    /// reading buckets as soon as it has enough members.
    /// - Parameter limit: at least 1.
    /// - Returns: the position before which all members have now been appended, and from which the next call
    ///   continues; `RingPosition.end`: the ring has no more members.
    func fill(_ ring: RingID, from position: UInt64, limit: Int, into entries: inout [RingEntry]) -> UInt64 {
        precondition(limit > 0, "a limit is at least 1")
        guard position < RingPosition.end else { return RingPosition.end }
        let wanted = entries.count + limit
        var bucket = RingBucket(at: position, in: self.rings[ring].members)
        self.rows.prefetchTokens(of: bucket.rows, in: self.blocks)
        while true {
            // While one bucket is read, the next bucket's rows are prefetched, and the entries of the bucket after the
            // next.
            let next = bucket.next(in: self.rings[ring].members)
            if let next {
                self.rows.prefetchTokens(of: next.rows, in: self.blocks)
                if let afterNext = next.next(in: self.rings[ring].members) { self.blocks.prefetch(afterNext.rows) }
            }
            self.append(bucket, from: position, to: &entries)
            if entries.count >= wanted {
                return Self.cut(&entries, toAbout: wanted) ?? bucket.positions.upperBound
            }
            guard let next else { return RingPosition.end }
            bucket = next
        }
    }

    /// Appends the members of a bucket from `position` on, in order.
    private func append(_ bucket: RingBucket, from position: UInt64, to entries: inout [RingEntry]) {
        let first = entries.count
        self.blocks.forEach(in: bucket.rows) {
            // The row is in use, so its token is valid.
            let its = unsafe RingPosition.of(self.rows.token($0))
            if its >= position { entries.append(RingEntry(position: its, member: MemberID($0))) }
        }
        guard entries.count - first > 1 else { return }
        unsafe entries.withUnsafeMutableBufferPointer { entries in
            // The part is sorted in place, because a slice of an array would be copied.
            var new = unsafe UnsafeMutableBufferPointer(rebasing: entries[first...])
            unsafe new.sort { $0.position < $1.position }
        }
    }

    /// Removes entries beyond `wanted`, except those at the position of the last entry that stays.
    /// - Returns: the position of the first removed entry; `nil`: no entry was removed.
    static func cut(_ entries: inout [RingEntry], toAbout wanted: Int) -> UInt64? {
        let last = entries[wanted - 1].position
        var end = wanted
        while end < entries.count, entries[end].position == last { end += 1 }
        guard end < entries.count else { return nil }
        let next = entries[end].position
        entries.removeLast(entries.count - end)
        return next
    }
}

/// A bucket of a ring.
private struct RingBucket {
    let rows: BlockID
    let positions: Range<UInt64>

    /// The bucket that holds this position.
    init(at position: UInt64, in buckets: RowBuckets) {
        let number = buckets.bucket(of: (position << (64 - UInt64(RingPosition.bitCount))).bitReversed)
        self.rows = buckets[number]
        // Linear hashing: a bucket that has been split, or that a split has made, is named by one more bit of the hash.
        let bitCount = buckets.bitCount
        let half = 1 << bitCount
        let isSplit = number >= half || number < buckets.headCount - half
        let width = UInt64(1) << UInt64(RingPosition.bitCount - bitCount - (isSplit ? 1 : 0))
        let start = position & ~(width - 1)
        self.positions = start..<start + width
    }

    /// The next bucket; `nil`: this is the last.
    func next(in buckets: RowBuckets) -> RingBucket? {
        self.positions.upperBound < RingPosition.end ? RingBucket(at: self.positions.upperBound, in: buckets) : nil
    }
}
