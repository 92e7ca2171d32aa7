/// The position of a member in its ring, which depends on the token alone. A position that is written down means the
/// same later and in any worker, no matter which members have joined or left. How positions are computed must therefore
/// never change.
///
/// The position comes from SipHash-1-3 under a key that everybody can know. Strangers register tokens. With a weaker
/// function they could prepare any number of tokens for one position.
enum RingPosition {
    static var bitCount: Int { 48 }
    /// One more than the last position.
    static var end: UInt64 { 1 << Self.bitCount }

    private static var firstKey: UInt64 { 0x9e37_79b9_7f4a_7c15 }
    private static var secondKey: UInt64 { 0xd6e8_feb8_6659_fd93 }

    static func of(_ token: Span<UInt8>) -> UInt64 {
        // The token is valid for the duration of the call.
        unsafe token.withUnsafeBytes { unsafe Self.of($0) }
    }

    @inline(__always) @unsafe static func of(_ token: UnsafeRawBufferPointer) -> UInt64 {
        unsafe Self.hash(token) >> (64 - Self.bitCount)
    }

    /// Returns the hash of a token. The high bits of the hash are the position.
    @unsafe static func hash(_ token: UnsafeRawBufferPointer) -> UInt64 {
        var state = State()
        var index = 0
        while token.count &- index >= 8 {
            // At least eight bytes are left.
            state.take(unsafe token.word(at: index))
            index &+= 8
        }
        // Fewer than eight bytes are left.
        state.take(unsafe token.lastWord(from: index) | UInt64(truncatingIfNeeded: token.count) << 56)
        return state.end()
    }

    private struct State {
        private var a = RingPosition.firstKey ^ 0x736f_6d65_7073_6575
        private var b = RingPosition.secondKey ^ 0x646f_7261_6e64_6f6d
        private var c = RingPosition.firstKey ^ 0x6c79_6765_6e65_7261
        private var d = RingPosition.secondKey ^ 0x7465_6462_7974_6573

        @inline(__always) mutating func take(_ word: UInt64) {
            self.d ^= word
            self.round()
            self.a ^= word
        }

        @inline(__always) mutating func end() -> UInt64 {
            self.c ^= 0xff
            self.round()
            self.round()
            self.round()
            return self.a ^ self.b ^ self.c ^ self.d
        }

        @inline(__always) private mutating func round() {
            self.a &+= self.b
            self.b = self.b.rotated(13) ^ self.a
            self.a = self.a.rotated(32)
            self.c &+= self.d
            self.d = self.d.rotated(16) ^ self.c
            self.a &+= self.d
            self.d = self.d.rotated(21) ^ self.a
            self.c &+= self.b
            self.b = self.b.rotated(17) ^ self.c
            self.c = self.c.rotated(32)
        }
    }
}

extension UInt64 {
    @inline(__always) fileprivate func rotated(_ bits: UInt64) -> UInt64 { self &<< bits | self &>> (64 &- bits) }

    /// The bits in reverse order.
    @inline(__always) var bitReversed: UInt64 {
        var bits = self.byteSwapped
        bits = bits >> 4 & 0x0f0f_0f0f_0f0f_0f0f | (bits & 0x0f0f_0f0f_0f0f_0f0f) << 4
        bits = bits >> 2 & 0x3333_3333_3333_3333 | (bits & 0x3333_3333_3333_3333) << 2
        return bits >> 1 & 0x5555_5555_5555_5555 | (bits & 0x5555_5555_5555_5555) << 1
    }
}
