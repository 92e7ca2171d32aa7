import KafkaLog

/// The Kafka clients that a configuration needs, each made once before anything is started.
extension WorkerConfiguration {
    /// One Kafka client of a worker, with its settings.
    private struct Client {
        var trial: ClientTrial
        var settings: KafkaSettings
        /// The group of settings for this kind of client, with the group's name. They override the settings for all
        /// clients.
        var own: (group: String, settings: KafkaSettings)

        /// Why librdkafka refuses to make the client; `nil` when it does not refuse.
        /// - Parameter name: a property that is left out.
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
        // The topics' limits are not known yet.
        let limited = TopicLimits().producerSettings.appending(self.kafka.producerSettings)
        return [
            Client(trial: .consumer, settings: self.kafka.consumerSettings, own: consumer),
            Client(trial: .logReader, settings: self.kafka.consumerSettings, own: consumer),
            Client(trial: .producer, settings: limited, own: producer),
            Client(trial: .admin, settings: self.kafka.producerSettings, own: producer),
        ]
    }

    /// Faults that librdkafka finds only when it makes a client, such as properties that contradict each other, or that
    /// its build does not support. Makes one client of each kind and destroys it. Connects to no broker.
    func clientFaults() -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        for client in self.clients {
            guard let refusal = client.refusal(self.kafka) else { continue }
            let fault = self.fault(refusal, of: client)
            // Different clients usually report the same fault.
            if !faults.contains(where: { $0.description == fault.description }) { faults.append(fault) }
        }
        return faults
    }

    private func fault(_ refusal: KafkaError, of client: Client) -> ConfigurationFault {
        let named = Self.names(in: refusal)
        if let fault = self.missing(named, refusal, of: client) { return fault }
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

    /// The fault of a required property that is missing; `nil`: none is missing. Other properties that the message
    /// names are not at fault.
    private func missing(_ named: [String], _ refusal: KafkaError, of client: Client) -> ConfigurationFault? {
        guard refusal.text.hasSuffix("must be set"), let name = named.first(where: { client.settings[$0] == nil })
        else {
            return nil
        }
        let setting = self.settingName(of: name, client)
        return ConfigurationFault(
            setting: setting,
            text: "is missing: \(refusal.text). The environment gives it as "
                + ConfigurationLoader.variableName(of: setting))
    }

    /// An explanation that librdkafka's message lacks.
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

    /// The given property that must be changed.
    private func culprit(_ refusal: KafkaError, among names: [String], of client: Client) -> KafkaSettings.Property? {
        let given = client.own.settings.properties.reversed() + self.kafka.common.properties.reversed()
        for name in names {
            if let property = given.first(where: { $0.name == name }) { return property }
        }
        // The message does not contain the name of a given property. The culprit is then the property without which
        // librdkafka accepts the client.
        return given.first { client.refusal(self.kafka, without: $0.name) == nil }
    }

    private func settingName(of name: String, _ client: Client) -> String {
        let isOwn = client.own.settings.properties.contains { $0.name == name }
        return "\(isOwn ? client.own.group : "kafka.properties").\(name)"
    }

    /// The property as given. If it is not given, the one with the value that a worker uses by default.
    private static func value(of name: String, _ client: Client) -> KafkaSettings.Property? {
        let defaults = client.trial == .producer ? ProducerConfiguration.defaults : ConsumerConfiguration.defaults
        return (client.settings.properties.last { $0.name == name })
            ?? defaults.properties.last { $0.name == name }
    }

    /// Properties that librdkafka's message names, in the order of its words.
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
