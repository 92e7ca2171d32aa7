/// Writes the Swift type that decodes a given `content-state`.
public enum SwiftCode {
    /// Depth of nested types. A deeper value becomes a `String`, which does not decode; the code says so.
    private static let depthMax = 6
    static let words: Set<String> = [
        "as", "break", "case", "class", "continue", "default", "defer", "do", "else", "enum", "extension", "false",
        "for",
        "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil", "operator", "private",
        "protocol", "public", "repeat", "return", "self", "Self", "static", "struct", "subscript", "super", "switch",
        "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    ]

    /// Names that a generated type must not have, because it would hide the standard type.
    private static let takenNames: Set<String> = [
        "Bool", "Codable", "CodingKey", "CodingKeys", "Date", "Double", "Hashable", "Int", "String", "UInt64",
    ]

    /// Writes `struct ContentState: Codable, Hashable`, with a type for each object in it. The type of an array's
    /// elements covers all of them.
    /// - Parameter sample: a `content-state` that the developer gave, which may have keys that `content` lacks; `nil`:
    ///   none.
    public static func contentState(_ content: JSONTree, sample: JSONTree? = nil) -> String {
        let samples = [content] + (sample.map { [$0] } ?? [])
        return Self.type("ContentState", samples.map(TokenHiding.hidden), indent: "", depth: 0).joined(separator: "\n")
            + "\n"
    }

    /// Writes one type.
    /// - Parameter samples: objects of this type.
    private static func type(_ name: String, _ samples: [JSONTree], indent: String, depth: Int) -> [String] {
        let members = SampledMember.all(of: samples)
        guard samples.contains(where: { if case .object = $0 { true } else { false } }) else { return [] }
        let inner = indent + "    "
        var lines = ["\(indent)struct \(name): Codable, Hashable {"]
        var nested: [String] = []
        var keys: [String] = []
        var hasOtherNames = false
        for (member, property) in zip(members, Self.properties(of: members.map(\.name))) {
            let isSame = property == member.name || property == "`\(member.name)`"
            hasOtherNames = hasOtherNames || !isSame
            keys.append(
                isSame
                    ? "\(inner)    case \(property)"
                    : "\(inner)    case \(property) = \(JSONTree.string(member.name).text)")
            var (type, note) = Self.typeName(member.values, named: Self.typeName(from: property), depth: depth)
            if member.isMissingSomewhere, !type.hasSuffix("?") { type += "?" }
            lines.append("\(inner)var \(property): \(type)\(note.isEmpty ? "" : "  // \(note)")")
            let objects = Self.objects(in: member.values)
            if !objects.isEmpty, depth < Self.depthMax {
                nested += [""] + Self.type(Self.typeName(from: property), objects, indent: inner, depth: depth + 1)
            }
        }
        if hasOtherNames { lines += ["", "\(inner)enum CodingKeys: String, CodingKey {"] + keys + ["\(inner)}"] }
        return lines + nested + ["\(indent)}"]
    }

    /// Property names for keys. A name that is taken already gets a `2` at its end.
    static func properties(of names: [String]) -> [String] {
        var taken: Set<String> = []
        return names.map { name in
            var property = Self.identifier(name)
            while !taken.insert(property).inserted { property += "2" }
            return property
        }
    }

    private static func objects(in values: [JSONTree]) -> [JSONTree] {
        values.flatMap { value -> [JSONTree] in
            switch value {
            case .object: [value]
            case .array(let elements): Self.objects(in: elements)
            case .string, .number, .bool, .null: []
            }
        }
    }

    /// The name of the type that decodes the values, and a note for a person.
    /// - Parameter values: values of one property, or the elements of one array.
    static func typeName(_ values: [JSONTree], named name: String, depth: Int) -> (type: String, note: String) {
        let known = values.filter { $0 != .null }
        guard let first = known.first else { return ("String?", "the sample was null") }
        let alike = known.filter { Self.isAlike($0, first) }
        var (type, note) = Self.typeName(alike: alike, named: name, depth: depth)
        if alike.count < known.count { note = "the sample has values of other kinds, too" }
        if known.count < values.count { type += "?" }
        return (type, note)
    }

    private static func typeName(alike: [JSONTree], named name: String, depth: Int) -> (type: String, note: String) {
        switch alike[0] {
        case .object: return depth < Self.depthMax ? (name, "") : ("String", "an object, too deep to be written here")
        case .array:
            let elements = alike.flatMap { array -> [JSONTree] in
                if case .array(let elements) = array { elements } else { [] }
            }
            guard !elements.isEmpty else { return ("[String]", "the sample was empty") }
            let (type, note) = Self.typeName(elements, named: name, depth: depth)
            return ("[\(type)]", note)
        case .string: return ("String", "")
        case .bool: return ("Bool", "")
        case .null: return ("String?", "the sample was null")
        case .number:
            let number = Self.numberType(alike)
            let meanings = Set(alike.map { DateLens.findings(in: $0).first?.meaning })
            guard meanings.count == 1, let meaning = meanings.first ?? nil else { return (number, "") }
            return meaning == .secondsSince2001
                ? ("Date", "or \(number), if this is not a date")
                : (number, "a Date would read the wrong year: it counts from 2001")
        }
    }

    private static func numberType(_ numbers: [JSONTree]) -> String {
        let spellings = numbers.compactMap { number -> String? in
            if case .number(let spelling) = number { spelling } else { nil }
        }
        if spellings.allSatisfy({ Int64($0) != nil }) { return "Int" }
        return spellings.allSatisfy { UInt64($0) != nil } ? "UInt64" : "Double"
    }

    private static func isAlike(_ a: JSONTree, _ b: JSONTree) -> Bool {
        switch (a, b) {
        case (.object, .object), (.array, .array), (.string, .string), (.number, .number), (.bool, .bool),
            (.null, .null):
            true
        default: false
        }
    }

    /// An identifier for a key: `delivery-time` as `deliveryTime`, `2nd` as `_2nd`, `class` in back quotes.
    static func identifier(_ name: String) -> String {
        var text = ""
        var startsWord = false
        for character in name {
            if character.isASCII, character.isLetter || character.isNumber || character == "_" {
                text += startsWord && !text.isEmpty ? character.uppercased() : String(character)
                startsWord = false
            } else {
                startsWord = true
            }
        }
        if text.first?.isNumber == true { text = "_" + text }
        if text.allSatisfy({ $0 == "_" }) { text += "_1" }
        return Self.words.contains(text) ? "`\(text)`" : text
    }

    private static func typeName(from property: String) -> String {
        let plain = property.filter { $0 != "`" }
        let name = plain.prefix(1).uppercased() + plain.dropFirst()
        return Self.takenNames.contains(name) ? name + "Value" : name
    }
}
