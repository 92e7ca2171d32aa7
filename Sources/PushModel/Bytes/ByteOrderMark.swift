/// The mark that some editors put in front of a text. JSON has none (RFC 8259 §8.1), and neither have settings or properties.
public enum ByteOrderMark {
    /// That of UTF-8.
    public static let utf8: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// What is wrong with a text that begins with one, completing "the file …".
    public static let complaint = "begins with a byte order mark: expected UTF-8 without one"

    /// Whether one of UTF-8 or of UTF-16 stands there. None of these bytes begins a text that is meant.
    public static func stands(in bytes: Span<UInt8>, at index: Int) -> Bool {
        switch (bytes.byte(orZeroAt: index), bytes.byte(orZeroAt: index + 1), bytes.byte(orZeroAt: index + 2)) {
        case (0xEF, 0xBB, 0xBF), (0xFE, 0xFF, _), (0xFF, 0xFE, _): true
        default: false
        }
    }
}
