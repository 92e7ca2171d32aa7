import Foundation

/// The settings as a JSON Schema, for editors, and for checks where the program is not installed. `mailboat run
/// --print-settings-schema` prints it, and `deploy/schemas/settings.schema.json` is a copy. It is made from the tables
/// of settings.
///
/// A worker refuses everything that the schema refuses. It also refuses more, such as a duration out of range or an
/// invalid path. The schema requires no setting, because the environment may contain it. Groups may be nested or
/// written with dots. Editors suggest groups. Names with dots are checked, but not suggested (`doNotSuggest`).
public enum SettingsSchema {
    /// The schema as text, in JSON Schema draft 7, which editors understand.
    public static var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Encoding fails only for numbers like NaN, and the schema has none.
        return ((try? encoder.encode(Self.document)).map { String(decoding: $0, as: UTF8.self) } ?? "{}") + "\n"
    }

    // A secret is refused in a file, so the schema leaves it out.
    private static let appSettings = AppSettings.settings.filter { $0.kind != .secret }.map(\.description)
    private static let allSettings =
        WorkerConfiguration.settings.filter { $0.kind != .secret }.map(\.description) + Self.appSettings

    private static var document: SchemaNode {
        var definitions: [String: SchemaNode] = [
            "librdkafka": Self.librdkafka, "librdkafka.value": Self.librdkafkaValue,
        ]
        for setting in Self.allSettings { definitions[setting.name] = Self.value(setting) }
        for group in Self.groups(of: Self.allSettings) {
            definitions["group.\(group)"] = Self.group(group, of: Self.allSettings, names: "group")
        }
        for group in Self.groups(of: Self.appSettings) {
            definitions["app-group.\(group)"] = Self.group(group, of: Self.appSettings, names: "app-group")
        }
        // An app may use every default: then nothing follows `com.example.pizza:`.
        definitions["app"] = Self.group("", of: Self.appSettings, names: "app-group")
            .with("type", ["object", "null"])
        return Self.group("", of: Self.allSettings, names: "group").with(
            "$schema", "http://json-schema.org/draft-07/schema#"
        )
        .with("$id", "urn:mailboat:schema:settings").with("title", "Settings of a Mailboat worker")
        .with("description", "What 'mailboat run --config FILE' reads.")
        .with("definitions", .object(definitions))
    }

    // MARK: Groups

    /// All groups: those that names of settings begin with, and those with properties of librdkafka.
    private static func groups(of settings: [SettingDescription]) -> Set<String> {
        var groups: Set<String> = []
        for name in settings.map(\.name) + Self.openGroups(among: settings).map(\.name) {
            var words = name.split(separator: ".").dropLast()
            while !words.isEmpty {
                groups.insert(words.joined(separator: "."))
                words = words.dropLast()
            }
        }
        return groups
    }

    /// Groups with properties of librdkafka. Only the worker has them, an app does not.
    private static func openGroups(
        among settings: [SettingDescription]
    ) -> [(name: String, documentation: String)] {
        settings.contains { $0.scope == .worker } ? WorkerConfiguration.openGroups : []
    }

    /// The schema of one group: an object with the settings below it, nested or written with dots.
    /// - Parameters:
    ///   - group: the group's whole name; empty for the file itself, or for an app.
    ///   - names: prefix for the names of group definitions.
    private static func group(_ group: String, of settings: [SettingDescription], names: String) -> SchemaNode {
        let start = group.isEmpty ? "" : group + "."
        var nodes: [String: SchemaNode] = [:]
        for setting in settings where setting.name.hasPrefix(start) { nodes[setting.name] = .reference(setting.name) }
        for below in Self.groups(of: settings) where below.hasPrefix(start) {
            nodes[below] = .reference("\(names).\(below)")
        }
        var properties: [String: SchemaNode] = [:]
        var patterns: [String: SchemaNode] = [:]
        for open in Self.openGroups(among: settings) where open.name.hasPrefix(start) {
            nodes[open.name] = ["description": .text(open.documentation), "allOf": [.reference("librdkafka")]]
            let pattern = Self.pattern(String(open.name.dropFirst(start.count)))
            patterns["^\(pattern)\\..+$"] = Self.librdkafkaValue
        }
        for (name, node) in nodes {
            let word = String(name.dropFirst(start.count))
            // In draft 7, other members next to `$ref` are ignored, so the reference is put into `allOf`.
            let unoffered: SchemaNode = ["allOf": [node], "doNotSuggest": true]
            properties[word] = word.contains(".") ? unoffered : node
        }
        if names == "group", group.isEmpty { properties["apps"] = Self.apps }
        var node: SchemaNode = [
            "type": "object", "properties": .object(properties), "additionalProperties": false,
        ]
        if !patterns.isEmpty { node = node.with("patternProperties", .object(patterns)) }
        return node
    }

    /// A name as a regular expression. A name has only letters, hyphens and dots, so only dots are escaped.
    private static func pattern(_ name: String) -> String { name.replacing(".", with: "\\.") }

    // MARK: Values

    private static func value(_ setting: SettingDescription) -> SchemaNode {
        let unit = setting.unit.isEmpty ? "" : " (\(setting.unit))"
        // Links in the documentation are relative to its page. The schema is read elsewhere, so it has only the words
        // of the links.
        let documentation = setting.documentation.replacing(#/\[([^\]]*)\]\([^)]*\)/#) { $0.output.1 }
        var node = Self.shape(setting.shape).with(
            "description",
            .text(
                "\(documentation)\n\nAccepted: \(setting.expected)\(unit). A change takes \(SettingsTable.effect(setting.effect))."
            ))
        if let standard = setting.defaultText, !standard.isEmpty, !setting.isRequired {
            node = node.with("default", Self.standard(standard, setting.shape))
        }
        return node
    }

    private static func shape(_ shape: SettingDescription.Shape) -> SchemaNode {
        switch shape {
        case .duration: ["type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"]
        // A number in quotes is accepted, too.
        case .number(let range):
            [
                "type": ["integer", "string"], "pattern": "^[0-9]+$", "minimum": .number(Double(range.lowerBound)),
                "maximum": .number(Double(range.upperBound)),
            ]
        case .fraction(let range):
            [
                "type": ["number", "string"], "pattern": "^[0-9]", "minimum": .number(range.lowerBound),
                "maximum": .number(range.upperBound),
            ]
        case .flag: ["enum": [true, false, "true", "false"]]
        case .choice(let words): ["enum": .list(words.map(SchemaNode.text))]
        case .text: Self.scalar
        case .list(let words, let isOnce):
            Self.oneOrSeveral(words.map { ["enum": .list($0.map(SchemaNode.text))] } ?? Self.scalar, isOnce: isOnce)
        }
    }

    private static func standard(_ text: String, _ shape: SettingDescription.Shape) -> SchemaNode {
        switch shape {
        case .number, .fraction: Double(text).map(SchemaNode.number) ?? .text(text)
        case .flag: .flag(text == "true")
        case .list: .list(text.split(separator: ",").map { .text(String($0)) })
        case .duration, .choice, .text: .text(text)
        }
    }

    /// Any text. YAML may read it as a number or a boolean.
    private static let scalar: SchemaNode = ["type": ["string", "number", "boolean"], "minLength": 1]

    /// A list, or a single text. The schema checks them apart, so that an editor can say what is wrong. With `anyOf`,
    /// it would only say that no alternative fits.
    private static func oneOrSeveral(_ one: SchemaNode, isOnce: Bool) -> SchemaNode {
        [
            "if": ["type": "array"], "then": ["items": one, "minItems": 1, "uniqueItems": .flag(isOnce)], "else": one,
        ]
    }

    /// Properties of librdkafka, with any name, nested or written with dots.
    private static let librdkafka: SchemaNode = ["type": "object", "additionalProperties": Self.librdkafkaValue]

    private static let librdkafkaValue: SchemaNode = [
        "type": ["string", "number", "boolean", "object"], "additionalProperties": .reference("librdkafka.value"),
    ]

    private static let apps: SchemaNode = [
        "description": "The apps that this worker pushes for: bundle ids, as a list or with settings below each.",
        // Each of these keywords applies to only one of the three types.
        "type": ["string", "array", "object"], "pattern": .text(Self.bundleID),
        "items": ["type": "string", "pattern": .text(Self.bundleID)], "uniqueItems": true,
        "propertyNames": ["pattern": .text(Self.bundleID)], "additionalProperties": .reference("app"),
    ]

    private static let bundleID =
        "^(?=.{1,155}$)(?!.*\\.push-type\\.liveactivity$)[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*$"
}

/// A node of a JSON Schema.
private indirect enum SchemaNode: Encodable, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    case object([String: SchemaNode])
    case list([SchemaNode])
    case text(String)
    case number(Double)
    case flag(Bool)

    init(stringLiteral text: String) { self = .text(text) }
    init(booleanLiteral flag: Bool) { self = .flag(flag) }
    init(integerLiteral number: Int) { self = .number(Double(number)) }
    init(arrayLiteral elements: SchemaNode...) { self = .list(elements) }
    init(dictionaryLiteral members: (String, SchemaNode)...) {
        self = .object(Dictionary(members) { _, newest in newest })
    }

    static func reference(_ definition: String) -> SchemaNode { ["$ref": .text("#/definitions/\(definition)")] }

    /// This object with one more member.
    func with(_ name: String, _ value: SchemaNode) -> SchemaNode {
        guard case .object(var members) = self else { return self }
        members[name] = value
        return .object(members)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .object(let members): try container.encode(members)
        case .list(let elements): try container.encode(elements)
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .flag(let flag): try container.encode(flag)
        }
    }
}
