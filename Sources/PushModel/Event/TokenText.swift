/// Shortens device tokens in texts that should not contain any. A producer may have used a token as a key, an id or an
/// app's name. A message must not show a whole token, because anyone who has it can push to the phone.
public enum TokenText {
    /// Maximum number of hexadecimal digits in a row that do not count as a token. Identifiers without hyphens have 32.
    /// Apple's tokens have 64 or more.
    static let digitCountMax = 32
    /// Number of digits that are shown. They distinguish tokens, but are useless for a push.
    static let digitsShown = 8

    /// The text, in which each long run of hexadecimal digits is cut, as in `0a1b2c3d…(64 digits)`.
    public static func shortened(_ text: String) -> String {
        // Nearly all texts need no change.
        guard Self.hasLongRun(text.utf8) else { return text }
        let bytes = Array(text.utf8)
        return String(decoding: Self.shortened(bytes.span), as: UTF8.self)
    }

    /// The bytes, in which each long run of hexadecimal digits is cut. They need not be UTF-8.
    static func shortened(_ bytes: Span<UInt8>) -> [UInt8] {
        var shown: [UInt8] = []
        var start = 0
        while start < bytes.count {
            var end = start
            while end < bytes.count, Hex.value(of: bytes[end]) <= 15 { end += 1 }
            if end - start > Self.digitCountMax {
                shown.append(copying: bytes.extracting(start..<start + Self.digitsShown))
                shown += "…(\(end - start) digits)".utf8
            } else {
                // The character that ends the run is copied, too, unless the text ends there.
                end = min(end + 1, bytes.count)
                shown.append(copying: bytes.extracting(start..<end))
            }
            start = end
        }
        return shown
    }

    /// Whether `shortened` would cut something.
    public static func holdsToken(_ bytes: [UInt8]) -> Bool { Self.hasLongRun(bytes) }

    private static func hasLongRun(_ bytes: some Sequence<UInt8>) -> Bool {
        var count = 0
        for byte in bytes {
            count = Hex.value(of: byte) <= 15 ? count + 1 : 0
            if count > Self.digitCountMax { return true }
        }
        return false
    }
}
