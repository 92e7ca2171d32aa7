/// Characters that have an effect on a terminal, or on a reader of logs, instead of being shown.
public enum ControlCharacter {
    /// Whether a scalar is a control character (C0, DEL, C1) or a separator of lines or paragraphs. Characters that
    /// change the direction of text count, too: marks, embeddings, overrides and isolates (UAX 9 §2).
    public static func contains(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// Whether bytes begin with a control character in UTF-8. The bytes need not be well-formed.
    static func begins(_ bytes: Span<UInt8>) -> Bool {
        var iterator = Array(bytes.indices.prefix(4).map { bytes[$0] }).makeIterator()
        var decoder = UTF8()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return false }
        return Self.contains(scalar)
    }
}
