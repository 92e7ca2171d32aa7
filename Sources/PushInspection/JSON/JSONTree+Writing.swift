import PushModel

extension JSONTree {
    /// The value as JSON on one line.
    public var text: String { String(decoding: self.bytes, as: UTF8.self) }

    /// The value as JSON on one line.
    public var bytes: [UInt8] { JSONWriter.bytes { self.append(to: &$0) } }

    private func append(to json: inout JSONWriter) {
        switch self {
        case .object(let members):
            json.object { json in
                for member in members {
                    json.name(escaping: member.name)
                    member.value.append(to: &json)
                }
            }
        case .array(let elements): json.array(elements) { $0.append(to: &$1) }
        case .string(let text): json.value(text)
        case .number(let spelling): json.value(json: spelling.utf8)
        case .bool(let value): json.value(json: (value ? "true" : "false").utf8)
        case .null: json.value(json: "null".utf8)
        }
    }

    /// The value as JSON over several lines, for a person.
    public var prettyText: String { self.pretty(indent: "") }

    private func pretty(indent: String) -> String {
        let deeper = indent + "  "
        switch self {
        case .object(let members) where !members.isEmpty:
            let lines = members.map { "\(deeper)\(JSONTree.string($0.name).text): \($0.value.pretty(indent: deeper))" }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indent)}"
        case .array(let elements) where !elements.isEmpty:
            let lines = elements.map { deeper + $0.pretty(indent: deeper) }
            return "[\n" + lines.joined(separator: ",\n") + "\n\(indent)]"
        case .object, .array, .string, .number, .bool, .null: return self.text
        }
    }

    /// A whole number.
    public static func integer(_ value: some BinaryInteger) -> JSONTree { .number("\(value)") }

    /// A string, or `null` without one.
    public static func optional(_ text: String?) -> JSONTree { text.map { .string($0) } ?? .null }
}

extension JSONTree: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral {
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Elements in order.
    public init(arrayLiteral elements: JSONTree...) { self = .array(elements) }
}

extension JSONTree: ExpressibleByDictionaryLiteral {
    /// Members in the order written. Those that are nil are left out.
    public init(dictionaryLiteral elements: (String, JSONTree?)...) {
        self = .object(elements.compactMap { name, value in value.map { Member(name, $0) } })
    }
}
