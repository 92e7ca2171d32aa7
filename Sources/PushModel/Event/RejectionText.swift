/// The wording of rejections: what was given, shortened and printable, then what was expected.
enum RejectionText {
    /// How many bytes of a value are shown.
    static let quotedByteCountMax = 40

    /// Bytes of an event for a person to read: cut after `quotedByteCountMax` bytes, at a character, control characters replaced.
    static func quoted(_ bytes: Span<UInt8>) -> String {
        var shown: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let byteCount = max(1, UTF8Validation.sequenceByteCount(in: bytes, at: index))
            if index + byteCount > Self.quotedByteCountMax {
                shown.append(utf8: "…")
                break
            }
            if bytes[index] < 0x20 || bytes[index] == 0x7F {
                shown.append(UInt8(ascii: " "))
            } else {
                shown.append(copying: bytes.extracting(index..<(index + byteCount)))
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
