/// The hash by which Java's default partitioner chooses a keyed record's partition: MurmurHash2, 32 bits, seed
/// 0x9747b28c (Kafka's `Utils.murmur2`). librdkafka's `murmur2_random` uses it, too.
public enum Murmur2 {
    /// The partition, 0..<`count`, that a record with this key belongs to. `count` must be positive.
    public static func partition(key: Span<UInt8>, count: Int32) -> Int32 {
        precondition(count > 0, "a topic has at least one partition, not \(count)")
        // Kafka's `toPositive` clears the sign bit. It does not negate the number.
        return Int32(truncatingIfNeeded: Self.hash(key) & 0x7fff_ffff) % count
    }

    /// The hash as an unsigned number. Java shows it as a signed one.
    public static func hash(_ key: Span<UInt8>) -> UInt32 {
        let multiplier: UInt32 = 0x5bd1_e995
        var hash: UInt32 = 0x9747_b28c ^ UInt32(truncatingIfNeeded: key.count)
        var index = 0
        while key.count &- index >= 4 {
            // There are four more bytes.
            var word = unsafe UInt32(
                littleEndian: key.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt32.self))
            word &*= multiplier
            word ^= word >> 24
            word &*= multiplier
            hash = hash &* multiplier ^ word
            index &+= 4
        }
        let rest = key.count - index
        if rest == 3 { hash ^= UInt32(key[index + 2]) << 16 }
        if rest >= 2 { hash ^= UInt32(key[index + 1]) << 8 }
        if rest >= 1 { hash = (hash ^ UInt32(key[index])) &* multiplier }
        hash ^= hash >> 13
        hash &*= multiplier
        return hash ^ hash >> 15
    }
}
