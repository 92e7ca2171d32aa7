/// Writes JSON (RFC 8259) values into a byte buffer the caller reuses. It writes values and names; commas, colons and brackets are
/// the caller's, as plain bytes or with `append(utf8:)`.
public enum JSONBytes {
    /// Appends `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD, one per byte, so that the result is
    /// always valid.
    public static func appendString(_ text: Span<UInt8>, to target: inout [UInt8]) {
        let byteCountMax = ByteCursor.jsonByteCountMax(of: text.count)
        if byteCountMax <= ByteCursor.stackByteCount || text.count + 2 <= ByteCursor.stackByteCount && text.isPlainASCII
        {
            ByteCursor.onStack { cursor in
                cursor.append(jsonString: text)
                cursor.flush(to: &target)
            }
        } else {
            // Long, and with something to escape: texts of refusals, not of pushes.
            var scratch: [UInt8] = []
            target.append(atMost: byteCountMax, using: &scratch) { $0.append(jsonString: text) }
        }
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
}
