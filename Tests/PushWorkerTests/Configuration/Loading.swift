@testable import PushWorker

/// A complete configuration, and functions that load it with changes.
enum Loading {
    static let lines = [
        "kafka.bootstrap: localhost:9092",
        "apns: {team-id: TEAM123456, key-id: KEY1234567, key-file: /keys/a.p8}",
        "apps: [com.example.pizza]",
    ]

    static func load(_ more: String..., environment: [String: String] = [:]) throws(ConfigurationError)
        -> WorkerConfiguration
    {
        try Self.loaded((Self.lines + more).joined(separator: "\n"), environment: environment).configuration
    }

    static func loaded(
        _ text: String, environment: [String: String] = [:]
    ) throws(ConfigurationError) -> ConfigurationLoader.Loaded {
        try ConfigurationLoader.load(Array(text.utf8), fileName: "worker.yaml", environment: environment)
    }

    /// The faults of a file, or an empty list when it is good.
    static func faults(_ text: String, environment: [String: String] = [:]) -> [ConfigurationFault] {
        do throws(ConfigurationError) {
            _ = try Self.loaded(text, environment: environment)
            return []
        } catch {
            return error.faults
        }
    }

    static func faults(adding more: String..., environment: [String: String] = [:]) -> [ConfigurationFault] {
        Self.faults((Self.lines + more).joined(separator: "\n"), environment: environment)
    }
}
