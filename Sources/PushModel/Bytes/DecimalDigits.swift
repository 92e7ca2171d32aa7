/// Integers as decimal ASCII digits.
public enum DecimalDigits {
    /// Number of digits of the longest number, `UInt64.max`.
    @inlinable static var byteCountMax: Int { 20 }

    /// The number that `text` spells in digits. `nil` if there is any other character, or the number is larger than an
    /// `Int64`. Nothing is allocated.
    public static func value(of text: Span<UInt8>) -> Int64? {
        guard !text.isEmpty else { return nil }
        var value: Int64 = 0
        for index in text.indices {
            let digit = text[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            let (tens, isOver) = value.multipliedReportingOverflow(by: 10)
            let (sum, isOverToo) = tens.addingReportingOverflow(Int64(digit))
            guard !isOver, !isOverToo else { return nil }
            value = sum
        }
        return value
    }

    /// Appends `value` in decimal, with a minus sign when it is negative.
    public static func append(_ value: Int64, to target: inout [UInt8]) {
        if value < 0 { target.append(UInt8(ascii: "-")) }
        Self.append(value.magnitude, to: &target)
    }

    /// Appends `value` in decimal.
    public static func append(_ value: UInt64, to target: inout [UInt8]) {
        unsafe withUnsafeTemporaryAllocation(byteCount: 24, alignment: 8) { memory in
            // `byteCountMax` bytes are reserved, and only bytes that were written are appended.
            let start = memory.baseAddress!
            let count = unsafe Self.write(value, to: start)
            unsafe target.append(contentsOf: UnsafeRawBufferPointer(start: start, count: count))
        }
    }

    /// Writes `value` to `target`, where `byteCountMax` bytes are free, and returns its length. Up to the eighth byte,
    /// bytes after the number are undefined.
    @unsafe @usableFromInline static func write(_ value: UInt64, to target: UnsafeMutableRawPointer) -> Int {
        guard value >= Self.eightDigitsBound else { return unsafe Self.writeShort(value, to: target) }
        let upper = value / Self.eightDigitsBound
        guard upper < Self.eightDigitsBound else { return unsafe Self.writeLong(value, to: target) }
        let count = unsafe Self.writeShort(upper, to: target)
        unsafe Self.writeEight(value &- upper &* Self.eightDigitsBound, to: target + count)
        return count &+ 8
    }

    /// Writes a number of more than sixteen digits: first up to four digits, then eight and eight.
    @inline(never) @unsafe private static func writeLong(_ value: UInt64, to target: UnsafeMutableRawPointer) -> Int {
        let upper = value / Self.eightDigitsBound
        let first = upper / Self.eightDigitsBound
        let count = unsafe Self.writeShort(first, to: target)
        unsafe Self.writeEight(upper &- first &* Self.eightDigitsBound, to: target + count)
        unsafe Self.writeEight(value &- upper &* Self.eightDigitsBound, to: target + count + 8)
        return count &+ 16
    }

    private static var eightDigitsBound: UInt64 { 100_000_000 }

    @inline(__always) @unsafe private static func writeEight(_ value: UInt64, to target: UnsafeMutableRawPointer) {
        unsafe target.storeBytes(of: (Self.eightDigits(value) | Self.zeros).littleEndian, as: UInt64.self)
    }

    /// Writes at most eight digits, without leading zeros. It may store eight bytes for a shorter number.
    @inline(__always) @unsafe private static func writeShort(
        _ value: UInt64, to target: UnsafeMutableRawPointer
    ) -> Int {
        if value < 100 {
            // Most numbers here are the upper parts of dates, which have ten or thirteen digits. Such a part often has
            // two digits.
            let tens = (value &* 103) >> 10
            let both = tens | (value &- tens &* 10) << 8
            let isShort = value < 10
            let digits = (isShort ? both >> 8 : both) | 0x3030
            unsafe target.storeBytes(of: UInt16(truncatingIfNeeded: digits).littleEndian, as: UInt16.self)
            return isShort ? 1 : 2
        }
        let digits = Self.eightDigits(value)
        let leadingZeros = digits.trailingZeroBitCount & ~7
        unsafe target.storeBytes(of: ((digits | Self.zeros) &>> UInt64(leadingZeros)).littleEndian, as: UInt64.self)
        return 8 &- leadingZeros / 8
    }

    private static var zeros: UInt64 { 0x3030_3030_3030_3030 }

    /// The eight digits of a number below 10^8 as the bytes of a word, 0...9 each. The first digit is in the lowest
    /// byte. The number is split into parts of four digits, then two, then one, all parts at the same time. The factors
    /// are reciprocals, and exact for these ranges.
    @inline(__always) private static func eightDigits(_ value: UInt64) -> UInt64 {
        let upper = value / 10_000
        let fours = upper | (value &- upper &* 10_000) << 32
        let hundreds = (fours &* 10_486) >> 20 & 0x0000_007F_0000_007F
        let twos = hundreds | (fours &- hundreds &* 100) << 16
        let tens = (twos &* 103) >> 10 & 0x000F_000F_000F_000F
        return tens | (twos &- tens &* 10) << 8
    }

    /// Number of bytes that `append` would write.
    @inlinable public static func count(_ value: Int64) -> Int {
        Self.count(value.magnitude) + (value < 0 ? 1 : 0)
    }

    /// Number of digits of `value`.
    @inlinable public static func count(_ value: UInt64) -> Int {
        // 1,233 / 4,096 is close to log10(2). For 64 bits it gives the number of digits, or one less.
        let bits = 64 &- (value | 1).leadingZeroBitCount
        let least = (bits &* 1_233) >> 12
        return least &+ (value >= Self.power(least) ? 1 : 0)
    }

    /// 10 to the power of `exponent`, which is 1 to 19. For 0 it is 0, so that `count` counts one digit for zero.
    @inlinable static func power(_ exponent: Int) -> UInt64 {
        switch exponent {
        case 0: 0  // One digit, for zero too.
        case 1: 10
        case 2: 100
        case 3: 1_000
        case 4: 10_000
        case 5: 100_000
        case 6: 1_000_000
        case 7: 10_000_000
        case 8: 100_000_000
        case 9: 1_000_000_000
        case 10: 10_000_000_000
        case 11: 100_000_000_000
        case 12: 1_000_000_000_000
        case 13: 10_000_000_000_000
        case 14: 100_000_000_000_000
        case 15: 1_000_000_000_000_000
        case 16: 10_000_000_000_000_000
        case 17: 100_000_000_000_000_000
        case 18: 1_000_000_000_000_000_000
        default: 10_000_000_000_000_000_000
        }
    }
}
