/// Hexadecimal, as device tokens are written in APNs paths and in events.
public enum Hex {
    /// Appends two lower-case digits per byte.
    public static func append(_ bytes: Span<UInt8>, to target: inout [UInt8]) {
        target.reserveCapacity(target.count + 2 * bytes.count)
        for index in bytes.indices {
            target.append(Self.digit(bytes[index] >> 4))
            target.append(Self.digit(bytes[index] & 15))
        }
    }

    /// Appends the bytes that `digits` (either case) spell. Returns `false`, with `target` as it was, when the count is odd or a
    /// character is no hexadecimal digit.
    public static func decode(_ digits: Span<UInt8>, to target: inout [UInt8]) -> Bool {
        guard digits.count.isMultiple(of: 2) else { return false }
        let countBefore = target.count
        target.reserveCapacity(countBefore + digits.count / 2)
        var index = 0
        while index < digits.count {
            let (high, low) = (Self.value(of: digits[index]), Self.value(of: digits[index + 1]))
            guard high | low < 16 else {
                target.removeSubrange(countBefore...)
                return false
            }
            target.append(high << 4 | low)
            index += 2
        }
        return true
    }

    /// The lower-case digit of a value below 16.
    @inlinable public static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }

    /// The value of a digit of either case; 255 for any other character.
    @inlinable public static func value(of digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: 255
        }
    }
}
