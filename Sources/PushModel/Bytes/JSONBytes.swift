/// Writes JSON (RFC 8259) values into a byte buffer the caller reuses. It writes values and names; commas, colons and brackets are
/// the caller's, as plain bytes or with `append(utf8:)`.
public enum JSONBytes {
    /// Appends `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD, one per byte, so that the result is
    /// always valid.
    public static func appendString(_ text: Span<UInt8>, to target: inout [UInt8]) {
        target.append(UInt8(ascii: "\""))
        var runStart = 0
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                index += 1
                continue
            }
            let byteCount = UTF8Validation.sequenceByteCount(in: text, at: index)
            if byteCount > 1 {
                index += byteCount
                continue
            }
            target.append(copying: text.extracting(runStart..<index))
            if byteCount == 1 { Self.appendEscape(byte, to: &target) } else { target.append(utf8: "\u{FFFD}") }
            index += 1
            runStart = index
        }
        target.append(copying: text.extracting(runStart..<text.count))
        target.append(UInt8(ascii: "\""))
    }

    /// Appends `text` as a JSON string, quotes included.
    public static func appendString(_ text: String, to target: inout [UInt8]) {
        Self.appendString(Array(text.utf8).span, to: &target)
    }

    /// Appends a literal as a JSON string, quotes included. The literal must hold nothing that JSON escapes: it is for names.
    @inlinable public static func appendString(literal text: StaticString, to target: inout [UInt8]) {
        target.append(UInt8(ascii: "\""))
        target.append(utf8: text)
        target.append(UInt8(ascii: "\""))
    }

    /// Appends `value` as a JSON number.
    @inlinable public static func appendInteger(_ value: Int64, to target: inout [UInt8]) {
        DecimalDigits.append(value, to: &target)
    }

    /// Appends `true` or `false`.
    @inlinable public static func appendBool(_ value: Bool, to target: inout [UInt8]) {
        target.append(utf8: value ? "true" : "false")
    }

    private static func appendEscape(_ byte: UInt8, to target: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""): target.append(utf8: "\\\"")
        case UInt8(ascii: "\\"): target.append(utf8: "\\\\")
        case 0x0A: target.append(utf8: "\\n")
        case 0x0D: target.append(utf8: "\\r")
        case 0x09: target.append(utf8: "\\t")
        default:
            target.append(utf8: "\\u00")
            target.append(Hex.digit(byte >> 4))
            target.append(Hex.digit(byte & 15))
        }
    }
}
