import PushModel

/// The body of an answer other than 200, and the debug data of a GOAWAY: `{"reason": "…", "timestamp": …}`.
public enum ErrorBody {
    /// Longest reason that is kept, bytes. Apple's longest has 27.
    public static let reasonByteCountMax = 64
    /// Maximum number of bytes that are read of a body.
    public static let byteCountMax = 1_024

    /// Reads as many fields as possible. A field before a cut or fault counts. The reason is empty if the body has no
    /// readable reason.
    ///
    /// - Returns: `reason`, without control characters; `timestamp` in milliseconds since 1970, or `nil` if it is not a
    ///   whole number.
    public static func parse(_ body: Span<UInt8>) -> (reason: String, timestampMillis: Int64?) {
        var (reason, timestampMillis) = ("", Int64?.none)
        let body = body.extracting(first: Self.byteCountMax)
        do throws(JSONFault) {
            var cursor = JSONCursor()
            var isFirst = true
            try cursor.openObject(body)
            while let name = try cursor.nextName(body, isFirst: isFirst) {
                isFirst = false
                let field = JSONEscape.text(of: name, in: body)
                let kind = try cursor.peekKind(body)
                if kind == .string, field.elementsEqual("reason".utf8) {
                    reason = Self.printable(JSONEscape.text(of: try cursor.string(body), in: body))
                } else if kind == .number, field.elementsEqual("timestamp".utf8) {
                    timestampMillis = Self.integer(body, try cursor.number(body))
                } else {
                    _ = try cursor.skipValue(body)
                }
            }
        } catch {
            // A field before the fault is kept.
        }
        return (reason, timestampMillis)
    }

    /// The beginning of the text, with `?` for each control character. A peer wrote the text, and it goes to logs and
    /// outcome records.
    private static func printable(_ text: [UInt8]) -> String {
        let shown = text.prefix(Self.reasonByteCountMax).map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "?") : $0 }
        return String(decoding: shown, as: UTF8.self)
    }

    private static func integer(_ body: Span<UInt8>, _ number: JSONNumber) -> Int64? {
        guard number.isWhole else { return nil }
        var digits: [UInt8] = []
        digits.append(copying: body.extracting(number.spelling.range))
        return Int64(String(decoding: digits, as: UTF8.self))
    }
}
