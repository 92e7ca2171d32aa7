/// A row in a block, and eight bits of its hash. By these bits a search for a token skips most other rows without
/// reading them. Each read would wait for memory.
struct RowEntry: Equatable {
    private let rawValue: UInt32

    @inline(__always) init(_ row: RowID, hash: UInt64) {
        self.rawValue = UInt32(row.rawValue) | UInt32(truncatingIfNeeded: hash >> 56) << UInt32(MemberRows.idBits)
    }

    @inline(__always) var row: RowID { RowID(rawValue: Int32(self.rawValue & (1 << UInt32(MemberRows.idBits) - 1))) }

    /// Whether the row can have this hash.
    @inline(__always) func mayHave(_ hash: UInt64) -> Bool {
        self.rawValue >> UInt32(MemberRows.idBits) == UInt32(truncatingIfNeeded: hash >> 56)
    }
}

/// Sets of rows. Each is a block of the right size, or a chain of blocks when the set is very large. A set is named by
/// its first block, which may change when the set grows or shrinks. `none` is the empty set.
@safe struct RowBlocks: ~Copyable {
    private typealias Block = UnsafeMutablePointer<BlockHeader>

    private var arena = BlockArena()
    /// Scratch space for the entries of a set that is rebuilt.
    private var staying: [RowEntry] = []
    /// Scratch space for the entries that leave a set when it is split.
    private var leaving: [RowEntry] = []

    init() {}

    var allocatedByteCount: Int { self.arena.allocatedByteCount }

    // MARK: One set

    /// Returns the set with this entry added.
    mutating func adding(_ entry: RowEntry, to set: BlockID) -> BlockID {
        guard set.isSome else { return self.makeBlock(capacity: 2, next: .none, with: entry) }
        let block = unsafe self.arena.block(set)
        let count = unsafe Int(block.pointee.count)
        let capacity = unsafe Int(block.pointee.capacity)
        if count < capacity {
            // The block has room for the entry.
            unsafe Self.base(block)[count] = entry
            unsafe block.pointee.count += 1
            return set
        }
        guard capacity < BlockArena.capacityMax else { return self.makeBlock(capacity: 2, next: set, with: entry) }
        let larger = self.resized(set, capacity: capacity + (capacity < 8 ? 2 : 4))
        return self.adding(entry, to: larger)
    }

    /// Returns the set without this row, which is in it.
    mutating func removing(_ row: RowID, from set: BlockID) -> BlockID {
        let address = unsafe self.address(of: row, in: set)
        let block = unsafe self.arena.block(set)
        // The first block is never empty.
        let last = unsafe Int(block.pointee.count) - 1
        unsafe address.pointee = Self.entries(block)[last]
        return self.droppingLast(of: set)
    }

    /// Takes any row out of a set. Returns the row, and the set without it.
    mutating func popping(from set: BlockID) -> (row: RowID, rest: BlockID) {
        let block = unsafe self.arena.block(set)
        let row = unsafe Self.entries(block)[Int(block.pointee.count) - 1].row
        return (row, self.droppingLast(of: set))
    }

    /// The set's first row that can have this hash and that `isWanted` selects; `none`: there is none.
    @inline(__always) func first(in set: BlockID, hash: UInt64, where isWanted: (RowID) -> Bool) -> RowID {
        var set = set
        while set.isSome {
            let block = unsafe self.arena.block(set)
            let entries = unsafe Self.entries(block)
            for index in entries.indices {
                let entry = unsafe entries[index]
                if entry.mayHave(hash), isWanted(entry.row) { return entry.row }
            }
            set = unsafe block.pointee.next
        }
        return .none
    }

    @inline(__always) func forEach(in set: BlockID, _ body: (RowID) -> Void) {
        var set = set
        while set.isSome {
            let block = unsafe self.arena.block(set)
            let entries = unsafe Self.entries(block)
            for index in entries.indices { body(unsafe entries[index].row) }
            set = unsafe block.pointee.next
        }
    }

    // MARK: Two sets

    /// Splits a set. The rows that leave become a set of their own.
    mutating func splitting(_ set: BlockID, leaves: (RowID) -> Bool) -> (staying: BlockID, leaving: BlockID) {
        self.staying.removeAll(keepingCapacity: true)
        self.leaving.removeAll(keepingCapacity: true)
        self.release(set) { entry, staying, leaving in
            if leaves(entry.row) { leaving.append(entry) } else { staying.append(entry) }
        }
        let leaving = self.makeSet(self.leaving)
        return (self.makeSet(self.staying), leaving)
    }

