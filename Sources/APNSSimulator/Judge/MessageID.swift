/// `apns-id`: a UUID in canonical form, which Apple shows in lower case.
enum MessageID {
    /// The UUID's halves, big-endian; `nil`: not 8-4-4-4-12 lower-case hex digits.
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
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            default: return nil
            }
            if digitCount < 16 {
                halves.0 = halves.0 << 4 | UInt64(digit)
            } else {
                halves.1 = halves.1 << 4 | UInt64(digit)
            }
            digitCount += 1
        }
        return halves
    }
}
