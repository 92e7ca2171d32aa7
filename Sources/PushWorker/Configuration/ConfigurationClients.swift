import KafkaLog

/// The clients of Kafka that a configuration leads to, made once before anything is started.
extension WorkerConfiguration {
    /// A client of a worker, with what it is told.
    private struct Client {
        var trial: ClientTrial
        var settings: KafkaSettings
        /// Settings that go before those of all clients, and what they are called.
        var own: (group: String, settings: KafkaSettings)

        /// What librdkafka refuses it for; `nil`: nothing.
        func refusal(_ kafka: Kafka, without name: String? = nil) -> KafkaError? {
            let settings = self.settings.keeping { $0.name != name }
            do throws(KafkaError) {
                try self.trial.run(settings, group: (id: kafka.groupID, instanceID: kafka.groupInstanceID))
                return nil
            } catch { return error }
        }
    }

    private var clients: [Client] {
        let consumer = (group: "kafka.consumer", settings: self.kafka.consumer)
        let producer = (group: "kafka.producer", settings: self.kafka.producer)
        // What the topics take is not known yet.
        let limited = TopicLimits().producerSettings.appending(self.kafka.producerSettings)
        return [
            Client(trial: .consumer, settings: self.kafka.consumerSettings, own: consumer),
            Client(trial: .logReader, settings: self.kafka.consumerSettings, own: consumer),
            Client(trial: .producer, settings: limited, own: producer),
            Client(trial: .admin, settings: self.kafka.producerSettings, own: producer),
        ]
    }

    /// What librdkafka refuses only when it makes a client: properties that do not go together, or that it was not built for. Makes one of each
    /// kind and destroys it; connects to nobody.
    func clientFaults() -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        for client in self.clients {
            guard let refusal = client.refusal(self.kafka) else { continue }
            let fault = self.fault(refusal, of: client)
            // Two of them mostly say the same.
            if !faults.contains(where: { $0.description == fault.description }) { faults.append(fault) }
        }
        return faults
    }

    private func fault(_ refusal: KafkaError, of client: Client) -> ConfigurationFault {
        let named = Self.names(in: refusal)
        guard let property = self.culprit(refusal, among: named, of: client) else {
            return ConfigurationFault(setting: "kafka.properties", text: refusal.text)
        }
        let others = named.filter { $0 != property.name }.compactMap { name in
            Self.value(of: name, client).map { "\(name) is \($0.shownValue)" }
        }
        return ConfigurationFault(
            setting: self.settingName(of: property.name, client),
            text: "is \"\(property.shownValue)\": \(refusal.text)"
                + (others.isEmpty ? "" : " (\(others.joined(separator: ", ")))")
                + (Self.hint(refusal, client).map { ": \($0)" } ?? ""))
    }

    /// What librdkafka does not say.
    private static func hint(_ refusal: KafkaError, _ client: Client) -> String? {
        if refusal.text.contains("Unsupported SASL mechanism") {
            return "expected PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI or OAUTHBEARER"
        }
        let isMechanismGiven = client.settings.properties.contains {
            $0.name == "sasl.mechanisms" || $0.name == "sasl.mechanism"
        }
        return refusal.text.contains("sasl.kerberos") && !isMechanismGiven
            ? "sasl.mechanisms is missing, and without it Kerberos is meant" : nil
    }

    /// The property that somebody gave and has to change.
    private func culprit(_ refusal: KafkaError, among names: [String], of client: Client) -> KafkaSettings.Property? {
        let given = client.own.settings.properties.reversed() + self.kafka.common.properties.reversed()
        for name in names {
            if let property = given.first(where: { $0.name == name }) { return property }
        }
        // It is called by another name, or by none: then that one without which all is well.
        return given.first { client.refusal(self.kafka, without: $0.name) == nil }
    }

    private func settingName(of name: String, _ client: Client) -> String {
        let isOwn = client.own.settings.properties.contains { $0.name == name }
        return "\(isOwn ? client.own.group : "kafka.properties").\(name)"
    }

    /// As given, or as a worker has it without.
    private static func value(of name: String, _ client: Client) -> KafkaSettings.Property? {
        let defaults = client.trial == .producer ? ProducerConfiguration.defaults : ConsumerConfiguration.defaults
        return (client.settings.properties.last { $0.name == name })
            ?? defaults.properties.last { $0.name == name }
    }

    /// Properties that librdkafka speaks of, in the order of its words.
    static func names(in refusal: KafkaError) -> [String] {
        if case .setting(let name, _) = refusal.subject { return [name] }
        if refusal.text.contains("SASL mechanism") { return ["sasl.mechanisms", "sasl.mechanism"] }
        let words = refusal.text.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "_")) }
        let known = Set(KafkaSettings.knownNames)
        var names: [String] = []
        for word in words.map(String.init) where known.contains(word) && !names.contains(word) { names.append(word) }
        return names
    }
}
