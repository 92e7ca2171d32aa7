import PushModel

/// What an app's `ContentState` expects of a `content-state`, as far as a page can know it: the required keys, and the
/// type of each value.
///
/// It is read from the app's own Swift type, from a JSON Schema (its `type`, `properties`, `required`, `items` and
/// `enum`), or from a sample. All keys of a sample are required, except those whose value is null. An unknown key
/// is not a fault: Swift's default coding ignores it.
public struct ContentSchema: Equatable, Sendable {
    /// The kind of document from which a schema was read.
    public enum Source: String, Sendable {
        /// A JSON Schema.
        case schema
        /// A sample of a `content-state`.
        case sample
        /// The app's Swift type.
        case swift
    }

    /// Why a document cannot be read as a Swift type, a JSON Schema or a sample.
    public struct Fault: Error, Equatable, Sendable {
        /// What is wrong in the document, and what was expected.
        public var description: String
    }

    /// The types that JSON Schema knows.
    enum Kind: String, CaseIterable, Sendable { case object, array, string, number, integer, boolean, null }

    /// What the schema expects of one value.
    struct Shape: Equatable, Sendable {
        /// The allowed types; empty: any.
        var kinds: [Kind] = []
        var properties: [Property] = []
        var required: [String] = []
        /// The shape of each array element; at most one.
        var items: [Shape] = []
        /// The allowed values; empty: any.
        var allowed: [JSONTree] = []
        /// The shape of each value of a dictionary; at most one.
        var values: [Shape] = []
        /// Whether the value is Swift's `Date`: seconds since 2001.
        var isDate = false
        /// What a message about a fault tells a person to send; empty: the message names the kinds.
        var expected = ""
        /// The value's type in Swift, such as `URL`; empty: it is not one of the library's types, or not known.
        var swiftType = ""
        /// Whether the value is the raw value of a Swift enum.
        var isRawValue = false

        /// Whether the value is a Swift range, which is decoded from an array of its two bounds.
        var isRange: Bool { ["ClosedRange", "Range"].contains(self.swiftType) }

        /// The shape of a member; `nil`: not known.
        func member(_ name: String) -> Shape? {
            self.properties.first { $0.name == name }?.shape ?? self.values.first
        }
    }

    struct Property: Equatable, Sendable {
        var name: String
        var shape: Shape
        /// The property's name in Swift, which may differ from `name` by `CodingKeys`; empty: not known.
        var swiftName = ""
    }

    /// The app's `ActivityAttributes`, which a start names and brings.
    struct Attributes: Equatable, Sendable {
        /// The type's name, as a start has it in `attributes-type`.
        var typeName: String
        /// What the type decodes; `nil`: the source does not say.
        var shape: Shape?
    }

    let shape: Shape
    /// The attributes that a start must bring; `nil`: not known.
    let attributes: Attributes?
    /// The type's name in Swift, such as `PizzaAttributes.ContentState`; empty: the schema was not read from a Swift
    /// type.
    let swiftName: String
    /// The kind of document from which the schema was read.
    public let source: Source

    /// Name of the Swift type that decodes a `content-state`; `nil`: not known.
    public var typeName: String? { self.swiftName.isEmpty ? nil : self.swiftName }
    /// The `attributes-type` that a start must have; `nil`: not known.
    public var attributesTypeName: String? { self.attributes?.typeName }

    /// Keywords that only inform readers of a schema.
    private static let annotations: Set<String> = [
        "$schema", "$id", "$comment", "title", "description", "default", "examples", "format", "additionalProperties",
    ]

    /// The form of value that each supported keyword takes.
    private static let forms = [
        "type": "a type's name, or an array with at least one", "properties": "an object", "required": "an array",
        "items": "an object", "enum": "an array with at least one value",
    ]
    /// Maximum number of characters of a name that a message repeats.
    private static let namedCountMax = 120
    /// Maximum number of missing keys that a message names besides the first.
    private static let missingNamedMax = 5
    /// Maximum number of characters of a message about content. A timeline keeps the message with each push.
    private static let faultCountMax = 400

