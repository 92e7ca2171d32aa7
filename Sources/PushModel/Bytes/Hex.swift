/// Hexadecimal digits, in which device tokens are written in APNs paths and in events. Every push encodes a token, so
/// eight or sixteen digits are processed at a time, with the first digit in the lowest byte. No branch depends on a
/// digit. A token's digits are random, so the processor would predict half of such branches wrong.
public enum Hex {
    @inlinable static var eachByte: UInt64 { 0x0101_0101_0101_0101 }

    /// Maximum number of bytes in a piece, which is processed before it is appended. A whole token nearly always fits.
    /// The piece's digits fit on the stack.
    private static var pieceByteCount: Int { 256 }

    /// Appends two lower-case digits per byte.
    public static func append(_ bytes: Span<UInt8>, to target: inout [UInt8]) {
        var start = 0
        repeat {
            // The digits are written to the stack first, because an array checks its storage for each word that is
            // appended. The size is a constant, because the memory would otherwise be on the heap.
            unsafe withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { digits in
                let piece = bytes.extracting(start..<min(bytes.count, start + Self.pieceByteCount))
                let start = digits.baseAddress!
                var index = 0
                while piece.count &- index >= 8 {
                    // The piece has eight more bytes, and `digits` has room for two digits for each byte of a piece.
                    unsafe start.storeBytes(
                        of: Self.digits(ofEight: piece.word(uncheckedAt: index)), toByteOffset: 2 &* index,
                        as: SIMD8<UInt16>.self)
                    index &+= 8
                }
                while index < piece.count {
                    unsafe start.storeBytes(of: Self.digit(piece[index] >> 4), toByteOffset: 2 &* index, as: UInt8.self)
                    unsafe start.storeBytes(
                        of: Self.digit(piece[index] & 15), toByteOffset: 2 &* index &+ 1, as: UInt8.self)
                    index &+= 1
                }
                // Every byte of `digits` up to this count was written.
                unsafe target.append(contentsOf: UnsafeRawBufferPointer(start: start, count: 2 &* piece.count))
            }
            start += Self.pieceByteCount
        } while start < bytes.count
    }

    /// Appends the sixteen lower-case digits of a number.
    public static func append(_ value: UInt64, to target: inout [UInt8]) {
        for shift in stride(from: 60, through: 0, by: -4) {
            target.append(Self.digit(UInt8(truncatingIfNeeded: value >> UInt64(shift)) & 15))
        }
    }

    /// Appends the bytes that `digits` spell, in either case. Returns `false` and leaves `target` unchanged when the
    /// count is odd, or a character is not a hexadecimal digit.
    public static func decode(_ digits: Span<UInt8>, to target: inout [UInt8]) -> Bool {
        guard digits.count.isMultiple(of: 2) else { return false }
        let countBefore = target.count
        var start = 0
        repeat {
            let piece = digits.extracting(start..<min(digits.count, start + 2 * Self.pieceByteCount))
            guard Self.decode(piece: piece, to: &target) else {
                target.removeSubrange(countBefore...)
                return false
            }
            start += 2 * Self.pieceByteCount
        } while start < digits.count
        return true
    }

    /// Decodes a piece: an even number of digits, for at most `pieceByteCount` bytes.
    private static func decode(piece digits: Span<UInt8>, to target: inout [UInt8]) -> Bool {
        unsafe withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { bytes in
            let start = bytes.baseAddress!
            var index = 0
            while digits.count &- index >= 8 {
                // The piece has eight more digits, and `bytes` has room for one byte for each two digits.
                let word = unsafe digits.word(uncheckedAt: index)
                guard Self.areDigits(word) else { return false }
                unsafe start.storeBytes(of: Self.bytes(of: word).littleEndian, toByteOffset: index / 2, as: UInt32.self)
                index &+= 8
            }
            while index < digits.count {
                let (high, low) = (Self.value(of: digits[index]), Self.value(of: digits[index + 1]))
                guard high | low < 16 else { return false }
                unsafe start.storeBytes(of: high << 4 | low, toByteOffset: index / 2, as: UInt8.self)
                index &+= 2
            }
            // Every byte of `bytes` up to this count was written.
            unsafe target.append(contentsOf: UnsafeRawBufferPointer(start: start, count: digits.count / 2))
            return true
        }
    }

