/// Well-formed UTF-8 as RFC 3629 §4 and the Unicode standard's table 3-7 define it: shortest form, no surrogates, up to U+10FFFF.
public enum UTF8Validation {
    /// The length in bytes, 1 to 4, of the well-formed sequence that begins at `index`; 0 when none does.
    @inline(__always) public static func sequenceByteCount(in bytes: Span<UInt8>, at index: Int) -> Int {
        guard bytes.count &- index >= 4 else { return Self.sequenceByteCountAtEnd(in: bytes, at: index) }
        // Four bytes are present, the first of them lowest. Each line first compares the fixed bits of all bytes of a
        // form. It then checks the bits in which overlong forms, surrogates and the upper end differ.
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

    /// Length in bytes of the sequence at an index among the last three bytes. It is written like table 3-7.
    @usableFromInline static func sequenceByteCountAtEnd(in bytes: Span<UInt8>, at index: Int) -> Int {
        let lead = bytes[index]
        let byteCount: Int
        /// The range of the second byte. Overlong forms, surrogates and the upper end differ in this byte only.
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

    /// The index of the first byte that belongs to no well-formed sequence; `nil` when all bytes are well-formed.
    public static func firstFault(in bytes: Span<UInt8>) -> Int? {
        var index = 0
        while bytes.count - index >= 8 {
            // Eight bytes are present. ASCII is well-formed, and anything else that begins in this word is checked
            // below.
            let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard word & 0x8080_8080_8080_8080 == 0 else { break }
            index += 8
        }
        if index > 0, index < bytes.count, bytes.count - index < 8 {
            // The last eight bytes overlap those already seen. A sequence may have been cut unless all of them are
            // ASCII.
            let word = unsafe bytes.word(uncheckedAt: bytes.count - 8)
            if word & 0x8080_8080_8080_8080 == 0 { return nil }
        }
        while index < bytes.count {
            // Eight bytes are present, and all of them are ASCII.
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
