import CRDKafka
import Glibc
import Redaction

/// The kind of a property that librdkafka knows, by librdkafka's own list. The kind decides what may be shown of the
/// value. A property that is not in the list may be a misspelt password, so its value is not shown.
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

    /// Reads the output of `rd_kafka_conf_properties_show`: a Markdown table with one property on each line and the
    /// property's type at the end of the line.
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
    /// Names of all properties that librdkafka knows, in alphabetical order.
    public static var knownNames: [String] { PropertyKind.all.keys.sorted() }
}

extension KafkaSettings.Property {
    /// The property's name as it may be shown. A name that librdkafka does not know is shown only if it looks like a
    /// name; otherwise its length is described.
    public var shownName: String { PropertyKind.all[self.name] == nil ? ShownText.unknownName(self.name) : self.name }

    /// The value as it may be shown: stars for a known secret, a description for a possible secret, otherwise the value
    /// itself.
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

    /// Whether the value must stay hidden. A text that contains it must stay hidden, too.
    var isWithheld: Bool { self.shownValue != self.value }

    /// Whether the value is also removed from librdkafka's messages. A short value that is not a password stays,
    /// because it may be part of a broker's name.
    var isStruck: Bool {
        let isPassword = KafkaSettings.isSecret(self.name) && self.name != "sasl.username"
        return self.isWithheld && (isPassword || self.value.utf8.count >= 8)
    }

    private var described: String { "(\(ShownText.withheld(self.value)))" }
}