    /// Whether one of `digits` is an upper-case letter. The answer is undefined if one of them is not a hexadecimal
    /// digit.
    public static func hasUpperCaseLetter(_ digits: Span<UInt8>) -> Bool {
        // An upper-case letter has bit 6 and not bit 5. A lower-case letter has both, and a decimal digit has bit 5.
        var letters: UInt64 = 0
        var index = 0
        while digits.count &- index >= 8 {
            // There are eight more bytes.
            let word = unsafe digits.word(uncheckedAt: index)
            letters |= word & ~(word << 1)
            index &+= 8
        }
        while index < digits.count {
            let byte = UInt64(digits[index])
            letters |= byte & ~(byte << 1)
            index &+= 1
        }
        return letters & (Self.eachByte &* 0x40) != 0
    }

    /// The lower-case digit of a value below 16.
    @inlinable public static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }

    /// The value of a digit in either case; 255 for any other character.
    @inlinable public static func value(of digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: 255
        }
    }

    /// The eight digits of a number, as the bytes of one word. The first digit is in the lowest byte.
    @inlinable static func digits(ofBigEndian value: UInt32) -> UInt64 { Self.digits(of: value.byteSwapped) }

    /// The eight digits of four bytes.
    @inlinable static func digits(of bytes: UInt32) -> UInt64 {
        var word = UInt64(bytes)
        word = (word | word << 16) & 0x0000_FFFF_0000_FFFF
        word = (word | word << 8) & 0x00FF_00FF_00FF_00FF
        let values = (word >> 4 | word << 8) & (Self.eachByte &* 15)
        // Adding 6 to a value of 10 or more carries into bit 4, which marks letters. In ASCII, `a` is 39 more than the
        // character after `9`.
        let letters = (values &+ Self.eachByte &* 6) >> 4 & Self.eachByte
        return values &+ Self.eachByte &* 0x30 &+ letters &* 39
    }

    /// The sixteen digits of eight bytes, where the first byte is the lowest. Each lane has the two digits of one byte,
    /// in the order of memory.
    @inline(__always) private static func digits(ofEight bytes: UInt64) -> SIMD8<UInt16> {
        let lanes = SIMD8<UInt16>(truncatingIfNeeded: unsafe unsafeBitCast(bytes.littleEndian, to: SIMD8<UInt8>.self))
        let values = lanes &>> 4 | (lanes & 15) &<< 8
        // These bits mark the letters, as in `digits(of:)`.
        let letters = (values &+ 0x0606) &>> 4 & 0x0101
        let digits = values &+ 0x3030 &+ letters &* 39
        #if _endian(big)
            return (digits &>> 8) | (digits &<< 8)
        #else
            return digits
        #endif
    }

    /// The four bytes that eight digits spell. The result is undefined if a character is not a digit.
    private static func bytes(of digits: UInt64) -> UInt32 {
        // A letter has bit 6. Its low half is 1 for `a`, so 9 is added.
        let values = (digits & (Self.eachByte &* 15)) &+ (digits >> 6 & Self.eachByte) &* 9
        var word = (values << 4 | values >> 8) & 0x00FF_00FF_00FF_00FF
        word = (word | word >> 8) & 0x0000_FFFF_0000_FFFF
        return UInt32(truncatingIfNeeded: word | word >> 16)
    }

    /// Whether all eight bytes are hexadecimal digits. Each sum sets a byte's top bit when the byte reaches a limit:
    /// the lower end of a range, or the byte after its upper end. A byte of 128 or more may carry into its neighbour,
    /// but it makes the result `false` itself.
    private static func areDigits(_ word: UInt64) -> Bool {
        let lower = word | Self.eachByte &* 0x20
        let decimals = (word &+ Self.eachByte &* (0x80 - 0x30)) & ~(word &+ Self.eachByte &* (0x80 - 0x3A))
        let letters = (lower &+ Self.eachByte &* (0x80 - 0x61)) & ~(lower &+ Self.eachByte &* (0x80 - 0x67))
        let tops = Self.eachByte &* 0x80
        return (decimals | letters) & ~word & tops == tops
    }
}