    /// Reads a JSON file as a schema or a sample, as `isSchema` decides.
    public init(_ file: JSONTree) throws(Fault) {
        guard case .object(let members) = file else {
            throw Fault(
                description:
                    "it is not a JSON object: expected your Swift type, a JSON Schema or a sample of a content-state")
        }
        self.swiftName = ""
        self.attributes = nil
        if Self.isSchema(members) {
            self.source = .schema
            self.shape = try Self.shape(of: file, at: "")
        } else {
            self.source = .sample
            self.shape = Self.shape(ofSample: file)
        }
    }

    /// Reads a Swift type, a JSON Schema or a sample. A Swift type's document is its text.
    public static func read(_ text: [UInt8]) throws(Fault) -> (schema: ContentSchema, document: JSONTree) {
        switch Result(catching: { () throws(JSONFault) -> JSONTree in try JSONTree.parse(text) }) {
        case .success(let document): return (try ContentSchema(document), document)
        case .failure(let fault):
            let swift = String(decoding: text, as: UTF8.self)
            // No Swift source begins like a JSON document.
            if let first = swift.first(where: { !$0.isWhitespace }), ["{", "[", "\""].contains(first) {
                throw Fault(description: "it is not JSON: at byte \(fault.index), \(fault.expectation)")
            }
            guard swift.contains("struct ") || swift.contains("class ") else {
                throw Fault(
                    description: "it is neither JSON nor a Swift type: expected struct ContentState: Codable, Hashable "
                        + "{ … }, a JSON Schema or a sample of a content-state")
            }
            return (try ContentSchema(swift: swift), .string(swift))
        }
    }

    /// Reads the app's Swift type from its source, with the types that it names.
    public init(swift text: String) throws(Fault) {
        var reader = SwiftTypeReader(text)
        self.source = .swift
        (self.shape, self.swiftName) = try reader.contentState()
        self.attributes = reader.attributes()
    }

    private static func shape(of schema: JSONTree, at path: String) throws(Fault) -> Shape {
        let subject = path.isEmpty ? "the schema" : "“\(path.suffix(Self.namedCountMax))”"
        guard case .object(let members) = schema else { throw Fault(description: "\(subject) is not a JSON object") }
        var shape = Shape()
        for member in members {
            switch (member.name, member.value) {
            case ("type", .string(let name)): shape.kinds = [try Self.kind(name, subject)]
            case ("type", .array(let names)) where !names.isEmpty:
                for name in names { shape.kinds.append(try Self.kind(name.plainText, subject)) }
            case ("properties", .object(let properties)):
                for property in properties {
                    let inner = path.isEmpty ? property.name : "\(path).\(property.name)"
                    shape.properties.append(
                        Property(name: property.name, shape: try Self.shape(of: property.value, at: inner)))
                }
            case ("required", .array(let names)):
                for name in names {
                    guard case .string(let key) = name else {
                        throw Fault(
                            description: "\(subject) requires \(Self.described(name)): expected the name of a key")
                    }
                    shape.required.append(key)
                }
            case ("items", .object): shape.items = [try Self.shape(of: member.value, at: path + "[]")]
            case ("enum", .array(let values)) where !values.isEmpty: shape.allowed = values
            case let (name, _) where Self.annotations.contains(name): break
            default:
                guard let form = Self.forms[member.name] else {
                    let name = member.name.prefix(Self.namedCountMax)
                    throw Fault(
                        description: "\(subject) has “\(name)”: expected type, properties, required, items or enum")
                }
                throw Fault(
                    description: "\(subject) has “\(member.name)” as \(Self.described(member.value)): expected \(form)")
            }
        }
        return shape
    }

    private static func kind(_ name: String, _ subject: String) throws(Fault) -> Kind {
        guard let kind = Kind(rawValue: name) else {
            let known = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw Fault(
                description: "\(subject) has the type “\(name.prefix(Self.namedCountMax))”: expected one of \(known)")
        }
        return kind
    }

