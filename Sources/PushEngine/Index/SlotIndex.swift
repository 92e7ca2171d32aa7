/// Finds a slot by its identity without building a key: open addressing over slot numbers, linear probing, no tombstones.
///
/// A `Dictionary` would need an owned key per look-up; here the caller's borrowed bytes are compared with what the slot already holds.
struct SlotIndex {
    /// The hash stands beside the slot's number: a search passes by other slots without looking at them, which would cost a wait for the
    /// memory each.
    private struct Place {
        /// None: free.
        var slot = SlotID.none
        var hash: UInt32 = 0
    }

    /// Length is a power of two, at most 3/4 full.
    private var places: [Place]
    private(set) var count = 0
    /// Differs per engine, so that nobody can prepare colliding keys.
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        self.places = Array(repeating: Place(), count: 64)
    }

    /// Over the identity, eight bytes at a time: each word is multiplied to 128 bits whose halves are folded together, so that every bit of
    /// it reaches every bit of the result. Without the app, which is not known before an event is decoded: two apps seldom have activities
    /// of one id.
    func hash(kind: UInt8, id: Span<UInt8>) -> UInt32 {
        var hash = Self.fold(self.seed ^ UInt64(id.count) << 32 ^ UInt64(kind), 0x9e37_79b9_7f4a_7c15)
        var index = 0
        while id.count - index >= 8 {
            // Eight bytes are there.
            let word = unsafe id.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            hash = Self.fold(hash ^ word, 0xd6e8_feb8_6659_fd93)
            index += 8
        }
        var rest: UInt64 = 0
        if id.count >= 8 {
            // The last eight bytes, some of them, or all, a second time.
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

    /// A search for this hash will begin soon.
    @inline(__always) func prefetchHome(of hash: UInt32) {
        unsafe self.places.withUnsafeBufferPointer { places in
            // There are always places, and the home is one of them.
            unsafe Prefetch.lines(
                from: places.baseAddress! + (Int(truncatingIfNeeded: hash) & self.mask),
                byteCount: MemoryLayout<Place>.size)
        }
    }

    /// The first place that holds a slot with this hash; `nil`: there is none. Walk on with `next`.
    func first(hash: UInt32) -> Int? { self.search(from: Int(truncatingIfNeeded: hash) & self.mask, hash: hash) }

    func next(after place: Int, hash: UInt32) -> Int? { self.search(from: (place + 1) & self.mask, hash: hash) }

    func slot(at place: Int) -> SlotID { self.places[place].slot }

    /// The caller knows that no equal slot is present.
    mutating func insert(_ slot: SlotID, hash: UInt32) {
        if (self.count + 1) * 4 > self.places.count * 3 { self.grow() }
        self.place(Place(slot: slot, hash: hash))
        self.count += 1
    }

    /// Takes the slot out and closes the gap, so that no probe run is cut.
    mutating func remove(_ slot: SlotID, hash: UInt32) {
        let mask = self.mask
        var place = Int(truncatingIfNeeded: hash) & mask
        while self.places[place].slot != slot {
            precondition(self.places[place].slot.isSome, "slot \(slot) is not in the index")
            place = (place + 1) & mask
        }
        self.count -= 1
        var gap = place
        var next = (place + 1) & mask
        while self.places[next].slot.isSome {
            let home = Int(truncatingIfNeeded: self.places[next].hash) & mask
            // The entry may move into the gap unless its home lies cyclically within (gap, next].
            if ((next &- home) & mask) >= ((next &- gap) & mask) {
                self.places[gap] = self.places[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        self.places[gap] = Place()
    }

    private var mask: Int { self.places.count - 1 }

    private func search(from start: Int, hash: UInt32) -> Int? {
        var place = start
        while self.places[place].slot.isSome {
            if self.places[place].hash == hash { return place }
            place = (place + 1) & self.mask
        }
        return nil
    }

    private mutating func place(_ entry: Place) {
        var place = Int(truncatingIfNeeded: entry.hash) & self.mask
        while self.places[place].slot.isSome { place = (place + 1) & self.mask }
        self.places[place] = entry
    }

    private mutating func grow() {
        let old = self.places
        self.places = Array(repeating: Place(), count: old.count * 2)
        for entry in old where entry.slot.isSome { self.place(entry) }
    }
}
