/// Escapes inside JSON strings (RFC 8259 §7).
public enum JSONEscape {
    /// Appends the text of a string that `JSONCursor` has passed, with its escapes resolved, as UTF-8.
    public static func appendText(of string: JSONString, in bytes: Span<UInt8>, to target: inout [UInt8]) {
        let end = Int(string.content.start) + Int(string.content.count)
        var index = Int(string.content.start)
        guard string.hasEscapes else { return target.append(copying: bytes.extracting(index..<end)) }
        while index < end {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "\\") else {
                target.append(byte)
                index += 1
                continue
            }
            switch bytes[index + 1] {
            case UInt8(ascii: "b"): target.append(0x08)
            case UInt8(ascii: "f"): target.append(0x0C)
            case UInt8(ascii: "n"): target.append(0x0A)
            case UInt8(ascii: "r"): target.append(0x0D)
            case UInt8(ascii: "t"): target.append(0x09)
            case UInt8(ascii: "u"):
                var scalar = Self.codeUnit(in: bytes, at: index + 2) ?? 0xFFFD
                index += 6
                if (0xD800...0xDBFF).contains(scalar) {
                    // The cursor has checked that the second half of the pair follows.
                    scalar =
                        0x10000 + (scalar - 0xD800) << 10
                        + ((Self.codeUnit(in: bytes, at: index + 2) ?? 0xDC00) - 0xDC00)
                    index += 6
                }
                Self.append(scalar: scalar, to: &target)
                continue
            default: target.append(bytes[index + 1])  // The quote, the backslash and the slash stand for themselves.
            }
            index += 2
        }
    }

    /// The text of a string that `JSONCursor` has passed, as UTF-8, in a new array.
    public static func text(of string: JSONString, in bytes: Span<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        Self.appendText(of: string, in: bytes, to: &text)
        return text
    }

    /// The index after the escape that begins with the backslash at `index`. A surrogate pair counts as one escape.
    static func end(in bytes: Span<UInt8>, at index: Int) throws(JSONFault) -> Int {
        guard index + 1 < bytes.count else { throw JSONFault(.unexpectedEnd, at: bytes.count) }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            return index + 2
        case UInt8(ascii: "u"):
            guard let first = Self.codeUnit(in: bytes, at: index + 2) else {
                throw JSONFault(.malformedEscape, at: index)
            }
            switch first {
            case 0xD800...0xDBFF:
                guard bytes.spells("\\u", at: index + 6), let second = Self.codeUnit(in: bytes, at: index + 8),
                    (0xDC00...0xDFFF).contains(second)
                else { throw JSONFault(.loneSurrogate, at: index) }
                return index + 12
            case 0xDC00...0xDFFF: throw JSONFault(.loneSurrogate, at: index)
            default: return index + 6
            }
        default: throw JSONFault(.malformedEscape, at: index)
        }
    }

    /// Number of bytes by which a piece of JSON would be shorter if its `\u` escapes were written in UTF-8. Escapes
    /// that JSON requires are not counted.
    static func sparedByteCount(in json: Span<UInt8>) -> Int {
        var sparedByteCount = 0
        var index = 0
        while index < json.count {
            guard json[index] == UInt8(ascii: "\\") else {
                index += 1
                continue
            }
            guard json.spells("\\u", at: index), let unit = Self.codeUnit(in: json, at: index + 2) else {
                index += 2
                continue
            }
            index += 6
            switch unit {
            case ..<0x20, 0x22, 0x5C: break
            case ..<0x80: sparedByteCount += 5
            case ..<0x800: sparedByteCount += 4
            case 0xD800...0xDBFF:
                // A surrogate pair has twelve bytes as escapes, and four in UTF-8.
                sparedByteCount += 8
                index += 6
            default: sparedByteCount += 3
            }
        }
        return sparedByteCount
    }

    /// The UTF-16 code unit of the four hexadecimal digits at `index`.
    private static func codeUnit(in bytes: Span<UInt8>, at index: Int) -> UInt32? {
        guard bytes.count - index >= 4 else { return nil }
        var unit: UInt32 = 0
        for offset in 0..<4 {
            let value = Hex.value(of: bytes[index + offset])
            guard value < 16 else { return nil }
            unit = unit << 4 | UInt32(value)
        }
        return unit
    }

    /// Appends `scalar` as UTF-8. It must not be a surrogate, and is at most U+10FFFF.
    private static func append(scalar: UInt32, to target: inout [UInt8]) {
        func tail(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: scalar >> shift & 0x3F | 0x80) }
        switch scalar {
        case ..<0x80: target.append(UInt8(truncatingIfNeeded: scalar))
        case ..<0x800: target += [UInt8(truncatingIfNeeded: scalar >> 6 | 0xC0), tail(0)]
        case ..<0x10000: target += [UInt8(truncatingIfNeeded: scalar >> 12 | 0xE0), tail(6), tail(0)]
        default: target += [UInt8(truncatingIfNeeded: scalar >> 18 | 0xF0), tail(12), tail(6), tail(0)]
        }
    }
}
