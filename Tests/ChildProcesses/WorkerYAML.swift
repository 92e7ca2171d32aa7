import CommandSupport
package import KafkaLog
import PushWorker

/// Parts of a worker's configuration file.
package enum WorkerYAML {
    /// librdkafka properties as lines below `kafka.properties:`. If a name is given twice, the last value counts.
    package static func lines(_ settings: KafkaSettings, indent: Int) -> String {
        var values: [(name: String, value: String)] = []
        for property in settings.properties {
            values.removeAll { $0.name == property.name }
            values.append((property.name, property.value))
        }
        // Every JSON string is also a YAML string.
        return values.map { String(repeating: " ", count: indent) + "\($0.name): \(JSONLine.text($0.value))" }
            .joined(separator: "\n")
    }

    /// The group `kafka.oauth`, after a line end. The text is empty if the settings do not log in with tokens.
    package static func login(_ settings: KafkaSettings) -> String {
        let lines = settings.oauthSettings.map { name, texts in
            let values = texts.map { JSONLine.text($0) }
            let isList = ["token-command", "extensions"].contains(name)
            return "  \(name): \(isList ? "[\(values.joined(separator: ", "))]" : values.joined())"
        }
        return lines.isEmpty ? "" : "\nkafka.oauth:\n" + lines.joined(separator: "\n")
    }
}
