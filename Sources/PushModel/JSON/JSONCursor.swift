/// What a JSON value is, told by its first byte.
public enum JSONKind: Equatable, Sendable {
    case object, array, string, number, bool, null
}

/// A JSON string as it lies in its buffer.
public struct JSONString: Equatable, Sendable {
    /// What stands between the quotes.
    public var content: ByteRange
    /// Whether a backslash occurs in it; without one the content is the text.
    public var hasEscapes: Bool

    /// As `JSONCursor` found it.
    @inlinable public init(content: ByteRange, hasEscapes: Bool) {
        self.content = content
        self.hasEscapes = hasEscapes
    }

    /// The string with its quotes.
    @inlinable public var withQuotes: ByteRange {
        ByteRange(start: Int(self.content.start) - 1, count: Int(self.content.count) + 2)
    }
}

/// A JSON number as it lies in its buffer.
public struct JSONNumber: Equatable, Sendable {
    /// As it is written.
    public var spelling: ByteRange
    /// It has neither fraction nor exponent.
    public var isWhole: Bool
}

/// Walks once through JSON text (RFC 8259), value by value, and checks every byte it passes: brackets, commas, number spelling, escapes,
/// surrogate pairs, UTF-8, depth. It keeps nothing but its place. The buffer comes with each call and must be the same each time.
///
/// A value is read either whole (`skipValue`) or piece by piece (`openObject`, then `nextName` and a value in turn until `nil`).
public struct JSONCursor: Sendable {
    /// How many objects and arrays may lie inside each other.
    public static let depthMax = 64

    /// The index of the next byte to read.
    public private(set) var index = 0
    /// Containers opened with `openObject` and not yet closed.
    private var depth = 0

    /// At the first byte.
    public init() {}

    // MARK: Looking

    /// Passes white space and tells what begins here. Throws when no value does.
    public mutating func peekKind(_ bytes: Span<UInt8>) throws(JSONFault) -> JSONKind {
        switch self.nextSignificant(bytes) {
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        default: throw self.fault(.expectedValue, bytes)
        }
    }

    /// Throws unless only white space is left.
    public mutating func expectEnd(_ bytes: Span<UInt8>) throws(JSONFault) {
        _ = self.nextSignificant(bytes)
        if self.index < bytes.count { throw JSONFault(.trailingBytes, at: self.index) }
    }

    // MARK: Objects, member by member

    /// Enters an object.
    public mutating func openObject(_ bytes: Span<UInt8>) throws(JSONFault) {
        guard self.nextSignificant(bytes) == UInt8(ascii: "{") else { throw self.fault(.expectedObject, bytes) }
        guard self.depth < Self.depthMax else { throw JSONFault(.tooDeep, at: self.index) }
        self.depth += 1
        self.index += 1
    }

    /// Passes to the next member of the object entered last: over the comma, the name and the colon. `nil` at its end, which leaves the
    /// object. `isFirst` says that no member of it was read yet.
    public mutating func nextName(_ bytes: Span<UInt8>, isFirst: Bool) throws(JSONFault) -> JSONString? {
        let byte = self.nextSignificant(bytes)
        if byte == UInt8(ascii: "}") {
            self.index += 1
            self.depth -= 1
            return nil
        }
        if !isFirst {
            guard byte == UInt8(ascii: ",") else { throw self.fault(.expectedCommaOrEnd, bytes) }
            self.index += 1
        }
        return try self.name(bytes, isFirst: isFirst)
    }

    /// Passes to the next element of an array: over the opening bracket (`isFirst`) or the comma. `false` at its end, which is passed.
    /// Only strings, numbers and literals may be read as elements this way: the array does not count towards the depth.
    public mutating func nextElement(_ bytes: Span<UInt8>, isFirst: Bool) throws(JSONFault) -> Bool {
        let byte = self.nextSignificant(bytes)
        if isFirst {
            guard byte == UInt8(ascii: "[") else { throw self.fault(.expectedValue, bytes) }
            self.index += 1
            guard self.nextSignificant(bytes) == UInt8(ascii: "]") else { return true }
        } else if byte == UInt8(ascii: ",") {
            self.index += 1
            return true
        } else if byte != UInt8(ascii: "]") {
            throw self.fault(.expectedCommaOrEnd, bytes)
        }
        self.index += 1
        return false
    }

    // MARK: Values

    /// Reads a string.
    public mutating func string(_ bytes: Span<UInt8>) throws(JSONFault) -> JSONString {
        guard self.nextSignificant(bytes) == UInt8(ascii: "\"") else { throw self.fault(.expectedString, bytes) }
        return try self.stringBody(bytes)
    }

    /// Reads a number.
    public mutating func number(_ bytes: Span<UInt8>) throws(JSONFault) -> JSONNumber {
        _ = self.nextSignificant(bytes)
        let start = self.index
        let isWhole = try self.numberBody(bytes)
        return JSONNumber(spelling: ByteRange(start: start, count: self.index - start), isWhole: isWhole)
    }

