/// Where and why bytes are not JSON (RFC 8259).
public struct JSONFault: Error, Equatable, Sendable {
    /// What is wrong.
    public enum Kind: Equatable, Sendable {
        /// The bytes end inside a value.
        case unexpectedEnd
        /// Another byte is at the place where one of these must begin.
        case expectedValue, expectedObject, expectedString, expectedColon, expectedName, expectedNameOrEnd,
            expectedCommaOrEnd
        /// A byte order mark is at the place where a value must begin.
        case byteOrderMark
        /// A number is malformed, for example with a leading zero, a sign alone, or a point without digits.
        case malformedNumber
        /// A backslash does not begin one of the escapes of RFC 8259 §7.
        case malformedEscape
        /// A `\uD800`…`\uDFFF` is not half of a pair.
        case loneSurrogate
        /// A string has a byte below 0x20.
        case controlCharacter
        /// The bytes of a string or a name are not UTF-8.
        case malformedUTF8
        /// More than `JSONCursor.depthMax` objects and arrays are nested.
        case tooDeep
        /// There are more bytes after the value.
        case trailingBytes
    }

    /// What is wrong.
    public var kind: Kind
    /// The index of the byte at fault.
    public var index: Int

    /// A fault found at `index`.
    @inlinable public init(_ kind: Kind, at index: Int) {
        self.kind = kind
        self.index = index
    }

    /// What was expected, for a person to read.
    public var expectation: String {
        switch self.kind {
        case .unexpectedEnd: "it ends too early"
        case .expectedValue: "a JSON value was expected"
        case .expectedObject: "an object, {…}, was expected"
        case .expectedString: "a string was expected"
        case .expectedColon: "“:” was expected"
        case .expectedName: "a field name in quotes was expected"
        case .expectedNameOrEnd: "a field name in quotes or “}” was expected"
        case .expectedCommaOrEnd: "“,” or the closing bracket was expected"
        case .byteOrderMark: "a byte order mark was found: expected UTF-8 without one"
        case .malformedNumber: "the number is not spelled as JSON allows"
        case .malformedEscape: "the escape is none of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX"
        case .loneSurrogate: "the \\u escape is half of a surrogate pair, without the other half"
        case .controlCharacter: "control characters must be escaped in strings"
        case .malformedUTF8: "the bytes are not UTF-8"
        case .tooDeep: "objects and arrays are nested more than \(JSONCursor.depthMax) deep"
        case .trailingBytes: "nothing may follow the value"
        }
    }
}
