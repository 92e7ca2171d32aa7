/// Tells a schema from a sample. Both are JSON objects, and a `content-state` may have a key `type` or `items`.
extension ContentSchema {
    /// Every keyword of JSON Schema, draft 7 and 2020-12. Includes keywords that a page's schema may not have, so that
    /// such a schema is recognized and refused.
    private static let keywords: Set<String> = [
        "$schema", "$id", "id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary", "$comment", "$defs",
        "definitions",
        "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies", "prefixItems",
        "items", "additionalItems", "contains", "properties", "patternProperties", "additionalProperties",
        "propertyNames", "unevaluatedItems", "unevaluatedProperties",
        "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
        "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains",
        "maxProperties", "minProperties", "required", "dependentRequired",
        "title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples", "format",
        "contentEncoding", "contentMediaType", "contentSchema",
    ]

    /// Whether a JSON object is a schema; otherwise it is a sample.
    ///
    /// An object with `$schema` is a schema. So is one with an object `properties` beside a `type` that allows objects.
    /// An object is also a schema if every key is a keyword of JSON Schema, and it describes a `content-state` as JSON
    /// Schema does. It does so by a `type` that allows objects. Without a `type`, it does so by `properties` that are
    /// schemas, `required` names, or a `$ref`.
    static func isSchema(_ members: [JSONTree.Member]) -> Bool {
        func value(_ name: String) -> JSONTree? { members.first { $0.name == name }?.value }
        if case .string? = value("$schema") { return true }
        let type = value("type")
        if let type, !Self.allowsObjects(type) { return false }
        if type != nil, case .object? = value("properties") { return true }
        guard members.allSatisfy({ Self.keywords.contains($0.name) }) else { return false }
        if type != nil { return true }
        if case .object(let properties)? = value("properties"), !properties.isEmpty {
            return properties.allSatisfy { if case .object = $0.value { true } else { false } }
        }
        if case .array(let names)? = value("required"), !names.isEmpty {
            return names.allSatisfy { if case .string = $0 { true } else { false } }
        }
        if case .string? = value("$ref") { return true }
        return false
    }

    /// Whether a `type` allows objects: a `content-state` is always one.
    private static func allowsObjects(_ type: JSONTree) -> Bool {
        switch type {
        case .string(let name): name == Kind.object.rawValue
        case .array(let names):
            names.contains(.string(Kind.object.rawValue)) && names.allSatisfy { Kind(rawValue: $0.plainText) != nil }
        case .object, .number, .bool, .null: false
        }
    }
}
