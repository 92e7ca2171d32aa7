/// Reads what a Swift type expects of a `content-state`: stored properties of structs, enums with raw values, and the
/// types that they name.
///
/// It is not a compiler. It understands a typical `ContentState`, and names what it does not understand.
struct SwiftTypeReader {
    typealias Fault = ContentSchema.Fault
    typealias Shape = ContentSchema.Shape

    struct Property {
        var name: String
        var type: [String]
    }

    struct Declaration {
        var isEnum: Bool
        /// The name with those of the types around it, such as `PizzaAttributes.ContentState`.
        var fullName: String
        var inherits: [String]
        var properties: [Property] = []
        /// Raw values of an enum whose raw values are strings.
        var cases: [String] = []
        /// The properties' names in JSON, from `CodingKeys`; `nil`: the type has none.
        var keys: [String: String]?
        /// Whether the type has an `init(from:)`.
        var decodesByItself = false
        /// Whether the type's own declaration was read, and not only its extensions.
        var isDeclared = false
        /// The full name of a second type with the same short name; empty: there is none. `properties` then mixes the
        /// properties of both types.
        var twin = ""

        var isAttributes: Bool { self.inherits.contains("ActivityAttributes") }
    }

    private static let plainKinds: [String: ContentSchema.Kind] = [
        "String": .string, "Substring": .string, "Character": .string, "URL": .string, "UUID": .string, "Data": .string,
        "Bool": .boolean, "Double": .number, "Float": .number, "CGFloat": .number, "Decimal": .number,
        "TimeInterval": .number, "Int": .integer, "Int8": .integer, "Int16": .integer, "Int32": .integer,
        "Int64": .integer, "UInt": .integer, "UInt8": .integer, "UInt16": .integer, "UInt32": .integer,
        "UInt64": .integer,
    ]
    /// The enum that names the keys of the type around it.
    static let keysName = "CodingKeys"
    private static let date = Shape(
        kinds: [.number], isDate: true, expected: "a Date, seconds since 2001", swiftType: "Date")
    private static let namedCountMax = 80
    /// Maximum number of tokens of one property's type.
    private static let typeTokensMax = 64
    /// Deepest nesting of types.
    static let depthMax = 32

    var tokens: [String]
    var next = 0
    var depth = 0
    /// Names of the types around what is being read.
    var path: [String] = []
    var declarations: [String: Declaration] = [:]
    /// Targets of type aliases. `typealias ContentState = PizzaState` has `PizzaState` under the name `ContentState`.
    var aliases: [String: String] = [:]
    /// The shapes of types already read. Each type is read once.
    var shapes: [String: Shape] = [:]
    var begun: Set<String> = []
    /// Names of structs in the order in which their declarations end.
    var structs: [String] = []

    init(_ text: String) { self.tokens = Self.tokens(of: text) }

    /// The shape and the full name of the type `ContentState`, or of the only struct that is not an
    /// `ActivityAttributes`.
    mutating func contentState() throws(ContentSchema.Fault) -> (shape: ContentSchema.Shape, name: String) {
        try self.readDeclarations(into: nil)
        try self.refuseSeveralAttributes()
        let isAttributes = { [declarations] in declarations[$0]?.isAttributes == true }
        if self.structs.allSatisfy(isAttributes), let name = self.attributesName {
            throw Fault(
                description:
                    "\(Self.named(name)) has the attributes, which no update changes: paste its struct ContentState, too"
            )
        }
        guard !self.structs.isEmpty else {
            throw Fault(description: "there is no struct in it: expected struct ContentState: Codable, Hashable { … }")
        }
        let named = Set(self.declarations.values.flatMap { $0.properties.flatMap(\.type) })
        // Structs that are not the type of another struct's property.
        let outermost = self.structs.filter { !named.contains($0) && !isAttributes($0) }
        let called = self.aliases["ContentState"] ?? "ContentState"
        guard let name = self.structs.first(where: { $0 == called }) ?? outermost.first,
            name == called || outermost.count == 1
        else {
            throw Fault(description: "none of its structs is called ContentState: expected one, or a single struct")
        }
        return (try self.shape(ofType: name), self.declarations[name]?.fullName ?? name)
    }

    /// The app's attributes, which a start brings. Call `contentState` first.
    /// - Returns: `nil`: the source declares none.
    mutating func attributes() -> ContentSchema.Attributes? {
        guard let name = self.attributesName else { return nil }
        return ContentSchema.Attributes(typeName: name, shape: try? self.shape(ofType: name))
    }

    /// The only type that is an `ActivityAttributes`.
    private var attributesName: String? { self.declarations.first { $0.value.isAttributes }?.key }

    /// Refuses the types of several Live Activities. Their types `ContentState` would be taken for one.
    private func refuseSeveralAttributes() throws(Fault) {
        let names = self.declarations.filter { $0.value.isAttributes }.map(\.key).sorted().map(Self.named)
        guard names.count > 1, let last = names.last else { return }
        let count = names.count == 2 ? "two" : "\(names.count)"
        throw Fault(
            description:
                "this has \(count) ActivityAttributes, \(names.dropLast().joined(separator: ", ")) and \(last): "
                + "give one of them, with its ContentState")
    }

    // MARK: Shapes

