/// Finds a slot by its identity without building a key: open addressing over slot numbers, linear probing, no marks for
/// removed entries.
///
/// A `Dictionary` would need an owned key per look-up. Here the caller's borrowed bytes are compared with the slot's
/// own.
struct SlotIndex {
    /// A slot's number and its hash. A search compares hashes, and so skips other slots without reading them. Each read
    /// would wait for memory.
    private struct Bucket {
        /// The slot; `none`: the bucket is free.
        var slot = SlotID.none
        var hash: UInt32 = 0
    }

    /// The buckets. Their number is a power of two, and at most 3/4 of them are taken.
    private var buckets: [Bucket]
    private(set) var count = 0
    /// Different in each engine, so that nobody can prepare colliding keys.
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        self.buckets = Array(repeating: Bucket(), count: 64)
    }

    /// Hashes the identity, eight bytes at a time. Each word is multiplied to 128 bits whose halves are folded
    /// together, so that every bit of the word reaches every bit of the result. The app is left out, because it is not
    /// known before an event is decoded. Two apps seldom have activities with the same id.
    func hash(kind: UInt8, id: Span<UInt8>) -> UInt32 {
        var hash = Self.fold(self.seed ^ UInt64(id.count) << 32 ^ UInt64(kind), 0x9e37_79b9_7f4a_7c15)
        var index = 0
        while id.count - index >= 8 {
            // The id has these eight bytes.
            let word = unsafe id.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            hash = Self.fold(hash ^ word, 0xd6e8_feb8_6659_fd93)
            index += 8
        }
        var rest: UInt64 = 0
        if id.count >= 8 {
            // The last eight bytes. Some of them may have been read already.
            rest = unsafe id.bytes.unsafeLoadUnaligned(fromByteOffset: id.count - 8, as: UInt64.self)
        } else {
            while index < id.count {
                rest = rest << 8 ^ UInt64(id[index])
                index += 1
            }
        }
        hash = Self.fold(hash ^ rest, 0xa076_1d64_78bd_642f)
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }

    private static func fold(_ value: UInt64, _ factor: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }

    /// Prefetches the bucket where a search for this hash will soon begin.
    @inline(__always) func prefetchHome(of hash: UInt32) {
        unsafe self.buckets.withUnsafeBufferPointer { buckets in
            // There are always buckets, and the home bucket is one of them.
            unsafe Prefetch.lines(
                from: buckets.baseAddress! + (Int(truncatingIfNeeded: hash) & self.mask),
                byteCount: MemoryLayout<Bucket>.size)
        }
    }

    /// The first bucket that holds a slot with this hash; `nil`: no bucket does. `next` finds further buckets.
    func first(hash: UInt32) -> Int? { self.search(from: Int(truncatingIfNeeded: hash) & self.mask, hash: hash) }

    func next(after bucket: Int, hash: UInt32) -> Int? { self.search(from: (bucket + 1) & self.mask, hash: hash) }

    func slot(at bucket: Int) -> SlotID { self.buckets[bucket].slot }

    /// Adds a slot. The caller has checked that no equal slot is present.
    mutating func insert(_ slot: SlotID, hash: UInt32) {
        if (self.count + 1) * 4 > self.buckets.count * 3 { self.grow() }
        self.put(Bucket(slot: slot, hash: hash))
        self.count += 1
    }

    /// Takes the slot out and closes the gap, so that no probe sequence is cut.
    mutating func remove(_ slot: SlotID, hash: UInt32) {
        let mask = self.mask
        var bucket = Int(truncatingIfNeeded: hash) & mask
        while self.buckets[bucket].slot != slot {
            precondition(self.buckets[bucket].slot.isSome, "slot \(slot) is not in the index")
            bucket = (bucket + 1) & mask
        }
        self.count -= 1
        var gap = bucket
        var next = (bucket + 1) & mask
        while self.buckets[next].slot.isSome {
            let home = Int(truncatingIfNeeded: self.buckets[next].hash) & mask
            // The entry may move into the gap unless its home is cyclically within (gap, next].
            if ((next &- home) & mask) >= ((next &- gap) & mask) {
                self.buckets[gap] = self.buckets[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        self.buckets[gap] = Bucket()
    }

    private var mask: Int { self.buckets.count - 1 }

    private func search(from start: Int, hash: UInt32) -> Int? {
        var bucket = start
        while self.buckets[bucket].slot.isSome {
            if self.buckets[bucket].hash == hash { return bucket }
            bucket = (bucket + 1) & self.mask
        }
        return nil
    }

    private mutating func put(_ entry: Bucket) {
        var bucket = Int(truncatingIfNeeded: entry.hash) & self.mask
        while self.buckets[bucket].slot.isSome { bucket = (bucket + 1) & self.mask }
        self.buckets[bucket] = entry
    }

    private mutating func grow() {
        let old = self.buckets
        self.buckets = Array(repeating: Bucket(), count: old.count * 2)
        for entry in old where entry.slot.isSome { self.put(entry) }
    }
}
