import CRDKafka

/// librdkafka properties, passed through as they are:
/// https://github.com/confluentinc/librdkafka/blob/v2.0.2/CONFIGURATION.md
///
/// The order counts: a later property overrides an earlier one. Because properties are passed through, an operator can
/// use any login and encryption that librdkafka has (SASL, TLS …). Printing a value of this type never shows a secret.
public struct KafkaSettings: Sendable, Hashable {
    /// One librdkafka property, as written.
    public struct Property: Sendable, Hashable {
        /// librdkafka's name of the property, such as `security.protocol`.
        public var name: String
        /// The value as text. It may be a secret: show `shownValue` instead.
        public var value: String
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The kind of client that the properties are for.
    public enum Role: Sendable, Hashable, CaseIterable { case consumer, producer }

    /// The properties in the order they were given; a later one overrides an earlier one.
    public var properties: [Property]
    /// Source of the tokens for a login by OAUTHBEARER; `nil` without one.
    public var tokens: KafkaTokens?

    public init(_ properties: [Property] = [], tokens: KafkaTokens? = nil) {
        self.properties = properties
        self.tokens = tokens
    }

    /// Settings that have only the brokers, `host:port,…`.
    public init(bootstrap: String) { self.properties = [Property("bootstrap.servers", bootstrap)] }

    /// Adds a property that overrides those of the same name.
    public mutating func append(_ name: String, _ value: String) { self.properties.append(Property(name, value)) }

    /// A copy with one more property, which overrides those of the same name.
    public func appending(_ name: String, _ value: String) -> KafkaSettings {
        KafkaSettings(self.properties + [Property(name, value)], tokens: self.tokens)
    }

    /// A copy with all properties of `other`, which override those of the same names.
    public func appending(_ other: KafkaSettings) -> KafkaSettings {
        KafkaSettings(self.properties + other.properties, tokens: other.tokens ?? self.tokens)
    }

    /// A copy with only the properties for which `isKept` is true.
    public func keeping(_ isKept: (Property) -> Bool) -> KafkaSettings {
        KafkaSettings(self.properties.filter(isKept), tokens: self.tokens)
    }

    /// The last value given for `name`.
    public subscript(name: String) -> String? { self.properties.last { $0.name == name }?.value }

    /// Asks librdkafka whether it accepts each property, without connecting. Some faults show only when a client is
    /// made: `ClientTrial` finds these.
    ///
    /// - Throws: an error about the first property (`.setting`) that librdkafka refuses, with the reason. Some
    ///   properties are refused because Mailboat must set them itself, such as those for offset storage and
    ///   acknowledgements.
    public func validate(for role: Role) throws(KafkaError) {
        var configuration = ClientConfiguration(role: role)
        try configuration.apply(self)
    }

    /// Whether `name` is the property that lists the brokers, under either of its two names.
    public static func namesBrokers(_ name: some StringProtocol) -> Bool {
        name == "bootstrap.servers" || name == "metadata.broker.list"
    }

    /// Whether `name` looks like a property whose value is a secret. librdkafka need not know the name. For other
    /// properties, `shownValue` decides what may be shown.
    public static func isSecret(_ name: String) -> Bool {
        let lowered = name.lowercased()
        return lowered != "sasl.oauthbearer.token.endpoint.url"
            && ["password", "secret", "sasl.username", "oauthbearer.config", "key.pem", "ssl.key.location"].contains {
                lowered.contains($0)
            }
    }
}

extension KafkaSettings.Property: CustomStringConvertible {
    public var description: String { "\(self.shownName)=\(self.shownValue)" }
}

extension KafkaSettings: CustomStringConvertible, CustomReflectable {
    public var description: String { self.properties.map(\.description).joined(separator: ", ") }
    /// Keeps `dump` and string interpolation of an enclosing type from showing secrets.
    public var customMirror: Mirror {
        Mirror(self, children: self.properties.map { (label: $0.shownName, value: $0.shownValue as Any) })
    }
}

extension KafkaSettings.Property: CustomReflectable {
    /// Keeps `dump` and string interpolation of an enclosing type from showing a secret.
    public var customMirror: Mirror { Mirror(self, children: [(label: self.shownName, value: self.shownValue as Any)]) }
}
