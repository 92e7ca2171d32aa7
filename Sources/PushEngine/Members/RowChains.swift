/// How rows are spread over buckets and chained in each.
enum RowChaining {
    /// By token, for who has only that.
    case index(TokenHash)
    /// By position: a bucket holds what stands between two positions.
    case ring

    /// Names the next row of the chain.
    @inline(__always) var link: RowField<RowID> {
        switch self {
        case .index: .indexNext
        case .ring: .ringNext
        }
    }

    /// Rows of a bucket on average, at most. There are half as many, or one bucket. A search looks at each row of a bucket until it finds
    /// its own; a pass needs them all.
    @inline(__always) var rowsPerBucket: Int {
        switch self {
        case .index: 2
        case .ring: 4
        }
    }

    /// The last bits say the bucket.
    @inline(__always) @unsafe func hash(_ token: UnsafeRawBufferPointer) -> UInt64 {
        switch self {
        case .index(let hash): unsafe hash(token)
        case .ring: unsafe RingPosition.hash(token).bitReversed
        }
    }

    func hash(_ token: Span<UInt8>) -> UInt64 {
        // As long as the token is lent.
        unsafe token.withUnsafeBytes { unsafe self.hash($0) }
    }
}

/// Chains of rows under the heads of `RowBuckets`. At most one bucket is split or merged at a time.
extension MemberRows {
    @inline(__always) func hash(of row: RowID, _ chaining: RowChaining) -> UInt64 {
        // The row lives, so its token does.
        unsafe chaining.hash(self.token(row))
    }

    /// - Parameter hash: of the row, as `chaining` has it.
    mutating func link(_ row: RowID, hash: UInt64, into buckets: inout RowBuckets, _ chaining: RowChaining) {
        let bucket = buckets.bucket(of: hash)
        self[row, chaining.link] = buckets[bucket]
        buckets[bucket] = row
        buckets.counted()
        if Int(buckets.count) > buckets.headCount * chaining.rowsPerBucket { self.splitBucket(of: &buckets, chaining) }
    }

    /// The row is there. Walks its bucket.
    mutating func unlink(_ row: RowID, hash: UInt64, from buckets: inout RowBuckets, _ chaining: RowChaining) {
        let bucket = buckets.bucket(of: hash)
        let next = self[row, chaining.link]
        var previous = buckets[bucket]
        if previous == row {
            buckets[bucket] = next
        } else {
            precondition(previous.isSome, "row \(row) is not in its bucket")
            while self[previous, chaining.link] != row {
                previous = self[previous, chaining.link]
                precondition(previous.isSome, "row \(row) is not in its bucket")
            }
            self[previous, chaining.link] = next
        }
        buckets.uncounted()
        if buckets.headCount > 1, Int(buckets.count) * 2 < buckets.headCount * chaining.rowsPerBucket {
            self.mergeLastBucket(of: &buckets, chaining)
        }
    }

    /// Takes out any row of the last bucket; `none`: it had none, and has gone unless it was the only one. Walks nothing.
    mutating func unlinkSome(from buckets: inout RowBuckets, _ chaining: RowChaining) -> RowID {
        let last = buckets.headCount - 1
        let row = buckets[last]
        if row.isSome {
            buckets[last] = self[row, chaining.link]
            buckets.uncounted()
        } else if last > 0 {
            buckets.removeLastBucket()
        }
        return row
    }

    /// The rows whose hash has one more bit go over to a new bucket.
    private mutating func splitBucket(of buckets: inout RowBuckets, _ chaining: RowChaining) {
        let new = buckets.headCount
        buckets.appendBucket()
        let old = buckets.parentOfLast
        var row = buckets[old]
        var oldHead = RowID.none
        var newHead = RowID.none
        while row.isSome {
            let next = self[row, chaining.link]
            if buckets.bucket(of: self.hash(of: row, chaining)) == new {
                self[row, chaining.link] = newHead
                newHead = row
            } else {
                self[row, chaining.link] = oldHead
                oldHead = row
            }
            row = next
        }
        buckets[old] = oldHead
        buckets[new] = newHead
    }

    private mutating func mergeLastBucket(of buckets: inout RowBuckets, _ chaining: RowChaining) {
        let last = buckets.headCount - 1
        let parent = buckets.parentOfLast
        let head = buckets[last]
        if head.isSome {
            var end = head
            while self[end, chaining.link].isSome { end = self[end, chaining.link] }
            self[end, chaining.link] = buckets[parent]
            buckets[parent] = head
        }
        buckets.removeLastBucket()
    }
}
