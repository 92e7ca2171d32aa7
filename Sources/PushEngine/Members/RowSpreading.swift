/// How rows are spread over buckets.
enum RowSpreading {
    /// Rows are spread by a keyed hash of their tokens, so that a search for a token finds its row.
    case index(TokenHash)
    /// Rows are spread by position: a bucket holds the members between two positions.
    case ring

    /// Maximum average number of rows in a bucket. The average is at least half of that, unless there is only one
    /// bucket, or `removeSome` has taken rows out.
    @inline(__always) static var rowsPerBucket: Int { 16 }

    /// Returns the hash of a token. The low bits of the hash name the bucket.
    @inline(__always) @unsafe func hash(_ token: UnsafeRawBufferPointer) -> UInt64 {
        switch self {
        case .index(let hash): unsafe hash(token)
        case .ring: unsafe RingPosition.hash(token).bitReversed
        }
    }

    func hash(_ token: Span<UInt8>) -> UInt64 {
        // The token is valid for the duration of the call.
        unsafe token.withUnsafeBytes { unsafe self.hash($0) }
    }
}

extension MemberRows {
    @inline(__always) func hash(of row: RowID, _ spreading: RowSpreading) -> UInt64 {
        // The row is in use, so its token is valid.
        unsafe spreading.hash(self.token(row))
    }
}

/// Sets of rows under the heads of `RowBuckets`. At most one bucket is split or merged at a time.
extension RowBlocks {
    /// Adds a row to its bucket.
    /// - Parameter hash: the row's hash, as `spreading` computes it.
    mutating func insert(
        _ row: RowID, hash: UInt64, into buckets: inout RowBuckets, _ spreading: RowSpreading,
        rows: borrowing MemberRows
    ) {
        let bucket = buckets.bucket(of: hash)
        buckets[bucket] = self.adding(RowEntry(row, hash: hash), to: buckets[bucket])
        buckets.counted()
        if Int(buckets.count) > buckets.headCount * RowSpreading.rowsPerBucket {
            self.splitBucket(of: &buckets, spreading, rows: rows)
        }
    }

    /// Removes a row from its bucket. The row must be in that bucket.
    mutating func remove(_ row: RowID, hash: UInt64, from buckets: inout RowBuckets) {
        let bucket = buckets.bucket(of: hash)
        buckets[bucket] = self.removing(row, from: buckets[bucket])
        buckets.uncounted()
        if buckets.headCount > 1, Int(buckets.count) * 2 < buckets.headCount * RowSpreading.rowsPerBucket {
            self.mergeLastBucket(of: &buckets)
        }
    }

    /// Takes any row out of the last bucket. `none`: that bucket was empty, and was removed unless it was the only one.
    mutating func removeSome(from buckets: inout RowBuckets) -> RowID {
        let last = buckets.headCount - 1
        guard buckets[last].isSome else {
            if last > 0 { buckets.removeLastBucket() }
            return .none
        }
        let (row, rest) = self.popping(from: buckets[last])
        buckets[last] = rest
        buckets.uncounted()
        return row
    }

    /// Splits a bucket. Rows whose hash has the next bit set move to a new bucket.
    private mutating func splitBucket(
        of buckets: inout RowBuckets, _ spreading: RowSpreading, rows: borrowing MemberRows
    ) {
        let new = buckets.headCount
        buckets.appendBucket()
        let old = buckets.parentOfLast
        let whole = buckets[old]
        rows.prefetchTokens(of: whole, in: self)
        let split = buckets
        let (staying, leaving) = self.splitting(whole) { split.bucket(of: rows.hash(of: $0, spreading)) == new }
        buckets[old] = staying
        buckets[new] = leaving
    }

    private mutating func mergeLastBucket(of buckets: inout RowBuckets) {
        let last = buckets.headCount - 1
        let parent = buckets.parentOfLast
        buckets[parent] = self.merging(buckets[parent], buckets[last])
        buckets[last] = .none
        buckets.removeLastBucket()
    }
}

extension MemberRows {
    /// Prefetches the tokens of these rows, which will be read soon.
    func prefetchTokens(of set: BlockID, in blocks: borrowing RowBlocks) {
        blocks.forEach(in: set) { self.prefetch($0) }
        blocks.forEach(in: set) { if self.kind(of: $0) == .startMember { self.prefetch(self.rowOfToken($0)) } }
    }
}
