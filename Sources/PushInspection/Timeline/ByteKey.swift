import PushModel

/// Identifies a token or a key by 128 bits, so that borrowed bytes can be looked up. Somebody who chooses the
/// bytes can make two of these keys equal: do not rely on them for security.
struct ByteKey: Hashable, Sendable {
    private let low: UInt64
    private let high: UInt64

    /// A token in hexadecimal digits, in upper or lower case.
    init(token: Span<UInt8>) { self.init(token, mask: 0x2020_2020_2020_2020) }

    /// A token in hexadecimal digits, in upper or lower case.
    init(token: String) { self.init(token: Array(token.utf8).span) }

    /// A record's key.
    init(_ key: Span<UInt8>) { self.init(key, mask: 0) }

    /// A record's key.
    init(_ key: String) { self.init(Array(key.utf8).span) }

    /// Hashes bytes.
    /// - Parameter mask: bits that are set in each byte before it is hashed.
    private init(_ bytes: Span<UInt8>, mask: UInt64) {
        var low = 0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count)
        var high: UInt64 = 0xD1B5_4A32_D192_ED03
        func take(_ word: UInt64) {
            let word = word | mask
            low = (low ^ word) &* 0xBF58_476D_1CE4_E5B9
            low ^= low >> 29
            high = (high ^ word) &* 0x94D0_49BB_1331_11EB
            high ^= high >> 31
        }
        var index = 0
        while bytes.count - index >= 8 {
            // At least eight bytes remain.
            take(unsafe bytes.word(uncheckedAt: index))
            index &+= 8
        }
        var rest: UInt64 = 0
        while index < bytes.count {
            rest = rest << 8 | UInt64(bytes[index])
            index &+= 1
        }
        take(rest)
        (self.low, self.high) = (low, high)
    }

    // The bits are mixed already.
    func hash(into hasher: inout Hasher) { hasher.combine(self.low) }
}