    /// The shape of a sample's value. A null says that the value may be missing, and nothing about its type.
    private static func shape(ofSample sample: JSONTree) -> Shape {
        switch sample {
        case .object(let members):
            var shape = Shape(kinds: [.object])
            for member in members where member.value != .null {
                shape.properties.append(Property(name: member.name, shape: Self.shape(ofSample: member.value)))
                shape.required.append(member.name)
            }
            return shape
        case .array(let elements):
            return Shape(kinds: [.array], items: elements.first.map { [Self.shape(ofSample: $0)] } ?? [])
        case .string: return Shape(kinds: [.string])
        case .number(let spelling):
            if DateLens.findings(in: sample).first?.meaning == .secondsSince2001 {
                return Shape(kinds: [.number], isDate: true)
            }
            guard Int64(spelling) != nil else { return Shape(kinds: [.number]) }
            return Shape(
                kinds: [.integer],
                expected: "a whole number, as the sample has (\(spelling).0 there would mean a Double)")
        case .bool: return Shape(kinds: [.boolean])
        case .null: return Shape()
        }
    }

    // MARK: Judging

    /// The first reason why the app cannot decode the content; `nil`: it can.
    public func fault(in content: JSONTree) -> String? {
        Self.fault(in: content, self.shape, path: "").map { String($0.prefix(Self.faultCountMax)) }
    }

    /// The first reason why a start puts up no card of the app; `nil`: none is known.
    /// - Parameters:
    ///   - attributes: the start's `attributes`.
    ///   - type: the start's `attributes-type`.
    public func fault(inAttributes attributes: JSONTree, type: JSONTree) -> String? {
        guard let own = self.attributes else { return nil }
        guard type.plainText == own.typeName else {
            let name = own.typeName.prefix(Self.namedCountMax)
            return "attributes-type is \(Self.described(type)), and your type is \(name)"
        }
        return own.shape.flatMap { Self.fault(in: attributes, $0, path: "attributes") }
            .map { String($0.prefix(Self.faultCountMax)) }
    }

    private static func fault(in value: JSONTree, _ shape: Shape, path: String) -> String? {
        let subject = path.isEmpty ? "content-state" : "“\(path)”"
        if !shape.kinds.isEmpty, !shape.kinds.contains(where: { Self.matches(value, $0) }) {
            let kinds = shape.kinds.map(\.rawValue).joined(separator: " or ")
            return "\(subject) is \(Self.described(value)), expected \(shape.expected.isEmpty ? kinds : shape.expected)"
                + Self.dateAdvice(value, shape)
        }
        if !shape.allowed.isEmpty, !shape.allowed.contains(value) {
            let expected = shape.allowed.prefix(8).map(\.text).joined(separator: ", ")
            return "\(subject) is \(Self.described(value)), expected one of \(expected)"
        }
        switch value {
        case .object:
            let missing = shape.required.filter { value[$0] == nil }
            if let first = missing.first {
                return Self.complaint(first, missing.dropFirst(), of: shape, in: value, path: path)
            }
            for property in shape.properties {
                guard let member = value[property.name] else { continue }
                let inner = path.isEmpty ? property.name : "\(path).\(property.name)"
                if let fault = Self.fault(in: member, property.shape, path: inner) { return fault }
            }
            if let all = shape.values.first, case .object(let members) = value {
                for member in members {
                    let inner = path.isEmpty ? member.name : "\(path).\(member.name)"
                    if let fault = Self.fault(in: member.value, all, path: inner) { return fault }
                }
            }
        case .array(let elements):
            guard let item = shape.items.first else { break }
            for (index, element) in elements.enumerated() {
                if let fault = Self.fault(in: element, item, path: "\(path)[\(index)]") { return fault }
            }
            guard shape.isRange else { break }
            let bounds = elements.prefix(2).compactMap(\.double)
            if elements.count < 2 || (bounds.count == 2 && bounds[0] > bounds[1]) {
                return "\(subject) is not a range: expected \(shape.expected)"
            }
        case .string, .number, .bool, .null: break
        }
        return nil
    }

