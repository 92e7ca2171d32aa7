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

    /// Over the identity, eight bytes at a time: each word is multiplied to 128 bits whose halves are folded together, so that every bit of
    /// it reaches every bit of the result.
    func hash(app: UInt16, kind: UInt8, id: Span<UInt8>) -> UInt32 {
        var hash = Self.fold(
            self.seed ^ UInt64(id.count) << 32 ^ UInt64(app) << 8 ^ UInt64(kind), 0x9e37_79b9_7f4a_7c15)
        var index = 0
        while id.count - index >= 8 {
            // Eight bytes are there.
            let word = unsafe id.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            hash = Self.fold(hash ^ word, 0xd6e8_feb8_6659_fd93)
            index += 8
        }
        var rest: UInt64 = 0
        while index < id.count {
            rest = rest << 8 ^ UInt64(id[index])
            index += 1
        }
        hash = Self.fold(hash ^ rest, 0xa076_1d64_78bd_642f)
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }

    private static func fold(_ value: UInt64, _ factor: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: factor)
        return product.high ^ product.low
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
