/// Names bytes by 64 bits: equal for equal bytes, and different for different ones but for one chance in 2^64. For nobody who means harm.
public enum ContentHash {
    /// The name of no bytes at all.
    public static let empty: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// The name of a run of bytes.
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

    /// The name of bytes.
    public static func of(_ bytes: [UInt8]) -> UInt64 { Self.of(bytes.span, 0..<bytes.count) }

    /// The name of a sequence whose earlier part is named `hash`.
    public static func combine(_ hash: UInt64, _ next: UInt64) -> UInt64 {
        let product = (hash ^ next).multipliedFullWidth(by: 0xBF58_476D_1CE4_E5B9)
        return product.high ^ product.low &+ hash
    }
}
