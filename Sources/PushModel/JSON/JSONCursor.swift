/// The kind of a JSON value. The value's first byte shows it.
public enum JSONKind: Equatable, Sendable {
    /// The kinds that begin with `{`, `[`, `"`, a digit or `-`, `t` or `f`, and `n`.
    case object, array, string, number, bool, null
}

/// A JSON string, by its range in the buffer.
public struct JSONString: Equatable, Sendable {
    /// The bytes between the quotes.
    public var content: ByteRange
    /// Whether the content has a backslash. If not, the content is the text itself.
    public var hasEscapes: Bool

    /// A string that `JSONCursor` has found.
    @inlinable public init(content: ByteRange, hasEscapes: Bool) {
        self.content = content
        self.hasEscapes = hasEscapes
    }

    /// The string with its quotes.
    @inlinable public var withQuotes: ByteRange {
        ByteRange(start: Int(self.content.start) - 1, count: Int(self.content.count) + 2)
    }
}

/// A JSON number, by its range in the buffer.
public struct JSONNumber: Equatable, Sendable {
    /// The number's bytes.
    public var spelling: ByteRange
    /// Whether the number has neither fraction nor exponent.
    public var isWhole: Bool
}

/// Walks once through JSON text (RFC 8259), value by value. It checks every byte that it passes: brackets, commas, the
/// spelling of numbers, escapes, surrogate pairs, UTF-8 and depth. It stores only its position. The caller passes the
/// buffer with each call, and must always pass the same one.
///
/// A value is read either whole (`skipValue`) or in pieces: `openObject`, then `nextName` and a value in turn, until
/// `nextName` returns `nil`.
public struct JSONCursor: Sendable {
    /// Number of objects and arrays that may be nested in each other.
    public static let depthMax = 64

    /// The index of the next byte to read.
    public internal(set) var index = 0
    /// Number of objects that `openObject` has entered and that have not ended.
    private var depth = 0

    /// A cursor at the first byte.
    public init() {}

    // MARK: Looking

    /// Passes white space, and returns the kind of the next value. Throws if no value begins here.
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

    /// Passes white space, and returns the next byte without passing it; 0 at the end. JSON has no 0 outside strings.
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

    /// Passes the comma, the name and the colon of the next member, in the object that was entered last. At the
    /// object's end, leaves the object and returns `nil`. `isFirst` says whether no member of the object has been read
    /// yet.
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

    /// The index of the next member's name, after its opening quote; `nil` if there is no next member. Nothing is
    /// passed, so `nextName` can still be called.
    @inline(__always) func memberStart(_ bytes: Span<UInt8>, isFirst: Bool) -> Int? {
        var index = self.index
        if !isFirst {
            guard JSONGrammar.significant(bytes, &index) == UInt8(ascii: ",") else { return nil }
            index &+= 1
        }
        guard JSONGrammar.significant(bytes, &index) == UInt8(ascii: "\"") else { return nil }
        return index &+ 1
    }

    /// Passes an array's opening bracket (`isFirst`), or the comma before its next element. At the array's end, passes
    /// the closing bracket and returns `false`. Elements must be strings, numbers or literals, because the array is not
    /// counted in the depth.
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

    /// Passes any value, with everything nested in it, and returns its range.
    public mutating func skipValue(_ bytes: Span<UInt8>) throws(JSONFault) -> ByteRange {
        _ = self.nextSignificant(bytes)
        let start = self.index
        self.index = try JSONWalk.valueEnd(bytes, start, openCountMax: Self.depthMax - self.depth)
        return ByteRange(start: start, count: self.index &- start)
    }

    // MARK: Pieces

    /// Passes white space, and returns the next byte without passing it; 0 at the end.
    @inline(__always) private mutating func nextSignificant(_ bytes: Span<UInt8>) -> UInt8 {
        JSONGrammar.significant(bytes, &self.index)
    }

    private func fault(_ kind: JSONFault.Kind, _ bytes: Span<UInt8>) -> JSONFault {
        JSONGrammar.fault(kind, bytes, self.index)
    }

    /// Passes a string, from its opening quote to its closing quote.
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
