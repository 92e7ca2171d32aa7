import APNSPool
package import KafkaLog
import PushEngine
import PushTransport
import Redaction

extension WorkerConfiguration {
    /// Faults of the configuration as a whole: missing values, and values that contradict each other. Single values
    /// were checked when they were read.
    public var faults: [ConfigurationFault] {
        self.kafkaFaults + self.topicFaults + self.flowFaults + self.adminFaults + self.proxyFaults
            + self.apps.flatMap(\.faults).eachOnce
            + (self.apps.isEmpty ? [Self.missing("apps", Self.expectedApps)] : [])
    }
    static let expectedApps = "the bundle id of at least one app, with its settings below"

    private static func missing(_ setting: String, _ expected: String) -> ConfigurationFault {
        ConfigurationFault(setting: setting, text: "is missing: expected \(expected)")
    }

    private var kafkaFaults: [ConfigurationFault] {
        let consumer = self.kafka.consumerSettings
        let hasBrokers = consumer["bootstrap.servers"] != nil || consumer["metadata.broker.list"] != nil
        return (hasBrokers ? [] : [Self.missing("kafka.bootstrap", BrokerList.expected)])
            + self.propertyFaults + self.timeoutFaults + self.oauthFaults
    }

    /// Faults of the timeouts. A worker must not be able to write a record after its partitions have moved, because the
    /// record would follow the new owner's records.
    private var timeoutFaults: [ConfigurationFault] {
        let session = self.kafka.sessionTimeoutMillis
        let names = ["message.timeout.ms", "delivery.timeout.ms"]
        let given = self.kafka.producerSettings.properties.last { names.contains($0.name) }
        guard let given, let millis = Int64(given.value), millis <= 0 || millis >= session else { return [] }
        return [
            ConfigurationFault(
                setting: "kafka.producer.\(given.shownName)",
                text:
                    "is \(given.value): expected 1 to \(session - 1), less than the consumer's session timeout (\(session) ms)"
            )
        ]
    }

    /// Properties that librdkafka refuses.
    var propertyFaults: [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        let groups: [(String, KafkaSettings, [KafkaSettings.Role])] = [
            ("kafka.properties", self.kafka.common, KafkaSettings.Role.allCases),
            ("kafka.consumer", self.kafka.consumer, [.consumer]),
            ("kafka.producer", self.kafka.producer, [.producer]),
        ]
        for (group, settings, roles) in groups {
            for property in settings.properties {
                guard let fault = property.fault(for: roles) else { continue }
                faults.append(ConfigurationFault(setting: "\(group).\(property.shownName)", text: fault))
            }
        }
        return faults
    }

    private var topicFaults: [ConfigurationFault] {
        let named =
            self.topics.events.map { ("topics.events", $0) } + [
                ("topics.routed", self.topics.routed), ("topics.state", self.topics.state),
                ("topics.outcomes", self.topics.outcomes),
                ("topics.dead-letters", self.topics.deadLetters),
            ]
        var faults: [ConfigurationFault] = []
        for (index, (setting, name)) in named.enumerated() {
            if let other = named[..<index].first(where: { $0.1 == name }) {
                faults.append(
                    ConfigurationFault(
                        setting: setting,
                        text: "is \(ShownText.name(name)), and so is \(other.0): expected different topics"))
            }
        }
        return faults
    }

    private var adminFaults: [ConfigurationFault] {
        let files = [
            ("admin.tls.certificate-file", self.admin.tlsCertificateFile),
            ("admin.tls.key-file", self.admin.tlsKeyFile),
        ]
        guard files.contains(where: { $0.1 == nil }), let given = files.first(where: { $0.1 != nil }) else { return [] }
        return files.filter { $0.1 == nil }.map {
            ConfigurationFault(setting: $0.0, text: "is missing: expected one, as \(given.0) is given")
        }
    }

    private var proxyFaults: [ConfigurationFault] {
        let proxy = self.proxy
        if proxy.credentialsFile != nil, proxy.way == ProxySettings.direct {
            return [
                ConfigurationFault(
                    setting: "apns.proxy",
                    text: "is none, and apns.proxy-credentials-file is given: expected the proxy of these credentials")
            ]
        }
        guard proxy.way == ProxySettings.byEnvironment, let fault = proxy.environment.fault else { return [] }
        return [
            ConfigurationFault(
                setting: "apns.proxy", location: proxy.environment.name,
                text:
                    "is \(fault): expected the URL of an HTTP proxy such as http://proxy:3128, without a user: that goes into the file of apns.proxy-credentials-file"
            )
        ]
    }

