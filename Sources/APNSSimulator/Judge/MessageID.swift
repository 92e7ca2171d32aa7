import PushModel

/// `apns-id`: a UUID in canonical form, in lower case as Apple shows it.
enum MessageID {
    /// The UUID's halves, big-endian; `nil` if the text is not 8-4-4-4-12 lower-case hex digits.
    static func parse(_ text: Span<UInt8>) -> (UInt64, UInt64)? {
        guard text.count == 36 else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        var digitCount = 0
        for index in 0..<36 {
            let byte = text[index]
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            let digit = Hex.value(of: byte)
            // Digits of either case have a value, but only lower case is accepted.
            guard digit < 16, Hex.digit(digit) == byte else { return nil }
            if digitCount < 16 {
                halves.0 = halves.0 << 4 | UInt64(digit)
            } else {
                halves.1 = halves.1 << 4 | UInt64(digit)
            }
            digitCount += 1
        }
        return halves
    }

    /// The id as in a header; empty for zeros, which mean none.
    static func text(_ halves: (UInt64, UInt64)) -> String {
        guard halves != (0, 0) else { return "" }
        var text: [UInt8] = []
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 { text.append(UInt8(ascii: "-")) }
            let half = digit < 16 ? halves.0 : halves.1
            text.append(Hex.digit(UInt8(truncatingIfNeeded: half >> UInt64(60 - 4 * (digit & 15))) & 15))
        }
        return String(decoding: text, as: UTF8.self)
    }
}
