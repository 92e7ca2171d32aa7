/// The byte order mark that some editors write at the start of a text. JSON does not allow it (RFC 8259 §8.1), and
/// Mailboat's settings and properties do not either.
public enum ByteOrderMark {
    /// The mark of UTF-8.
    public static let utf8: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The complaint about a text that begins with a mark, completing "the file …".
    public static let complaint = "begins with a byte order mark: expected UTF-8 without one"

    /// Whether the mark of UTF-8 or of UTF-16 is at `index`. Valid JSON and settings never begin with these bytes.
    public static func stands(in bytes: Span<UInt8>, at index: Int) -> Bool {
        switch (bytes.byte(orZeroAt: index), bytes.byte(orZeroAt: index + 1), bytes.byte(orZeroAt: index + 2)) {
        case (0xEF, 0xBB, 0xBF), (0xFE, 0xFF, _), (0xFF, 0xFE, _): true
        default: false
        }
    }
}
