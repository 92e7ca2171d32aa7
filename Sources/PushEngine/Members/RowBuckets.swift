/// Heads of buckets of a hash table. A bucket is a set of rows. The table grows and shrinks by one bucket at a time
/// (linear hashing). So no insertion into a large table waits until the whole table has been rehashed.
///
/// The low bits of a hash name the bucket. While the table has 2^n buckets, n bits name each of them. As it grows to
/// 2^(n + 1) buckets, its buckets are split one by one. A split bucket, and the new one, are named by n + 1 bits.
///
/// A single head is stored in this value itself. Up to 1,024 heads are in one block; more are in pages of 1,024, which
/// never move. Copies of this value share the block or the pages, so `deallocate` is called on one copy only.
@safe struct RowBuckets {
    /// The head of the only bucket. With more buckets, up to one page, this is the address of the heads. With more
    /// pages this is the address of the list of pages.
    private var storage = UInt(truncatingIfNeeded: BlockID.none.rawValue)
    /// Number of buckets, at least 1.
    private var bucketCount: UInt32 = 1
    /// Number of rows in all buckets.
    private(set) var count: UInt32 = 0

    private static var pageBits: Int { 10 }
    private static var pageCount: Int { 1 << Self.pageBits }

    private typealias Heads = UnsafeMutablePointer<BlockID>

    var headCount: Int { Int(self.bucketCount) }

    mutating func counted() { self.count += 1 }
    mutating func uncounted() { self.count -= 1 }

    /// n, where 2^n is the largest power of two up to the number of buckets. A bucket is named by n or n + 1 bits of a
    /// hash.
    @inline(__always) var bitCount: Int { UInt32.bitWidth - 1 - self.bucketCount.leadingZeroBitCount }

    /// The bucket of a hash.
    @inline(__always) func bucket(of hash: UInt64) -> Int {
        let half = 1 << self.bitCount
        let bucket = Int(truncatingIfNeeded: hash) & (2 * half - 1)
        return bucket < self.headCount ? bucket : bucket - half
    }

    /// The bucket from which the last one was split, and with which it would be merged. There must be more than one
    /// bucket.
    var parentOfLast: Int {
        let last = self.bucketCount - 1
        return Int(last - 1 << (31 - UInt32(last.leadingZeroBitCount)))
    }

    /// The rows of a bucket.
    subscript(_ bucket: Int) -> BlockID {
        @inline(__always) get {
            if self.bucketCount == 1 { return BlockID(rawValue: Int32(truncatingIfNeeded: self.storage)) }
            return unsafe self.address(of: bucket).pointee
        }
        @inline(__always) set {
            if self.bucketCount == 1 {
                self.storage = UInt(truncatingIfNeeded: newValue.rawValue)
            } else {
                unsafe self.address(of: bucket).pointee = newValue
            }
        }
    }

    /// Adds an empty bucket.
    mutating func appendBucket() {
        let count = self.headCount
        if count == 1 {
            let head = self[0]
            let block = Heads.allocate(capacity: Self.capacity(2))
            unsafe block.initialize(to: head)
            self.storage = UInt(bitPattern: block)
        } else if count < Self.pageCount {
            if count == Self.capacity(count) { self.resizeBlock(to: Self.capacity(count + 1), keeping: count) }
        } else if count & (Self.pageCount - 1) == 0 {
            self.appendPage(after: count >> Self.pageBits)
        }
        self.bucketCount += 1
        unsafe self.address(of: count).initialize(to: .none)
    }

    /// Removes the last bucket, which is empty.
    mutating func removeLastBucket() {
        let count = self.headCount - 1
        if count == 1 {
            let head = self[0]
            unsafe self.block.deallocate()
            self.storage = UInt(truncatingIfNeeded: head.rawValue)
        } else if count < Self.pageCount {
            if Self.capacity(count) < Self.capacity(count + 1) {
                self.resizeBlock(to: Self.capacity(count), keeping: count)
            }
        } else if count & (Self.pageCount - 1) == 0 {
            self.removePage(after: count >> Self.pageBits)
        }
        self.bucketCount -= 1
    }

    func deallocate() {
        guard self.headCount > 1 else { return }
        guard self.headCount > Self.pageCount else { return unsafe self.block.deallocate() }
        for page in 0..<self.pagesInUse { unsafe self.pages[page].deallocate() }
        unsafe self.pages.deallocate()
    }

    var allocatedByteCount: Int {
        if self.headCount == 1 { return 0 }
        if self.headCount <= Self.pageCount { return Self.capacity(self.headCount) * MemoryLayout<BlockID>.stride }
        return Self.capacity(self.pagesInUse) * MemoryLayout<UInt>.stride
            + self.pagesInUse * Self.pageCount * MemoryLayout<BlockID>.stride
    }

    // MARK: Storage of heads

    private var block: Heads { unsafe Heads(bitPattern: self.storage)! }
    private var pages: UnsafeMutablePointer<Heads> { unsafe UnsafeMutablePointer(bitPattern: self.storage)! }
    private var pagesInUse: Int { (self.headCount + Self.pageCount - 1) >> Self.pageBits }

    /// The capacity of a block of heads, or of the list of pages, that must hold `count` elements: the next power of
    /// two, at least 4.
    private static func capacity(_ count: Int) -> Int { max(4, 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)) }

    /// The address of a bucket's head. There must be more than one bucket.
    @inline(__always) @unsafe private func address(of bucket: Int) -> Heads {
        precondition(UInt(bitPattern: bucket) < UInt(self.bucketCount), "no such bucket")
        if self.bucketCount <= UInt32(Self.pageCount) { return unsafe self.block + bucket }
        return unsafe self.pages[bucket >> Self.pageBits] + (bucket & (Self.pageCount - 1))
    }

    private mutating func resizeBlock(to capacity: Int, keeping count: Int) {
        let other = Heads.allocate(capacity: capacity)
        unsafe other.moveInitialize(from: self.block, count: count)
        unsafe self.block.deallocate()
        self.storage = UInt(bitPattern: other)
    }

    /// Adds a page after `pageCount` pages. If `pageCount` is 1, the block of heads becomes the first page of a list.
    private mutating func appendPage(after pageCount: Int) {
        let page = Heads.allocate(capacity: Self.pageCount)
        if pageCount == 1 {
            let pages = UnsafeMutablePointer<Heads>.allocate(capacity: Self.capacity(2))
            unsafe pages.initialize(to: self.block)
            self.storage = UInt(bitPattern: pages)
        } else if pageCount == Self.capacity(pageCount) {
            let pages = UnsafeMutablePointer<Heads>.allocate(capacity: Self.capacity(pageCount + 1))
            unsafe pages.moveInitialize(from: self.pages, count: pageCount)
            unsafe self.pages.deallocate()
            self.storage = UInt(bitPattern: pages)
        }
        unsafe (self.pages + pageCount).initialize(to: page)
    }

    private mutating func removePage(after pageCount: Int) {
        unsafe self.pages[pageCount].deallocate()
        if pageCount == 1 {
            let block = unsafe self.pages[0]
            unsafe self.pages.deallocate()
            self.storage = UInt(bitPattern: block)
        } else if Self.capacity(pageCount) < Self.capacity(pageCount + 1) {
            let pages = UnsafeMutablePointer<Heads>.allocate(capacity: Self.capacity(pageCount))
            unsafe pages.moveInitialize(from: self.pages, count: pageCount)
            unsafe self.pages.deallocate()
            self.storage = UInt(bitPattern: pages)
        }
    }
}