    /// Names the first missing key in full, and the others by their names alone.
    private static func complaint(
        _ first: String, _ others: ArraySlice<String>, of shape: Shape, in value: JSONTree, path: String
    ) -> String {
        func named(_ name: String) -> String { "“\(path.isEmpty ? name : "\(path).\(name)")”" }
        var text = "\(named(first)) is missing, and the app requires it"
        switch Self.besides(first, of: shape, in: value) {
        case .property(let name): text += "; “\(name)” is there, which is the property's name: send its key"
        case .spelling(let name): text += "; “\(name)” is there, which is another key for Swift"
        case nil: break
        }
        guard !others.isEmpty else { return text }
        let rest = others.count > Self.missingNamedMax ? " and \(others.count - Self.missingNamedMax) more" : ""
        let names = others.prefix(Self.missingNamedMax).map { name in
            named(name) + (Self.besides(name, of: shape, in: value).map { " (“\($0.name)” is there)" } ?? "")
        }
        return "\(text); also missing: " + names.joined(separator: ", ") + rest
    }

    /// Advice for a date that a server wrote as text, which is more common than the form that Swift decodes.
    private static func dateAdvice(_ value: JSONTree, _ shape: Shape) -> String {
        guard shape.isDate || shape.kinds.contains(.number) || shape.kinds.contains(.integer),
            case .string(let text) = value
        else { return "" }
        guard let sent = DateText.sent(for: text, isDate: shape.isDate) else {
            return shape.isDate && shape.expected.isEmpty ? "; a Date in Swift decodes seconds since 2001" : ""
        }
        let isSaid = shape.isDate && !shape.expected.isEmpty
        let send = "send \(sent.seconds)\(sent.isTakenAsUTC ? DateLens.takenAsUTC : "")"
        return isSaid ? ": \(send)" : "; a Date in Swift decodes seconds since 2001: \(send)"
    }

    /// A key of the content that was probably sent in place of a missing one.
    private enum Twin {
        /// The property's name in Swift, although `CodingKeys` gives the property another key.
        case property(String)
        /// The letters and digits of the missing key, spelt differently, such as `driver_name`.
        case spelling(String)

        var name: String {
            switch self {
            case .property(let name), .spelling(let name): name
            }
        }
    }

    /// What was probably sent in place of the missing key; `nil`: nothing like it is there.
    private static func besides(_ key: String, of shape: Shape, in value: JSONTree) -> Twin? {
        guard case .object(let members) = value else { return nil }
        let property = shape.properties.first { $0.name == key && $0.swiftName != key }?.swiftName ?? ""
        if !property.isEmpty, value[property] != nil, !shape.properties.contains(where: { $0.name == property }) {
            return .property(String(property.prefix(Self.namedCountMax)))
        }
        func plain(_ key: String) -> String { key.lowercased().filter { $0.isLetter || $0.isNumber } }
        let wanted = plain(key)
        guard !wanted.isEmpty, let near = members.first(where: { plain($0.name) == wanted }) else { return nil }
        return .spelling(String(near.name.prefix(Self.namedCountMax)))
    }

    private static func matches(_ value: JSONTree, _ kind: Kind) -> Bool {
        switch (kind, value) {
        case (.object, .object), (.array, .array), (.string, .string), (.number, .number), (.boolean, .bool),
            (.null, .null):
            true
        // Swift's default coding also decodes 12.0 as an Int.
        case (.integer, .number): value.double.map { $0 == $0.rounded() } ?? false
        default: false
        }
    }

    private static func described(_ value: JSONTree) -> String {
        switch value {
        case .object: "an object"
        case .array: "an array"
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let spelling): "the number \(spelling.prefix(40))"
        case .string(let text): "the string \(JSONTree.string(String(TokenText.shortened(text).prefix(40))).text)"
        }
    }
}
