import KafkaLog
import LocalFiles
import Redaction
import TLSSession

/// Faults of a login to Kafka by OAUTHBEARER.
extension WorkerConfiguration {
    /// Faults of the login's settings, by themselves and together with librdkafka's properties.
    var oauthFaults: [ConfigurationFault] {
        let faults = self.oauthSourceFaults
        guard faults.isEmpty, let source = self.kafka.oauth.givenSources.first else { return faults }
        return self.mechanismFaults(source)
    }

    /// Faults of the token source's own settings.
    var oauthSourceFaults: [ConfigurationFault] {
        let oauth = self.kafka.oauth
        let sources = oauth.givenSources
        if let first = sources.first, sources.count > 1 {
            return sources.dropFirst().map {
                ConfigurationFault(setting: $0, text: "is given, and so is \(first): expected one source of tokens")
            }
        }
        let endpoint = "kafka.oauth.token-endpoint"
        guard oauth.tokenEndpoint == nil else {
            return [
                ("kafka.oauth.client-id", oauth.clientID), ("kafka.oauth.client-secret-file", oauth.clientSecretFile),
            ]
            .filter { $0.1 == nil }
            .map { ConfigurationFault(setting: $0.0, text: "is missing: expected one, as \(endpoint) is given") }
        }
        let needless = [
            ("kafka.oauth.client-id", oauth.clientID), ("kafka.oauth.client-secret-file", oauth.clientSecretFile),
            ("kafka.oauth.scope", oauth.scope), ("kafka.oauth.ca-file", oauth.caFile),
        ].filter { $0.1 != nil }.map {
            ConfigurationFault(setting: $0.0, text: "is given without \(endpoint), which it is for: expected both")
        }
        guard needless.isEmpty, sources.isEmpty, !oauth.extensions.isEmpty else { return needless }
        return [
            ConfigurationFault(
                setting: "kafka.oauth.extensions",
                text:
                    "is given without a source of tokens: expected kafka.oauth.token-file, kafka.oauth.token-command or \(endpoint)"
            )
        ]
    }

    /// Faults of the mechanism. A token source works only with OAUTHBEARER, and librdkafka must not make tokens of its
    /// own.
    private func mechanismFaults(_ source: String) -> [ConfigurationFault] {
        let clients = [self.kafka.consumerSettings, self.kafka.producerSettings]
        func wrong(_ names: [String], _ isGood: (String) -> Bool) -> KafkaSettings.Property?? {
            let given = clients.map { settings in settings.properties.last { names.contains($0.name) } }
            guard !given.contains(where: { $0.map { isGood($0.value) } ?? false }) else { return nil }
            return .some(given.compactMap { $0 }.first)
        }
        func fault(_ property: KafkaSettings.Property?, _ name: String, _ expected: String) -> ConfigurationFault {
            let found =
                property.map { "kafka.properties.\(name) is \($0.shownValue)" } ?? "kafka.properties.\(name) is missing"
            return ConfigurationFault(setting: source, text: "is given, and \(found): expected \(expected)")
        }
        if let found = wrong(["sasl.mechanisms", "sasl.mechanism"], { $0.uppercased() == "OAUTHBEARER" }) {
            return [fault(found, "sasl.mechanisms", "OAUTHBEARER")]
        }
        if let found = wrong(["security.protocol"], { $0.lowercased().hasPrefix("sasl_") }) {
            return [fault(found, "security.protocol", "SASL_SSL")]
        }
        let own = clients.lazy.compactMap { $0["enable.sasl.oauthbearer.unsecure.jwt"] }.first { $0 == "true" }
        guard own != nil else { return [] }
        return [
            ConfigurationFault(
                setting: source,
                text:
                    "is given, and kafka.properties.enable.sasl.oauthbearer.unsecure.jwt makes librdkafka generate test tokens: expected one of them"
            )
        ]
    }

    /// Faults of files and programs that cannot be used. A file must hold a token. A program is not run and an endpoint
    /// is not asked.
    func oauthFileFaults() -> [ConfigurationFault] {
        guard let source = self.kafka.oauth.source else { return [] }
        func fault(_ fault: TokenFault) -> ConfigurationFault {
            ConfigurationFault(setting: fault.setting, text: fault.text)
        }
        switch source {
        case .file:
            // A file with an expired token is accepted here, because the token will be replaced.
            do throws(TokenFault) { _ = try source.ask(wallMillis: { 0 }) } catch { return [fault(error)] }
        case .command(let words):
            if let found = TokenCommand.fault(words) { return [fault(found)] }
        case .endpoint(let endpoint):
            var faults: [ConfigurationFault] = []
            do throws(TokenFault) { _ = try TokenEndpoint.secret(endpoint.secretFile) } catch {
                faults.append(fault(error))
            }
            do throws(TokenFault) { _ = try endpoint.tls() } catch { faults.append(fault(error)) }
            return faults
        }
        return []
    }
}
