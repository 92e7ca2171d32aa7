/// A small seeded generator (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). Equal seeds
/// give equal numbers, on every machine.
public struct SplitMix64: RandomNumberGenerator, Sendable {
    @usableFromInline var state: UInt64

    /// Begins the sequence that belongs to `seed`.
    @inlinable public init(seed: UInt64) { self.state = seed }

    /// The next 64 bits of the sequence.
    @inlinable public mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