    private var flowFaults: [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        if self.pool.connectionsWarm > self.pool.connectionsMax {
            faults.append(
                ConfigurationFault(
                    setting: "apns.connections-warm",
                    text:
                        "is \(self.pool.connectionsWarm): expected at most apns.connections-max, which is \(self.pool.connectionsMax)"
                ))
        }
        let backoffs = [
            ("retry", self.engine.retryBackoffMinMillis, self.engine.retryBackoffMaxMillis),
            ("apns", self.pool.backoffMinMillis, self.pool.backoffMaxMillis),
        ]
        for (group, low, high) in backoffs where low > high {
            faults.append(
                ConfigurationFault(
                    setting: "\(group).backoff-min",
                    text:
                        "is \(DurationText.format(millis: low)): expected at most \(group).backoff-max, which is \(DurationText.format(millis: high))"
                ))
        }
        if self.drainTimeoutMillis <= self.quietWaitMillis {
            faults.append(
                ConfigurationFault(
                    setting: "drain-timeout",
                    text:
                        "is \(DurationText.format(millis: self.drainTimeoutMillis)): expected more than quiet-wait, which is \(DurationText.format(millis: self.quietWaitMillis))"
                ))
        }
        // Apps with the same key id must have the same team and the same key file or text. Otherwise one of them is
        // wrong.
        for (index, app) in self.apps.enumerated() {
            guard let keyID = app.keyID, let other = self.apps[..<index].first(where: { $0.keyID == keyID }) else {
                continue
            }
            if other.providerKey() != app.providerKey() {
                faults.append(
                    ConfigurationFault(
                        setting: "apps.\(app.shownBundleID).apns.key-id",
                        text:
                            "is \"\(keyID)\", which \(other.shownBundleID) uses with another team, file or text: expected one team and one file or text per key"
                    ))
            }
        }
        return faults
    }
}

extension AppSettings {
    var faults: [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        // The path may be empty if the key is given as a text.
        let path = self.key == nil ? self.keyFile : "a text"
        for (name, value) in [("apns.team-id", self.teamID), ("apns.key-file", path)] where value.isEmpty {
            let expected = Self.settings.first { $0.description.name == name }?.description.expected ?? ""
            faults.append(
                ConfigurationFault(
                    setting: "apps.\(self.shownBundleID).\(name)",
                    text: "is missing, and so is \(name) for all apps: expected \(expected)"))
        }
        if self.key != nil, !self.keyFile.isEmpty {
            faults.append(self.fault("apns.key", "is given as well as apns.key-file: expected one of the two"))
        }
        if self.key != nil, self.keyID == nil {
            faults.append(
                ConfigurationFault(
                    setting: "apps.\(self.shownBundleID).apns.key-id",
                    text: "is missing: expected the id of the key in apns.key, which does not contain it"))
        }
        // A path that does not end in `.p8` may be a directory. The names of the files in it contain the ids of their
        // keys.
        if self.keyID == nil, self.keyFile.hasSuffix(".p8"), KeyFileName.keyID(path: self.keyFile) == nil {
            faults.append(
                ConfigurationFault(
                    setting: "apps.\(self.shownBundleID).apns.key-id",
                    text:
                        "is missing, and the name of apns.key-file does not contain the id: expected the id, or a file named AuthKey_ABC123DEFG.p8"
                ))
        }
        let smallest = [
            ("budget.per-hour", self.engine.budgetPerHour),
            ("budget.frequent-per-hour", self.engine.budgetFrequentPerHour),
        ].min { $0.1 < $1.1 }
        if let (name, count) = smallest, self.engine.budgetReserve >= count {
            // The fault names the budget's setting as it was given: for this app, or for all apps.
            let other = self.sources[name]?.setting ?? name
            faults.append(
                self.fault(
                    "budget.reserve", "is \(self.engine.budgetReserve): expected less than \(other), which is \(count)")
            )
        }
        return faults
    }
}

extension KafkaSettings.Property {
    /// Why librdkafka refuses the property, and what was probably meant; `nil` when it accepts the property. A property
    /// for one role only is accepted if `roles` contains that role.
    package func fault(for roles: [KafkaSettings.Role] = KafkaSettings.Role.allCases) -> String? {
        let reasons = roles.map { self.reasonRefused(as: $0) }
        guard !reasons.contains(nil), let reason = reasons.compactMap({ $0 }).first else { return nil }
        return "is \"\(self.shownValue)\": \(reason)\(self.nearHint)"
    }

    private func reasonRefused(as role: KafkaSettings.Role) -> String? {
        do {
            try KafkaSettings([self]).validate(for: role)
            return nil
        } catch {
            return error.text
        }
    }

    /// A hint about what was probably meant by an unknown name. Empty when librdkafka knows the name, or knows no
    /// similar one.
    package var nearHint: String {
        let names = KafkaSettings.knownNames
        guard !names.contains(self.name), self.name != "sasl.jaas.config",
            let near = NearSpelling.of(self.name, among: names)
        else { return "" }
        return "; did you mean \(near)?"
    }
}