    /// Reads any value, whatever is nested in it, and answers where it lies.
    public mutating func skipValue(_ bytes: Span<UInt8>) throws(JSONFault) -> ByteRange {
        _ = self.nextSignificant(bytes)
        let start = self.index
        // One bit per container opened here, the innermost last: 1 for an object. `depthMax` bits suffice.
        var (openCount, objects) = (0, UInt64(0))
        while true {
            var isComplete = true
            switch self.nextSignificant(bytes) {
            case UInt8(ascii: "\""): _ = try self.stringBody(bytes)
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try self.numberBody(bytes)
            case UInt8(ascii: "{"):
                guard self.depth + openCount < Self.depthMax else { throw JSONFault(.tooDeep, at: self.index) }
                (openCount, objects) = (openCount + 1, objects << 1 | 1)
                self.index += 1
                isComplete = self.nextSignificant(bytes) == UInt8(ascii: "}")
                if !isComplete { _ = try self.name(bytes, isFirst: true) }
            case UInt8(ascii: "["):
                guard self.depth + openCount < Self.depthMax else { throw JSONFault(.tooDeep, at: self.index) }
                (openCount, objects) = (openCount + 1, objects << 1)
                self.index += 1
                isComplete = self.nextSignificant(bytes) == UInt8(ascii: "]")
            case UInt8(ascii: "t"): try self.literal("true", bytes)
            case UInt8(ascii: "f"): try self.literal("false", bytes)
            case UInt8(ascii: "n"): try self.literal("null", bytes)
            default: throw self.fault(.expectedValue, bytes)
            }
            // After a value: close what ends here, or pass the comma to the next one.
            while isComplete {
                guard openCount > 0 else { return ByteRange(start: start, count: self.index - start) }
                let isObject = objects & 1 == 1
                switch self.nextSignificant(bytes) {
                case UInt8(ascii: ","):
                    self.index += 1
                    if isObject { _ = try self.name(bytes, isFirst: false) }
                    isComplete = false
                case UInt8(ascii: "}") where isObject, UInt8(ascii: "]") where !isObject:
                    self.index += 1
                    (openCount, objects) = (openCount - 1, objects >> 1)
                default: throw self.fault(.expectedCommaOrEnd, bytes)
                }
            }
        }
    }

    // MARK: Pieces

    /// Passes white space. The byte there, not consumed; 0, which JSON has nowhere outside strings, at the end.
    private mutating func nextSignificant(_ bytes: Span<UInt8>) -> UInt8 {
        // Mostly there is none.
        if self.index < bytes.count, bytes[self.index] > 0x20 { return bytes[self.index] }
        while self.index < bytes.count {
            let byte = bytes[self.index]
            switch byte {
            case 0x20, 0x0A, 0x0D, 0x09: self.index += 1
            default: return byte
            }
        }
        return 0
    }

    private func fault(_ kind: JSONFault.Kind, _ bytes: Span<UInt8>) -> JSONFault {
        JSONFault(self.index < bytes.count ? kind : .unexpectedEnd, at: self.index)
    }

    private mutating func name(_ bytes: Span<UInt8>, isFirst: Bool) throws(JSONFault) -> JSONString {
        guard self.nextSignificant(bytes) == UInt8(ascii: "\"") else {
            throw self.fault(isFirst ? .expectedNameOrEnd : .expectedName, bytes)
        }
        let name = try self.stringBody(bytes)
        guard self.nextSignificant(bytes) == UInt8(ascii: ":") else { throw self.fault(.expectedColon, bytes) }
        self.index += 1
        return name
    }

    private mutating func literal(_ text: StaticString, _ bytes: Span<UInt8>) throws(JSONFault) {
        guard bytes.spells(text, at: self.index) else { throw JSONFault(.expectedValue, at: self.index) }
        self.index += text.utf8CodeUnitCount
    }

    /// `-? (0 | 1-9 digit*) (. digit+)? ([eE] [+-]? digit+)?` (RFC 8259 §6). Answers whether only the first two parts are there.
    private mutating func numberBody(_ bytes: Span<UInt8>) throws(JSONFault) -> Bool {
        if self.byte(bytes) == UInt8(ascii: "-") { self.index += 1 }
        if self.byte(bytes) == UInt8(ascii: "0") {
            self.index += 1
            if Self.isDigit(self.byte(bytes)) { throw JSONFault(.malformedNumber, at: self.index) }
        } else {
            try self.digits(bytes)
        }
        var isWhole = true
        if self.byte(bytes) == UInt8(ascii: ".") {
            isWhole = false
            self.index += 1
            try self.digits(bytes)
        }
        if self.byte(bytes) | 0x20 == UInt8(ascii: "e") {
            isWhole = false
            self.index += 1
            if self.byte(bytes) == UInt8(ascii: "+") || self.byte(bytes) == UInt8(ascii: "-") { self.index += 1 }
            try self.digits(bytes)
        }
        return isWhole
    }

    /// One digit or more.
    private mutating func digits(_ bytes: Span<UInt8>) throws(JSONFault) {
        guard Self.isDigit(self.byte(bytes)) else { throw self.fault(.malformedNumber, bytes) }
        repeat { self.index += 1 } while Self.isDigit(self.byte(bytes))
    }

    private func byte(_ bytes: Span<UInt8>) -> UInt8 { self.index < bytes.count ? bytes[self.index] : 0 }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    /// From the opening quote to past the closing one.
    private mutating func stringBody(_ bytes: Span<UInt8>) throws(JSONFault) -> JSONString {
        let start = self.index + 1
        var index = start
        var hasEscapes = false
        while true {
            index = bytes.endOfPlainRun(from: index)
            guard index < bytes.count else { throw JSONFault(.unexpectedEnd, at: index) }
            switch bytes[index] {
            case UInt8(ascii: "\""):
                self.index = index + 1
                return JSONString(content: ByteRange(start: start, count: index - start), hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                index = try JSONEscape.end(in: bytes, at: index)
            case 0x00..<0x20:
                throw JSONFault(.controlCharacter, at: index)
            default:
                let byteCount = UTF8Validation.sequenceByteCount(in: bytes, at: index)
                guard byteCount > 0 else { throw JSONFault(.malformedUTF8, at: index) }
                index += byteCount
            }
        }
    }
}
