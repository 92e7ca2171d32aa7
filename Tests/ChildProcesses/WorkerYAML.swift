import CommandSupport
package import KafkaLog

/// Parts of a worker's configuration file.
package enum WorkerYAML {
    /// librdkafka properties as lines below `kafka.properties:`; of a name given twice the last counts.
    package static func lines(_ settings: KafkaSettings, indent: Int) -> String {
        var values: [(name: String, value: String)] = []
        for property in settings.properties {
            values.removeAll { $0.name == property.name }
            values.append((property.name, property.value))
        }
        // A JSON string is a YAML string, whatever it holds.
        return values.map { String(repeating: " ", count: indent) + "\($0.name): \(JSONLine.text($0.value))" }
            .joined(separator: "\n")
    }
}
