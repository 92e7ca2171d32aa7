/// The wording of rejections: the given value, shortened and printable, then what was expected.
public enum RejectionText {
    /// Maximum number of bytes of a value that are shown.
    public static let quotedByteCountMax = 40

    /// Bytes of an event as text for a person. Anything like a token is shortened, and control characters are replaced.
    /// The text is cut after a whole character at `byteCountMax` bytes.
    public static func quoted(_ value: Span<UInt8>, byteCountMax: Int = Self.quotedByteCountMax) -> String {
        // Shortening may remove most of a token, so it gets more bytes than are shown.
        let shortened = TokenText.shortened(value.extracting(first: 16 * byteCountMax))
        let bytes = shortened.span
        var shown: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let byteCount = max(1, UTF8Validation.sequenceByteCount(in: bytes, at: index))
            if index + byteCount > byteCountMax {
                shown.append(utf8: "…")
                break
            }
            let character = bytes.extracting(index..<(index + byteCount))
            if ControlCharacter.begins(character) {
                shown.append(UInt8(ascii: " "))
            } else {
                shown.append(copying: character)
            }
            index += byteCount
        }
        return String(decoding: shown, as: UTF8.self)
    }

    static func list(_ names: [StaticString]) -> String {
        let quoted = names.map { "“\($0)”" }
        guard let last = quoted.last, quoted.count > 1 else { return quoted.first ?? "" }
        return quoted.dropLast().joined(separator: ", ") + " or " + last
    }
}
