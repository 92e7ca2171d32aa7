/// Walks over JSON (RFC 8259) without building anything. Each function checks one piece, moves the position past it,
/// and throws where it is not JSON.
///
/// It is deliberately an implementation of its own. It shares nothing with the code that writes payloads, because it
/// judges that code.
enum JSONScan {
    /// What was expected, and at which byte.
    struct Fault: Error {
        var offset: Int
        var expected: String
    }

    enum Kind { case object, array, string, number, bool, null }

    /// Maximum number of nested containers; the open ones are the bits of one word.
    static let depthMax = 64

    static func skipSpace(_ bytes: Span<UInt8>, _ at: inout Int) {
        while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x0A || bytes[at] == 0x0D || bytes[at] == 0x09 {
            at += 1
        }
    }

    static func peek(_ bytes: Span<UInt8>, _ at: Int) -> UInt8 { at < bytes.count ? bytes[at] : 0 }

    static func expect(_ byte: UInt8, _ bytes: Span<UInt8>, _ at: inout Int) throws(Fault) {
        guard Self.peek(bytes, at) == byte else {
            throw Fault(offset: at, expected: "'\(Character(Unicode.Scalar(byte)))'")
        }
        at += 1
    }

    /// Passes one value of any kind, and returns its kind. The value's bytes lie between the former and the new `at`.
    static func value(_ bytes: Span<UInt8>, _ at: inout Int) throws(Fault) -> Kind {
        switch Self.peek(bytes, at) {
        case UInt8(ascii: "{"):
            try Self.container(bytes, &at)
            return .object
        case UInt8(ascii: "["):
            try Self.container(bytes, &at)
            return .array
        default:
            return try Self.scalar(bytes, &at)
        }
    }

    /// Passes a string, quotes included.
    static func string(_ bytes: Span<UInt8>, _ at: inout Int) throws(Fault) {
        try Self.expect(UInt8(ascii: "\""), bytes, &at)
        while at < bytes.count {
            let byte = bytes[at]
            switch byte {
            case UInt8(ascii: "\""):
                at += 1
                return
            case UInt8(ascii: "\\"):
                try Self.escape(bytes, &at)
            case 0x20..<0x80:
                at += 1
            case 0x80...:
                try Self.multibyte(bytes, &at)
            default:
                throw Fault(offset: at, expected: "an escaped control character")
            }
        }
        throw Fault(offset: at, expected: "the end of a string")
    }

    private static func scalar(_ bytes: Span<UInt8>, _ at: inout Int) throws(Fault) -> Kind {
        switch Self.peek(bytes, at) {
        case UInt8(ascii: "\""):
            try Self.string(bytes, &at)
            return .string
        case UInt8(ascii: "t"):
            try Self.literal("true", bytes, &at)
            return .bool
        case UInt8(ascii: "f"):
            try Self.literal("false", bytes, &at)
            return .bool
        case UInt8(ascii: "n"):
            try Self.literal("null", bytes, &at)
            return .null
        default:
            try Self.number(bytes, &at)
            return .number
        }
    }

    /// Passes an object or array with all its content. There is no recursion, so depth costs no stack.
    private static func container(_ bytes: Span<UInt8>, _ at: inout Int) throws(Fault) {
        var depth = 0
        var isObject: UInt64 = 0
        while true {
            // A value begins here.
            let opening = Self.peek(bytes, at)
            var closed = true
            if opening == UInt8(ascii: "{") || opening == UInt8(ascii: "[") {
                guard depth < Self.depthMax else {
                    throw Fault(offset: at, expected: "at most \(Self.depthMax) levels")
                }
                isObject = isObject << 1 | (opening == UInt8(ascii: "{") ? 1 : 0)
                depth += 1
                at += 1
                Self.skipSpace(bytes, &at)
                closed = Self.peek(bytes, at) == (isObject & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]"))
                if !closed, isObject & 1 == 1 { try Self.memberName(bytes, &at) }
            } else {
                _ = try Self.scalar(bytes, &at)
            }
            guard closed else { continue }
            // After a value, or before the end of an empty container: close the containers that end here, then go to
            // the next value.
            while true {
                Self.skipSpace(bytes, &at)
                let byte = Self.peek(bytes, at)
                if byte == UInt8(ascii: ",") {
                    at += 1
                    Self.skipSpace(bytes, &at)
                    if isObject & 1 == 1 { try Self.memberName(bytes, &at) }
                    break
                }
                guard byte == (isObject & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw Fault(offset: at, expected: isObject & 1 == 1 ? "',' or '}'" : "',' or ']'")
                }
                at += 1
                depth -= 1
                isObject >>= 1
                if depth == 0 { return }
            }
        }
    }