    private mutating func shape(ofType name: String) throws(Fault) -> Shape {
        if let known = self.shapes[name] { return known }
        guard let type = self.declarations[name] else {
            throw Fault(
                description: "the type \(Self.named(name)) is not in it: paste that type, too, or give a sample if it "
                    + "is not your own")
        }
        guard self.begun.insert(name).inserted else {
            throw Fault(description: "\(Self.named(name)) contains itself: give a sample instead")
        }
        guard type.twin.isEmpty else {
            throw Fault(
                description: "two types in it are called \(Self.named(name)), \(Self.named(type.fullName)) and "
                    + "\(Self.named(type.twin)): give the one that a push brings, or a sample")
        }
        let shape = try self.shape(of: type, name)
        self.shapes[name] = shape
        return shape
    }

    private mutating func shape(of type: Declaration, _ name: String) throws(Fault) -> Shape {
        guard !type.decodesByItself else {
            throw Fault(
                description:
                    "\(Self.named(name)) decodes by code of its own, init(from:), which this page does not run: give a sample instead"
            )
        }
        guard !type.isEnum else {
            if type.inherits.contains("String") {
                return Shape(kinds: [.string], allowed: type.cases.map { .string($0) }, isRawValue: true)
            }
            guard type.inherits.contains(where: { Self.plainKinds[$0] == .integer }) else {
                let example = Self.named(type.cases.first ?? "case")
                throw Fault(
                    description: "the enum \(Self.named(name)) has no raw values, so Swift decodes "
                        + "{\"\(example)\": {}} and not \"\(example)\": write enum \(Self.named(name)): String, "
                        + "or give a sample")
            }
            return Shape(kinds: [.integer], isRawValue: true)
        }
        var shape = Shape(kinds: [.object])
        for property in type.properties {
            // If there are `CodingKeys`, a property without one is not decoded.
            guard let key = type.keys.map({ $0[property.name] }) ?? property.name else { continue }
            guard property.type.count <= Self.typeTokensMax else {
                throw Fault(description: "the type of “\(Self.named(property.name))” is too long")
            }
            var tokens = property.type[...]
            let inner = try self.shape(&tokens, of: property.name)
            if !inner.kinds.contains(.null) { shape.required.append(key) }
            shape.properties.append(ContentSchema.Property(name: key, shape: inner, swiftName: property.name))
        }
        return shape
    }

    private mutating func shape(_ tokens: inout ArraySlice<String>, of property: String) throws(Fault) -> Shape {
        guard let first = tokens.popFirst() else {
            throw Fault(description: "“\(Self.named(property))” has no type: write one, as in var minutes: Int")
        }
        guard first == "[" || first.first.map({ $0.isLetter || $0 == "_" }) == true else {
            throw Fault(
                description: "the type of “\(Self.named(property))” is one that this page cannot read: give a sample")
        }
        var shape: Shape
        switch first {
        case "[":
            shape = try self.shape(&tokens, of: property)
            if tokens.first == ":" {
                tokens.removeFirst()
                shape = try self.dictionary(&tokens, keys: shape, of: property)
            } else {
                shape = Shape(kinds: [.array], items: [shape], swiftType: "Array")
            }
            if tokens.first == "]" { tokens.removeFirst() }
        case "Date": shape = Self.date
        case "Optional", "Array", "Set", "Dictionary":
            if tokens.first == "<" { tokens.removeFirst() }
            let inner = try self.shape(&tokens, of: property)
            if tokens.first == "," {
                tokens.removeFirst()
                shape = try self.dictionary(&tokens, keys: inner, of: property)
            } else {
                shape =
                    first == "Optional"
                    ? Self.optional(inner) : Shape(kinds: [.array], items: [inner], swiftType: first)
            }
            if tokens.first == ">" { tokens.removeFirst() }
        case "ClosedRange", "Range":
            if tokens.first == "<" { tokens.removeFirst() }
            shape = Shape(
                kinds: [.array], items: [try self.shape(&tokens, of: property)],
                expected: "an array of two, the lower bound and the upper bound", swiftType: first)
            if tokens.first == ">" { tokens.removeFirst() }
        default:
            var name = first
            // `Attributes.Courier` is found by its last name.
            while tokens.first == ".", let last = tokens.dropFirst().first {
                name = last
                tokens.removeFirst(2)
            }
            name = self.aliases[name] ?? name
            if name == "Date" {
                shape = Self.date
            } else if let kind = Self.plainKinds[name] {
                shape = Shape(kinds: [kind], expected: Self.article(name), swiftType: name)
            } else {
                shape = try self.shape(ofType: name)
            }
        }
        while tokens.first == "?" {
            tokens.removeFirst()
            shape = Self.optional(shape)
        }
        return shape
    }

    /// The shape of a dictionary whose values' type begins at the next token. Its Swift type is called
    /// `Dictionary` only if the keys are of type `String`, because a test can write such keys as literals.
    private mutating func dictionary(
        _ tokens: inout ArraySlice<String>, keys: Shape, of property: String
    ) throws(Fault) -> Shape {
        Shape(
            kinds: [.object], values: [try self.shape(&tokens, of: property)],
            swiftType: keys.swiftType == "String" ? "Dictionary" : "")
    }

    private static func optional(_ shape: Shape) -> Shape {
        var shape = shape
        if !shape.kinds.contains(.null) { shape.kinds.append(.null) }
        if !shape.allowed.isEmpty { shape.allowed.append(.null) }
        return shape
    }

    private static func article(_ name: String) -> String {
        "\(["A", "E", "I", "O"].contains(name.prefix(1)) ? "an" : "a") \(name)"
    }

    private static func named(_ name: String) -> String { String(name.prefix(Self.namedCountMax)) }
}
