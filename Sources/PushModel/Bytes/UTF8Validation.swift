/// Checks UTF-8, as RFC 3629 §4 and table 3-7 of the Unicode standard define it: shortest form, no surrogates, up to
/// U+10FFFF.
public enum UTF8Validation {
    /// The length, 1 to 4 bytes, of the well-formed sequence that begins at `index`; 0 if there is none.
    @inline(__always) public static func sequenceByteCount(in bytes: Span<UInt8>, at index: Int) -> Int {
        guard bytes.count &- index >= 4 else { return Self.sequenceByteCountAtEnd(in: bytes, at: index) }
        // There are four bytes, and the first is the lowest of the word. Each line below first compares the fixed bits
        // of a form, in all its bytes. It then checks the bits that show overlong forms, surrogates and values above
        // U+10FFFF.
        let word = unsafe UInt32(
            littleEndian: bytes.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt32.self))
        if word & 0x80 == 0 { return 1 }
        if word & 0xC0E0 == 0x80C0 { return word & 0x1E == 0 ? 0 : 2 }
        if word & 0xC0_C0F0 == 0x80_80E0 {
            let upper = word & 0x200F
            return upper == 0 || upper == 0x200D ? 0 : 3
        }
        if word & 0xC0C0_C0F8 == 0x8080_80F0 {
            let upper = word & 0x3007
            return upper == 0 || upper & 4 != 0 && upper & 0x3003 != 0 ? 0 : 4
        }
        return 0
    }

    /// The length in bytes of a sequence that begins in the last three bytes. The code follows table 3-7.
    @usableFromInline static func sequenceByteCountAtEnd(in bytes: Span<UInt8>, at index: Int) -> Int {
        let lead = bytes[index]
        let byteCount: Int
        /// The allowed range of the second byte. Later bytes cannot show overlong forms, surrogates or values above
        /// U+10FFFF.
        let second: ClosedRange<UInt8>
        switch lead {
        case 0x00...0x7F: return 1
        case 0xC2...0xDF: (byteCount, second) = (2, 0x80...0xBF)
        case 0xE0: (byteCount, second) = (3, 0xA0...0xBF)
        case 0xED: (byteCount, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (byteCount, second) = (3, 0x80...0xBF)
        case 0xF0: (byteCount, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (byteCount, second) = (4, 0x80...0xBF)
        case 0xF4: (byteCount, second) = (4, 0x80...0x8F)
        default: return 0
        }
        guard bytes.count - index >= byteCount, second.contains(bytes[index + 1]) else { return 0 }
        if byteCount >= 3, bytes[index + 2] & 0xC0 != 0x80 { return 0 }
        if byteCount == 4, bytes[index + 3] & 0xC0 != 0x80 { return 0 }
        return byteCount
    }

    /// The index of the first byte that is not in a well-formed sequence; `nil` when all bytes are well-formed.
    public static func firstFault(in bytes: Span<UInt8>) -> Int? {
        var index = 0
        while bytes.count - index >= 8 {
            // There are eight more bytes. ASCII is well-formed. A word with other bytes is checked below.
            let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard word & 0x8080_8080_8080_8080 == 0 else { break }
            index += 8
        }
        if index > 0, index < bytes.count, bytes.count - index < 8 {
            // The last eight bytes overlap bytes that were checked already. If they are all ASCII, no sequence begins
            // or ends in them.
            let word = unsafe bytes.word(uncheckedAt: bytes.count - 8)
            if word & 0x8080_8080_8080_8080 == 0 { return nil }
        }
        while index < bytes.count {
            // There are eight more bytes, and all of them are ASCII.
            while bytes.count &- index >= 8, unsafe bytes.word(uncheckedAt: index) & 0x8080_8080_8080_8080 == 0 {
                index &+= 8
            }
            guard index < bytes.count else { break }
            let byteCount = Self.sequenceByteCount(in: bytes, at: index)
            guard byteCount > 0 else { return index }
            index += byteCount
        }
        return nil
    }
}
