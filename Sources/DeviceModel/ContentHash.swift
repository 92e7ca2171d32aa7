/// A 64-bit hash of bytes: equal bytes have equal hashes, and different ones collide with a chance of one in 2^64. It
/// does not resist attacks.
public enum ContentHash {
    /// The hash of no bytes.
    public static let empty: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// The hash of a run of bytes.
    public static func of(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
        // Safe: the pointer is used within the closure only, and `extracting` has checked the range.
        unsafe bytes.extracting(range).withUnsafeBytes { bytes in
            var hash = Self.empty
            var at = 0
            while at + 8 <= bytes.count {
                unsafe hash = Self.combine(hash, bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                at += 8
            }
            var rest: UInt64 = 0
            while at < bytes.count {
                unsafe rest = rest << 8 | UInt64(bytes[at])
                at += 1
            }
            return unsafe bytes.isEmpty ? hash : Self.combine(Self.combine(hash, rest), UInt64(bytes.count))
        }
    }

    /// The hash of bytes.
    public static func of(_ bytes: [UInt8]) -> UInt64 { Self.of(bytes.span, 0..<bytes.count) }

    /// Extends the hash of a sequence by the sequence's next word.
    public static func combine(_ hash: UInt64, _ next: UInt64) -> UInt64 {
        let product = (hash ^ next).multipliedFullWidth(by: 0xBF58_476D_1CE4_E5B9)
        return product.high ^ product.low &+ hash
    }
}