    /// Merges two sets. Returns the set that has the rows of both.
    mutating func merging(_ first: BlockID, _ second: BlockID) -> BlockID {
        self.staying.removeAll(keepingCapacity: true)
        self.release(first) { entry, staying, _ in staying.append(entry) }
        self.release(second) { entry, staying, _ in staying.append(entry) }
        return self.makeSet(self.staying)
    }

    /// Gives a set's blocks back, and passes each of their entries to `body`.
    @inline(__always) private mutating func release(
        _ set: BlockID, _ body: (RowEntry, inout [RowEntry], inout [RowEntry]) -> Void
    ) {
        var set = set
        while set.isSome {
            let block = unsafe self.arena.block(set)
            let entries = unsafe Self.entries(block)
            for index in entries.indices {
                body(unsafe entries[index], &self.staying, &self.leaving)
            }
            let next = unsafe block.pointee.next
            self.arena.release(set)
            set = next
        }
    }

    private mutating func makeSet(_ entries: [RowEntry]) -> BlockID {
        var set = BlockID.none
        var start = 0
        while start < entries.count {
            let count = min(entries.count - start, BlockArena.capacityMax)
            let capacity = count == BlockArena.capacityMax ? count : (count + 2) & ~1
            let first = self.arena.allocate(capacity: capacity, next: set)
            let block = unsafe self.arena.block(first)
            // The block has room for these entries.
            for index in 0..<count { unsafe Self.base(block)[index] = entries[start + index] }
            unsafe block.pointee.count = UInt16(count)
            set = first
            start += count
        }
        return set
    }

    // MARK: Prefetching

    /// Prefetches the first cache line of the set, which will be read soon.
    @inline(__always) func prefetch(_ set: BlockID) {
        guard set.isSome else { return }
        // Most sets take no more than one cache line, and their entries are read in order.
        unsafe Prefetch.lines(from: self.arena.block(set), byteCount: Prefetch.lineByteCount)
    }

    // MARK: Blocks

    @inline(__always) @unsafe private static func entries(_ block: Block) -> UnsafeBufferPointer<RowEntry> {
        unsafe UnsafeBufferPointer(start: Self.base(block), count: Int(block.pointee.count))
    }

    /// The address of the block's first entry. There is room for as many entries as the block's capacity says.
    @inline(__always) @unsafe private static func base(_ block: Block) -> UnsafeMutablePointer<RowEntry> {
        unsafe UnsafeMutableRawPointer(block + 1).assumingMemoryBound(to: RowEntry.self)
    }

    @unsafe private func address(of row: RowID, in set: BlockID) -> UnsafeMutablePointer<RowEntry> {
        var set = set
        while true {
            precondition(set.isSome, "row \(row) is not in its bucket")
            let block = unsafe self.arena.block(set)
            let entries = unsafe Self.entries(block)
            for index in entries.indices where unsafe entries[index].row == row {
                return unsafe Self.base(block) + index
            }
            set = unsafe block.pointee.next
        }
    }

    private mutating func makeBlock(capacity: Int, next: BlockID, with entry: RowEntry) -> BlockID {
        self.adding(entry, to: self.arena.allocate(capacity: capacity, next: next))
    }

    /// Drops the last entry of the set's first block. If the block is empty then, it is released. If eight places or
    /// more are free, it is made smaller.
    /// - Returns: the set without the entry.
    private mutating func droppingLast(of set: BlockID) -> BlockID {
        let block = unsafe self.arena.block(set)
        unsafe block.pointee.count -= 1
        let count = unsafe Int(block.pointee.count)
        if count == 0 {
            let next = unsafe block.pointee.next
            self.arena.release(set)
            return next
        }
        guard unsafe Int(block.pointee.capacity) - count >= 8 else { return set }
        return self.resized(set, capacity: (count + 3) & ~1)
    }

    private mutating func resized(_ set: BlockID, capacity: Int) -> BlockID {
        let old = unsafe self.arena.block(set)
        let new = self.arena.allocate(capacity: min(capacity, BlockArena.capacityMax), next: unsafe old.pointee.next)
        // The new block has room for all that the old one holds.
        let block = unsafe self.arena.block(new)
        unsafe Self.base(block).update(from: Self.base(old), count: Int(old.pointee.count))
        unsafe block.pointee.count = unsafe old.pointee.count
        self.arena.release(set)
        return new
    }
}
