/// What a JSON value is, told by its first byte.
public enum JSONKind: Equatable, Sendable {
    /// Told by `{`, `[`, `"`, a digit or `-`, `t` or `f`, and `n`.
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
    public internal(set) var index = 0
    /// Containers opened with `openObject` and not yet closed.
    private var depth = 0

    /// At the first byte.
    public init() {}

    // MARK: Looking

    /// Passes white space and tells what begins here. Throws when no value does.
    @inline(__always) public mutating func peekKind(_ bytes: Span<UInt8>) throws(JSONFault) -> JSONKind {
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

    /// Passes white space. The byte there; 0, which JSON has nowhere outside strings, at the end.
    @inline(__always) mutating func significantByte(_ bytes: Span<UInt8>) -> UInt8 { self.nextSignificant(bytes) }

    /// Throws unless only white space is left.
    public mutating func expectEnd(_ bytes: Span<UInt8>) throws(JSONFault) {
        _ = self.nextSignificant(bytes)
        if self.index < bytes.count { throw JSONFault(.trailingBytes, at: self.index) }
    }

    // MARK: Objects, member by member

    /// Enters an object.
    @inline(__always) public mutating func openObject(_ bytes: Span<UInt8>) throws(JSONFault) {
        guard self.nextSignificant(bytes) == UInt8(ascii: "{") else { throw self.fault(.expectedObject, bytes) }
        guard self.depth < Self.depthMax else { throw JSONFault(.tooDeep, at: self.index) }
        self.depth &+= 1
        self.index &+= 1
    }

    /// Passes to the next member of the object entered last: over the comma, the name and the colon. `nil` at its end, which leaves the
    /// object. `isFirst` says that no member of it was read yet.
    @inline(__always) public mutating func nextName(_ bytes: Span<UInt8>, isFirst: Bool) throws(JSONFault)
        -> JSONString?
    {
        let byte = self.nextSignificant(bytes)
        if byte == UInt8(ascii: "}") {
            self.index &+= 1
            self.depth &-= 1
            return nil
        }
        if !isFirst {
            guard byte == UInt8(ascii: ",") else { throw self.fault(.expectedCommaOrEnd, bytes) }
            self.index &+= 1
        }
        guard self.nextSignificant(bytes) == UInt8(ascii: "\"") else {
            throw self.fault(isFirst ? .expectedNameOrEnd : .expectedName, bytes)
        }
        let name = try self.stringBody(bytes)
        guard self.nextSignificant(bytes) == UInt8(ascii: ":") else { throw self.fault(.expectedColon, bytes) }
        self.index &+= 1
        return name
    }

    /// Where the next member's name begins, past its quote; `nil` when there is none. Nothing is passed: `nextName` can still be called.
    @inline(__always) func memberStart(_ bytes: Span<UInt8>, isFirst: Bool) -> Int? {
        var index = self.index
        if !isFirst {
            guard JSONGrammar.significant(bytes, &index) == UInt8(ascii: ",") else { return nil }
            index &+= 1
        }
        guard JSONGrammar.significant(bytes, &index) == UInt8(ascii: "\"") else { return nil }
        return index &+ 1
    }

    /// Passes to the next element of an array: over the opening bracket (`isFirst`) or the comma. `false` at its end, which is passed.
    /// Only strings, numbers and literals may be read as elements this way: the array does not count towards the depth.
    public mutating func nextElement(_ bytes: Span<UInt8>, isFirst: Bool) throws(JSONFault) -> Bool {
        let byte = self.nextSignificant(bytes)
        if isFirst {
            guard byte == UInt8(ascii: "[") else { throw self.fault(.expectedValue, bytes) }
            self.index &+= 1
            guard self.nextSignificant(bytes) == UInt8(ascii: "]") else { return true }
        } else if byte == UInt8(ascii: ",") {
            self.index &+= 1
            return true
        } else if byte != UInt8(ascii: "]") {
            throw self.fault(.expectedCommaOrEnd, bytes)
        }
        self.index &+= 1
        return false
    }

    // MARK: Values

    /// Reads a string.
    @inline(__always) public mutating func string(_ bytes: Span<UInt8>) throws(JSONFault) -> JSONString {
        guard self.nextSignificant(bytes) == UInt8(ascii: "\"") else { throw self.fault(.expectedString, bytes) }
        return try self.stringBody(bytes)
    }

    /// Reads a number.
    @inline(__always) public mutating func number(_ bytes: Span<UInt8>) throws(JSONFault) -> JSONNumber {
        _ = self.nextSignificant(bytes)
        let start = self.index
        let (end, isWhole) = try JSONGrammar.numberEnd(bytes, start)
        self.index = end
        return JSONNumber(spelling: ByteRange(start: start, count: end &- start), isWhole: isWhole)
    }

    /// Reads any value, whatever is nested in it, and answers where it lies.
    public mutating func skipValue(_ bytes: Span<UInt8>) throws(JSONFault) -> ByteRange {
        _ = self.nextSignificant(bytes)
        let start = self.index
        self.index = try JSONWalk.valueEnd(bytes, start, openCountMax: Self.depthMax - self.depth)
        return ByteRange(start: start, count: self.index &- start)
    }

    // MARK: Pieces

    /// Passes white space. The byte there, not consumed; 0 at the end.
    @inline(__always) private mutating func nextSignificant(_ bytes: Span<UInt8>) -> UInt8 {
        JSONGrammar.significant(bytes, &self.index)
    }

    private func fault(_ kind: JSONFault.Kind, _ bytes: Span<UInt8>) -> JSONFault {
        JSONGrammar.fault(kind, bytes, self.index)
    }

    /// From the opening quote to past the closing one.
    @inline(__always) private mutating func stringBody(_ bytes: Span<UInt8>) throws(JSONFault) -> JSONString {
        let start = self.index &+ 1
        var (end, hasEscapes) = (bytes.endOfPlainRun(from: start), false)
        if bytes.byte(orZeroAt: end) == UInt8(ascii: "\"") {
            end &+= 1
        } else {
            (end, hasEscapes) = try JSONGrammar.richStringEnd(bytes, end)
        }
        self.index = end
        return JSONString(content: ByteRange(start: start, count: end &- 1 &- start), hasEscapes: hasEscapes)
    }
}
