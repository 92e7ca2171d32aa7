import PushModel

/// A keyed hash of a raw token. One multiplication takes in two words. The halves of each product are folded together,
/// so that every bit of a word reaches every bit of the result. The hash is fast, and only its secret key keeps a
/// stranger from preparing tokens with the same hash.
struct TokenHash {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64

    /// Creates a hash whose key is drawn from `seed`.
    init(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        self.first = random.next()
        self.second = random.next()
        self.third = random.next()
    }

    @inline(__always) @unsafe func callAsFunction(_ token: UnsafeRawBufferPointer) -> UInt64 {
        let count = token.count
        var state = self.first
        var index = 0
        // Every load below stays within the token. While more than 16 bytes are left, 16 are taken; then the last 16. A
        // token of 8 to 15 bytes is taken as its first 8 and its last 8 bytes. A shorter token is read byte by byte.
        while count &- index > 16 {
            state = Self.fold(unsafe token.word(at: index) ^ self.second, unsafe token.word(at: index &+ 8) ^ state)
            index &+= 16
        }
        var low: UInt64 = 0
        var high: UInt64 = 0
        if count >= 16 {
            // Some of these bytes may have been read above.
            low = unsafe token.word(at: count &- 16)
            high = unsafe token.word(at: count &- 8)
        } else if count >= 8 {
            low = unsafe token.word(at: 0)
            high = unsafe token.word(at: count &- 8)
        } else {
            low = unsafe token.lastWord(from: 0)
        }
        let folded = Self.fold(low ^ self.second, high ^ state)
        return Self.fold(folded ^ self.third, self.second ^ UInt64(truncatingIfNeeded: count))
    }

    @inline(__always) private static func fold(_ value: UInt64, _ factor: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }
}

extension UnsafeRawBufferPointer {
    /// The eight bytes at `offset`. The caller has checked that the buffer has them.
    @inline(__always) @unsafe func word(at offset: Int) -> UInt64 {
        unsafe UInt64(littleEndian: self.baseAddress!.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// The bytes from `offset` to the end. They are fewer than eight.
    @inline(__always) @unsafe func lastWord(from offset: Int) -> UInt64 {
        var word: UInt64 = 0
        var index = self.count
        while index > offset {
            index &-= 1
            word = unsafe word << 8 | UInt64(self[index])
        }
        return word
    }
}
