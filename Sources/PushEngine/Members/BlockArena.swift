/// Names a block of `BlockArena` by its first granule.
struct BlockID: Identifier { let rawValue: Int32 }

/// The header of a block. The block's entries follow it, four bytes each, as many as its capacity says.
struct BlockHeader {
    /// Number of entries in use. Free blocks have a special value here.
    var count: UInt16
    let capacity: UInt16
    /// The next block, as the block's user defines it. For a free block: the next free block of the same size.
    var next: BlockID
}

/// Blocks of many sizes, cut from chunks that never move.
///
/// A released block is merged with the free blocks after it, and cut anew when other sizes are needed. The sizes in
/// demand change, for instance when buckets are split, or when many small rings follow one ring of a million members.
/// The arena only grows.
@safe struct BlockArena: ~Copyable {
    /// Number of entries of the largest block. It is chosen so that any block can be cut from a free block of
    /// `granulesMax` granules: at least two granules remain, which are a block, too.
    static var capacityMax: Int { 2 * (Self.granulesMax - 2 - 1) }

    private static var granule: Int { 8 }
    private static var chunkBits: Int { 11 }
    private static var chunkGranules: Int { 1 << Self.chunkBits }
    /// The largest size of a block in granules: `freeSizes` has a bit for each size.
    private static var granulesMax: Int { 63 }
    private static var freeMark: UInt16 { .max }

    private var chunks: [UnsafeMutableRawPointer] = unsafe []
    /// The first free block of each size, by size in granules.
    private var free = [BlockID](repeating: .none, count: Self.granulesMax + 1)
    /// A bit for each size that has free blocks.
    private var freeSizes: UInt64 = 0

    init() {}

    deinit {
        for index in unsafe self.chunks.indices { unsafe self.chunks[index].deallocate() }
    }

    var allocatedByteCount: Int { unsafe self.chunks.count * Self.chunkGranules * Self.granule }

    /// Returns an empty block.
    /// - Parameter capacity: number of entries; even, because a granule has room for two.
    mutating func allocate(capacity: Int, next: BlockID) -> BlockID {
        let wanted = 1 + capacity / 2
        // Blocks that fit have the same size, or are larger by so much that the rest is a block, too.
        let fitting = self.freeSizes & (1 << UInt64(wanted) | ~0 << UInt64(wanted + 2))
        guard fitting != 0 else {
            self.appendChunk()
            return self.allocate(capacity: capacity, next: next)
        }
        let size = fitting.trailingZeroBitCount
        let id = self.free[size]
        self.takeFree(id)
        if size > wanted { self.putFree(BlockID(index: id.index + wanted), granules: size - wanted) }
        // The block is free memory of a chunk.
        unsafe self.block(id).initialize(to: BlockHeader(count: 0, capacity: UInt16(capacity), next: next))
        return id
    }

    /// Gives a block back, and merges it with the free blocks directly after it, up to `granulesMax` granules. So when
    /// the first part of a cut block is given back, it is merged with the other parts, if these are free.
    mutating func release(_ id: BlockID) {
        var granules = self.granules(of: id)
        while true {
            // After every block is another block, or the chunk's last granule. That granule's header looks like that
            // of a block in use.
            let next = BlockID(index: id.index + granules)
            guard unsafe self.block(next).pointee.count == Self.freeMark else { break }
            let more = self.granules(of: next)
            guard granules + more <= Self.granulesMax else { break }
            self.takeFree(next)
            granules += more
        }
        self.putFree(id, granules: granules)
    }

    @inline(__always) @unsafe func block(_ id: BlockID) -> UnsafeMutablePointer<BlockHeader> {
        let chunk = unsafe self.chunks[id.index >> Self.chunkBits]
        let address = unsafe chunk + (id.index & (Self.chunkGranules - 1)) &* Self.granule
        return unsafe address.assumingMemoryBound(to: BlockHeader.self)
    }

    private func granules(of id: BlockID) -> Int { unsafe 1 + Int(self.block(id).pointee.capacity) / 2 }

    // MARK: Free blocks

    /// Puts a block at the head of its size's free list. Each free block also has a link to the block before it in the
    /// list. This link is stored in place of the first entry; every block has room for two entries.
    private mutating func putFree(_ id: BlockID, granules: Int) {
        let next = self.free[granules]
        let block = unsafe self.block(id)
        unsafe block.initialize(to: BlockHeader(count: Self.freeMark, capacity: UInt16(2 * (granules - 1)), next: next))
        unsafe self.setPrevious(.none, of: id)
        if next.isSome { unsafe self.setPrevious(id, of: next) }
        self.free[granules] = id
        self.freeSizes |= 1 << UInt64(granules)
    }

    private mutating func takeFree(_ id: BlockID) {
        let next = unsafe self.block(id).pointee.next
        let previous = unsafe UnsafeRawPointer(self.block(id) + 1).load(as: BlockID.self)
        if next.isSome { unsafe self.setPrevious(previous, of: next) }
        if previous.isSome {
            unsafe self.block(previous).pointee.next = next
        } else {
            let granules = self.granules(of: id)
            self.free[granules] = next
            if next.isNone { self.freeSizes &= ~(1 << UInt64(granules)) }
        }
    }

    @unsafe private func setPrevious(_ previous: BlockID, of id: BlockID) {
        unsafe UnsafeMutableRawPointer(self.block(id) + 1).storeBytes(of: previous, as: BlockID.self)
    }

    private mutating func appendChunk() {
        unsafe self.chunks.append(
            .allocate(byteCount: Self.chunkGranules * Self.granule, alignment: Prefetch.lineByteCount))
        let start = unsafe (self.chunks.count - 1) << Self.chunkBits
        let end = start + Self.chunkGranules - 1
        unsafe self.block(BlockID(index: end)).initialize(to: BlockHeader(count: 0, capacity: 0, next: .none))
        // The last block is put in first, so that the first one is taken first.
        for index in stride(from: start, to: end, by: Self.granulesMax).reversed() {
            self.putFree(BlockID(index: index), granules: min(Self.granulesMax, end - index))
        }
    }
}
