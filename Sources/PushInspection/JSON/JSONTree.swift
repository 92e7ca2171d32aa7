public import PushModel

/// A JSON value as a tree that keeps what a person wrote: the order of members and the spelling of numbers.
///
/// For display to a person, not for the path of a push.
public indirect enum JSONTree: Equatable, Sendable {
    /// Members in the order of the text. A name may occur twice.
    case object([Member])
    /// Elements in order.
    case array([JSONTree])
    /// A string, unescaped.
    case string(String)
    /// A number as spelt.
    case number(String)
    /// `true` or `false`.
    case bool(Bool)
    /// `null`.
    case null

    /// One member of an object.
    public struct Member: Equatable, Sendable {
        /// The member's name, unescaped.
        public var name: String
        /// The member's value.
        public var value: JSONTree

        public init(_ name: String, _ value: JSONTree) {
            self.name = name
            self.value = value
        }
    }

    /// Reads a whole JSON text. Values nest at most `JSONCursor.depthMax` deep.
    public static func parse(_ bytes: [UInt8]) throws(JSONFault) -> JSONTree {
        // Check the grammar and the depth of the whole text first, because the code below does not count brackets.
        var check = JSONCursor()
        _ = try check.skipValue(bytes.span)
        try check.expectEnd(bytes.span)
        var cursor = JSONCursor()
        return try Self.value(&cursor, bytes)
    }

    private static func value(_ cursor: inout JSONCursor, _ bytes: [UInt8]) throws(JSONFault) -> JSONTree {
        switch try cursor.peekKind(bytes.span) {
        case .object:
            var members: [Member] = []
            try cursor.openObject(bytes.span)
            while let name = try cursor.nextName(bytes.span, isFirst: members.isEmpty) {
                let text = String(decoding: JSONEscape.text(of: name, in: bytes.span), as: UTF8.self)
                members.append(Member(text, try Self.value(&cursor, bytes)))
            }
            return .object(members)
        case .array:
            var elements: [JSONTree] = []
            while try cursor.nextElement(bytes.span, isFirst: elements.isEmpty) {
                elements.append(try Self.value(&cursor, bytes))
            }
            return .array(elements)
        case .string:
            let string = try cursor.string(bytes.span)
            return .string(String(decoding: JSONEscape.text(of: string, in: bytes.span), as: UTF8.self))
        case .number:
            let number = try cursor.number(bytes.span)
            return .number(String(decoding: bytes[number.spelling.range], as: UTF8.self))
        case .bool:
            let word = try cursor.skipValue(bytes.span)
            return .bool(bytes[Int(word.start)] == UInt8(ascii: "t"))
        case .null:
            _ = try cursor.skipValue(bytes.span)
            return .null
        }
    }

    /// The first member of that name; `nil`: the object has none, or this is not an object.
    public subscript(_ name: String) -> JSONTree? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The path with each index as a part of its own: `legs[0].city` becomes `legs.0.city`.
    static func dotted(_ path: String) -> String { path.replacing(/\[(\d+)\]/) { ".\($0.output.1)" } }

    /// The value at a path such as `driver.name`, `legs[0].city` or `legs.0.city`; `nil`: there is none. A member whose
    /// own name contains dots is found first.
    public func value(at path: String) -> JSONTree? {
        if let whole = self[path] { return whole }
        var found = self
        for part in Self.dotted(path).split(separator: ".", omittingEmptySubsequences: false) {
            switch found {
            case .object:
                guard let member = found[String(part)] else { return nil }
                found = member
            case .array(let elements):
                guard let index = Int(part), elements.indices.contains(index) else { return nil }
                found = elements[index]
            case .string, .number, .bool, .null: return nil
            }
        }
        return found
    }

    /// A string's text, or the spelling of any other value.
    public var plainText: String {
        if case .string(let text) = self { return text }
        return self.text
    }

    /// A number's value; `nil`: not a number, or not one that a `Double` can represent.
    public var double: Double? {
        guard case .number(let spelling) = self, let value = Double(spelling), value.isFinite else { return nil }
        return value
    }
}
