/// Base64 with the URL-safe alphabet and no padding (RFC 4648 §5), as JWTs use it.
public enum Base64URL {
    /// Appends the encoding of `bytes`.
    public static func append(_ bytes: Span<UInt8>, to target: inout [UInt8]) {
        var index = 0
        while index < bytes.count {
            let rest = bytes.count - index
            let word =
                UInt32(bytes[index]) << 16 | (rest > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
                | (rest > 2 ? UInt32(bytes[index + 2]) : 0)
            target.append(Self.digit(word >> 18))
            target.append(Self.digit(word >> 12))
            if rest > 1 { target.append(Self.digit(word >> 6)) }
            if rest > 2 { target.append(Self.digit(word)) }
            index += 3
        }
    }

    private static func digit(_ word: UInt32) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: word & 63)
        return switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + (value - 26)
        case 52..<62: UInt8(ascii: "0") + (value - 52)
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
        }
    }
}
