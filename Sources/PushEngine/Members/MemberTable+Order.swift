/// The members of a ring in the order of their positions.
extension MemberTable {
    /// Appends members of a ring in ascending order, from `position` on: `limit` of them, and those at the last one's position, or as many
    /// as there are before the end. Walks no more buckets than hold these.
    /// - Parameter limit: at least 1.
    /// - Returns: the position before which all are now contained; `RingPosition.end`: there are no more. The next call goes on from there.
    func fill(_ ring: RingID, from position: UInt64, limit: Int, into entries: inout [RingEntry]) -> UInt64 {
        precondition(limit > 0, "a limit is at least 1")
        let wanted = entries.count + limit
        var next = position
        while next < RingPosition.end {
            let bucket = RingBucket(at: next, in: self.rings[ring].members)
            self.append(bucket, of: ring, from: next, to: &entries)
            if entries.count >= wanted {
                return Self.cut(&entries, toAbout: wanted) ?? bucket.positions.upperBound
            }
            next = bucket.positions.upperBound
        }
        return RingPosition.end
    }

    /// In order.
    private func append(
        _ bucket: RingBucket, of ring: RingID, from position: UInt64, to entries: inout [RingEntry]
    ) {
        let first = entries.count
        var row = self.rings[ring].members[bucket.number]
        while row.isSome {
            let member = MemberID(row)
            let its = self.position(of: member)
            if its >= position { entries.append(RingEntry(position: its, member: member)) }
            row = self.rows[row, .ringNext]
        }
        guard entries.count - first > 1 else { return }
        unsafe entries.withUnsafeMutableBufferPointer { entries in
            // In place: a slice of an array would be sorted as a copy.
            var new = unsafe UnsafeMutableBufferPointer(rebasing: entries[first...])
            unsafe new.sort { $0.position < $1.position }
        }
    }

    /// Takes away what goes beyond `wanted` and stands at another position than the last that stays.
    /// - Returns: the position of the first that was taken away.
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

/// A bucket of a ring, by one of its positions.
private struct RingBucket {
    let number: Int
    let positions: Range<UInt64>

    init(at position: UInt64, in buckets: RowBuckets) {
        self.number = buckets.bucket(of: (position << (64 - RingPosition.bitCount)).bitReversed)
        // The buckets that were split have one bit more: those in front of the last one's parent, and behind.
        let bitCount = buckets.bitCount
        let half = 1 << bitCount
        let isSplit = self.number >= half || self.number < buckets.headCount - half
        let width = UInt64(1) << UInt64(RingPosition.bitCount - bitCount - (isSplit ? 1 : 0))
        let start = position & ~(width - 1)
        self.positions = start..<start + width
    }
}