    private static func memberName(_ bytes: Span<UInt8>, _ at: inout Int) throws(Fault) {
        try Self.string(bytes, &at)
        Self.skipSpace(bytes, &at)
        try Self.expect(UInt8(ascii: ":"), bytes, &at)
        Self.skipSpace(bytes, &at)
    }

    private static func literal(_ text: StaticString, _ bytes: Span<UInt8>, _ at: inout Int) throws(Fault) {
        let start = at
        for index in 0..<text.utf8CodeUnitCount {
            // Safe: a literal's bytes live as long as the program, and the index is below their count.
            guard unsafe Self.peek(bytes, at) == text.utf8Start[index] else {
                throw Fault(offset: start, expected: "a value")
            }
            at += 1
        }
    }

    private static func number(_ bytes: Span<UInt8>, _ at: inout Int) throws(Fault) {
        let start = at
        if Self.peek(bytes, at) == UInt8(ascii: "-") { at += 1 }
        if Self.peek(bytes, at) == UInt8(ascii: "0") {
            at += 1
        } else if !Self.digits(bytes, &at) {
            throw Fault(offset: start, expected: "a value")
        }
        if Self.peek(bytes, at) == UInt8(ascii: ".") {
            at += 1
            guard Self.digits(bytes, &at) else { throw Fault(offset: at, expected: "a digit") }
        }
        if Self.peek(bytes, at) | 0x20 == UInt8(ascii: "e") {
            at += 1
            if Self.peek(bytes, at) == UInt8(ascii: "+") || Self.peek(bytes, at) == UInt8(ascii: "-") { at += 1 }
            guard Self.digits(bytes, &at) else { throw Fault(offset: at, expected: "a digit") }
        }
    }

    private static func digits(_ bytes: Span<UInt8>, _ at: inout Int) -> Bool {
        let start = at
        while at < bytes.count, Self.isDigit(bytes[at]) { at += 1 }
        return at > start
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    private static func escape(_ bytes: Span<UInt8>, _ at: inout Int) throws(Fault) {
        at += 1
        switch Self.peek(bytes, at) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            at += 1
        case UInt8(ascii: "u"):
            at += 1
            for _ in 0..<4 {
                let byte = Self.peek(bytes, at)
                guard Self.isDigit(byte) || (byte | 0x20) &- 0x61 < 6 else {
                    throw Fault(offset: at, expected: "four hexadecimal digits after \\u")
                }
                at += 1
            }
        default:
            throw Fault(offset: at, expected: "an escape of JSON")
        }
    }

    /// Passes one character of two to four bytes: shortest form, no surrogates, at most U+10FFFF (RFC 3629 §4).
    private static func multibyte(_ bytes: Span<UInt8>, _ at: inout Int) throws(Fault) {
        let lead = bytes[at]
        let second = Self.peek(bytes, at + 1)
        let secondRange: ClosedRange<UInt8>
        let length: Int
        switch lead {
        case 0xC2...0xDF: (length, secondRange) = (2, 0x80...0xBF)
        case 0xE0: (length, secondRange) = (3, 0xA0...0xBF)
        case 0xED: (length, secondRange) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, secondRange) = (3, 0x80...0xBF)
        case 0xF0: (length, secondRange) = (4, 0x90...0xBF)
        case 0xF4: (length, secondRange) = (4, 0x80...0x8F)
        case 0xF1...0xF3: (length, secondRange) = (4, 0x80...0xBF)
        default: throw Fault(offset: at, expected: "UTF-8")
        }
        guard secondRange.contains(second) else { throw Fault(offset: at, expected: "UTF-8") }
        for further in 2..<max(length, 2) where Self.peek(bytes, at + further) & 0xC0 != 0x80 {
            throw Fault(offset: at, expected: "UTF-8")
        }
        at += length
    }
}
