/// Finds a slot by its identity without building a key: open addressing over slot numbers, linear probing, no tombstones.
///
/// A `Dictionary` would need an owned key per look-up; here the caller's borrowed bytes are compared with what the slot already holds.
struct SlotIndex {
    /// `-1`: free. Length is a power of two, at most 3/4 full.
    private var places: [Int32]
    private(set) var count = 0
    /// Differs per engine, so that nobody can prepare colliding keys.
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        self.places = Array(repeating: -1, count: 64)
    }

    /// FNV-1a over the identity, then a finaliser that spreads it over all bits.
    func hash(app: UInt16, kind: UInt8, id: Span<UInt8>) -> UInt32 {
        var hash = self.seed ^ 0xcbf2_9ce4_8422_2325
        hash = (hash ^ UInt64(app)) &* 0x0000_0100_0000_01b3
        hash = (hash ^ UInt64(kind)) &* 0x0000_0100_0000_01b3
        for index in id.indices { hash = (hash ^ UInt64(id[index])) &* 0x0000_0100_0000_01b3 }
        hash ^= hash >> 32
        hash = hash &* 0xd6e8_feb8_6659_fd93
        return UInt32(truncatingIfNeeded: hash ^ (hash >> 32))
    }

    /// The first place to look for a slot with this hash; `nil`: there is none. Walk on with `next`.
    func first(hash: UInt32) -> Int? {
        let place = Int(truncatingIfNeeded: hash) & (self.places.count - 1)
        return self.places[place] >= 0 ? place : nil
    }

    func next(after place: Int) -> Int? {
        let next = (place + 1) & (self.places.count - 1)
        return self.places[next] >= 0 ? next : nil
    }

    func slot(at place: Int) -> Int32 { self.places[place] }

    /// The caller knows that no equal slot is present. `slots` says every slot's hash when the table grows.
    mutating func insert(_ slot: Int32, hash: UInt32, slots: borrowing ChunkedStore<Slot>) {
        if (self.count + 1) * 4 > self.places.count * 3 { self.grow(slots: slots) }
        self.place(slot, hash: hash)
        self.count += 1
    }

    /// Takes the slot out and closes the gap, so that no probe run is cut.
    mutating func remove(_ slot: Int32, hash: UInt32, slots: borrowing ChunkedStore<Slot>) {
        let mask = self.places.count - 1
        var place = Int(truncatingIfNeeded: hash) & mask
        while self.places[place] != slot {
            precondition(self.places[place] >= 0, "slot \(slot) is not in the index")
            place = (place + 1) & mask
        }
        self.count -= 1
        var gap = place
        var next = (place + 1) & mask
        while self.places[next] >= 0 {
            let home = Int(truncatingIfNeeded: slots[Int(self.places[next])].hash) & mask
            // The entry may move into the gap unless its home lies cyclically within (gap, next].
            if ((next &- home) & mask) >= ((next &- gap) & mask) {
                self.places[gap] = self.places[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        self.places[gap] = -1
    }

    private mutating func place(_ slot: Int32, hash: UInt32) {
        let mask = self.places.count - 1
        var place = Int(truncatingIfNeeded: hash) & mask
        while self.places[place] >= 0 { place = (place + 1) & mask }
        self.places[place] = slot
    }

    private mutating func grow(slots: borrowing ChunkedStore<Slot>) {
        let old = self.places
        self.places = Array(repeating: -1, count: old.count * 2)
        for slot in old where slot >= 0 { self.place(slot, hash: slots[Int(slot)].hash) }
    }
}
