package import KafkaLog

/// The settings `kafka.oauth.…` among librdkafka's properties, for commands that get a file of properties instead of a
/// worker's configuration.
extension KafkaSettings {
    private static let prefix = "kafka.oauth."

    /// A copy without the settings `kafka.oauth.…`. Clients with the copy log in with tokens from the source that these
    /// settings name. If none of these settings is given, the source stays as it is.
    /// - Throws: for the first setting that does not exist, or whose value is not valid.
    package func loggingIn() throws(ConfigurationError) -> KafkaSettings {
        let given = self.properties.filter { $0.name.hasPrefix(Self.prefix) }
        guard !given.isEmpty else { return self }
        var configuration = WorkerConfiguration()
        for property in given {
            guard let row = WorkerConfiguration.settings.first(where: { $0.description.name == property.name }) else {
                throw ConfigurationError(faults: [
                    ConfigurationFault(setting: property.shownName, text: "is not a setting")
                ])
            }
            let text: SettingText =
                row.description.shape.isList
                ? .list(property.value.split(separator: ",").map(String.init)) : .one(property.value)
            guard row.apply(text, &configuration) else {
                throw ConfigurationError(faults: [
                    ConfigurationFault(
                        setting: property.name,
                        text: "is \(row.kind.refused(text)): expected \(row.description.expected)")
                ])
            }
        }
        let faults = configuration.oauthSourceFaults
        guard faults.isEmpty else { throw ConfigurationError(faults: faults) }
        var settings = self.keeping { !$0.name.hasPrefix(Self.prefix) }
        settings.tokens = TokenKeeper.of(configuration.kafka.oauth)?.tokens
        return settings
    }

    /// The settings below `kafka.oauth` that make a worker log in with the same tokens as these properties. A setting
    /// that is a list has several texts.
    package var oauthSettings: [(name: String, texts: [String])] {
        guard let tokens = self.tokens, let oauth = TokenKeeper.settings(of: tokens) else { return [] }
        let texts: [(String, [String])] = [
            ("token-file", [oauth.tokenFile].compactMap { $0 }), ("token-command", oauth.tokenCommand),
            ("token-endpoint", [oauth.tokenEndpoint].compactMap { $0 }),
            ("client-id", [oauth.clientID].compactMap { $0 }),
            ("client-secret-file", [oauth.clientSecretFile].compactMap { $0 }),
            ("scope", [oauth.scope].compactMap { $0 }), ("ca-file", [oauth.caFile].compactMap { $0 }),
            ("extensions", oauth.extensions),
        ]
        return texts.filter { !$0.1.isEmpty }.map { (name: $0.0, texts: $0.1) }
    }
}
