import CRDKafka
import Glibc
import Redaction

/// The kind of a property that librdkafka knows, read from librdkafka's own list. It says what may be shown of the
/// value. A property that is not in the list may be a misspelt password.
enum PropertyKind: Sendable, Equatable {
    /// A number, a boolean, or one of a few words.
    case closed
    /// The path of a file.
    case path
    /// Addresses of brokers.
    case addresses
    /// A name of a group, a client or a rack.
    case name
    /// Any text. It is never shown.
    case text
    /// A known secret.
    case secret

    /// The kinds by property name, for all names that librdkafka knows.
    static let all: [String: PropertyKind] = Self.read()

    private static let closedTypes = ["integer", "boolean", "float", "enum value", "CSV flags"]
    private static let closedNames: Set<String> = [
        "sasl.mechanism", "sasl.mechanisms", "partition.assignment.strategy", "partitioner", "broker.version.fallback",
    ]
    private static let names: Set<String> = [
        "client.id", "client.rack", "group.id", "group.instance.id", "group.protocol.type", "transactional.id",
    ]
    private static let paths: Set<String> = ["sasl.kerberos.keytab", "offset.store.path"]

    /// Reads what `rd_kafka_conf_properties_show` writes: a table in Markdown with one property on each line, its type
    /// at the end.
    private static func read() -> [String: PropertyKind] {
        var bytes: UnsafeMutablePointer<CChar>?
        var count = 0
        guard let stream = open_memstream(&bytes, &count) else { return [:] }
        rd_kafka_conf_properties_show(stream)
        fclose(stream)
        guard let bytes else { return [:] }
        defer { free(bytes) }
        var kinds: [String: PropertyKind] = [:]
        for line in String(cString: bytes).split(separator: "\n") {
            guard let start = line.firstRange(of: "*Type: "), let name = line.split(separator: " ").first else {
                continue
            }
            kinds[String(name)] = Self.kind(
                of: String(name), type: String(line[start.upperBound...].prefix { $0 != "*" }))
        }
        return kinds
    }

    private static func kind(of name: String, type: String) -> PropertyKind {
        if KafkaSettings.isSecret(name) { return .secret }
        if Self.closedTypes.contains(type) || Self.closedNames.contains(name) { return .closed }
        if KafkaSettings.namesBrokers(name) { return .addresses }
        if Self.names.contains(name) { return .name }
        return name.hasSuffix(".location") || Self.paths.contains(name) ? .path : .text
    }
}

extension KafkaSettings {
    /// Names of properties that librdkafka knows, in order.
    public static var knownNames: [String] { PropertyKind.all.keys.sorted() }
}

extension KafkaSettings.Property {
    /// librdkafka's name of the property. A name that librdkafka does not know is shown only if it looks like a name.
    public var shownName: String { PropertyKind.all[self.name] == nil ? ShownText.unknownName(self.name) : self.name }

    /// What may be shown of the value: stars for a secret, a description of what may be a secret.
    public var shownValue: String {
        if KafkaSettings.isSecret(self.name) { return "***" }
        switch PropertyKind.all[self.name] {
        case .closed:
            // The quotes are left out, because the caller adds them.
            return ShownText.closed(self.value) == "\"\(self.value)\"" ? self.value : self.described
        case .path: return ShownText.path(self.value) ?? self.described
        case .addresses: return ShownText.addresses(self.value)
        case .name: return ShownText.isName(self.value) ? self.value : self.described
        case .secret: return "***"
        case .text, nil: return self.described
        }
    }

    /// Whether text that contains the value must not be shown.
    var isWithheld: Bool { self.shownValue != self.value }

    /// Whether the value is also removed from what librdkafka says. A short text that is not a password is left, since
    /// it may be part of a broker's name.
    var isStruck: Bool {
        let isPassword = KafkaSettings.isSecret(self.name) && self.name != "sasl.username"
        return self.isWithheld && (isPassword || self.value.utf8.count >= 8)
    }

    private var described: String { "(\(ShownText.withheld(self.value)))" }
}
