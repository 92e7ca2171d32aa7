/// The Swift type that decodes a `content-state`, written from one.
public enum SwiftCode {
    /// Types within types; what lies deeper becomes a `String` that does not decode, and says so.
    private static let depthMax = 6
    private static let words: Set<String> = [
        "as", "break", "case", "class", "continue", "default", "defer", "do", "else", "enum", "extension", "false",
        "for",
        "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil", "operator", "private",
        "protocol", "public", "repeat", "return", "self", "Self", "static", "struct", "subscript", "super", "switch",
        "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    ]

    /// `struct ContentState: Codable, Hashable`, with a type of its own for each object within.
    public static func contentState(_ content: JSONTree) -> String {
        Self.type("ContentState", TokenHiding.hidden(content), indent: "", depth: 0).joined(separator: "\n") + "\n"
    }

    private static func type(_ name: String, _ object: JSONTree, indent: String, depth: Int) -> [String] {
        guard case .object(let members) = object else { return [] }
        let inner = indent + "    "
        var lines = ["\(indent)struct \(name): Codable, Hashable {"]
        var nested: [String] = []
        var keys: [String] = []
        var hasOtherNames = false
        for (member, property) in zip(members, Self.properties(of: members)) {
            let isSame = property == member.name || property == "`\(member.name)`"
            hasOtherNames = hasOtherNames || !isSame
            keys.append(
                isSame
                    ? "\(inner)    case \(property)"
                    : "\(inner)    case \(property) = \(JSONTree.string(member.name).text)")
            let (type, note) = Self.typeName(member.value, named: Self.typeName(from: property), depth: depth)
            lines.append("\(inner)var \(property): \(type)\(note.isEmpty ? "" : "  // \(note)")")
            if let object = Self.object(in: member.value), depth < Self.depthMax {
                nested += [""] + Self.type(Self.typeName(from: property), object, indent: inner, depth: depth + 1)
            }
        }
        if hasOtherNames { lines += ["", "\(inner)enum CodingKeys: String, CodingKey {"] + keys + ["\(inner)}"] }
        return lines + nested + ["\(indent)}"]
    }

    /// Names of properties, each once.
    static func properties(of members: [JSONTree.Member]) -> [String] {
        var taken: Set<String> = []
        return members.map { member in
            var property = Self.identifier(member.name)
            while !taken.insert(property).inserted { property += "2" }
            return property
        }
    }

    private static func object(in value: JSONTree) -> JSONTree? {
        switch value {
        case .object: value
        case .array(let elements): elements.first.flatMap { Self.object(in: $0) }
        case .string, .number, .bool, .null: nil
        }
    }

    static func typeName(_ value: JSONTree, named name: String, depth: Int) -> (type: String, note: String) {
        switch value {
        case .object: return depth < Self.depthMax ? (name, "") : ("String", "an object, too deep to be written here")
        case .array(let elements):
            guard let first = elements.first else { return ("[String]", "the sample was empty") }
            let (type, note) = Self.typeName(first, named: name, depth: depth)
            return ("[\(type)]", note)
        case .string: return ("String", "")
        case .bool: return ("Bool", "")
        case .null: return ("String?", "the sample was null")
        case .number(let spelling):
            let isWhole = !spelling.contains { ".eE".contains($0) }
            guard let finding = DateLens.findings(in: value).first else { return (isWhole ? "Int" : "Double", "") }
            return finding.meaning == .secondsSince2001
                ? ("Date", "or \(isWhole ? "Int" : "Double"), if it is none")
                : (isWhole ? "Int" : "Double", "a Date would read the wrong year: it counts from 2001")
        }
    }

    /// `delivery-time` as `deliveryTime`, `2nd` as `_2nd`, `class` in back quotes.
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
        if text.isEmpty || text.first?.isNumber == true { text = "_" + text }
        return Self.words.contains(text) ? "`\(text)`" : text
    }

    private static func typeName(from property: String) -> String {
        let plain = property.filter { $0 != "`" }
        return plain.prefix(1).uppercased() + plain.dropFirst()
    }
}
