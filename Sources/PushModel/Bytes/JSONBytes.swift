/// Writes JSON values (RFC 8259) and names into a byte buffer that the caller reuses. The caller writes commas, colons
/// and brackets, as plain bytes or with `append(utf8:)`.
public enum JSONBytes {
    /// Appends `text` as a JSON string with quotes. A byte that is not UTF-8 becomes U+FFFD, so that the result is
    /// always valid.
    public static func appendString(_ text: Span<UInt8>, to target: inout [UInt8]) {
        ByteCursor.onStack { cursor in
            cursor.append(jsonString: text)
            cursor.flush(to: &target)
        }
    }

    /// Appends `text` as a JSON string with quotes.
    public static func appendString(_ text: String, to target: inout [UInt8]) {
        Self.appendString(Array(text.utf8).span, to: &target)
    }

    /// Appends a literal, which is a name, as a JSON string with quotes. It must not contain a character that JSON
    /// escapes.
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
