import CRDKafka
import Redaction

/// One `rd_kafka_conf_t` being filled: our defaults, the operator's properties, then what a promise of ours rests on.
struct ClientConfiguration: ~Copyable {
    let pointer: OpaquePointer
    let role: KafkaSettings.Role
    /// Values that librdkafka may repeat in what it writes, and nobody may see.
    private var withheld = WithheldValues()
    /// The tokens of a login by OAUTHBEARER; `nil`: it logs in otherwise, or not at all.
    private var tokens: KafkaTokens?

    init(role: KafkaSettings.Role) {
        self.pointer = rd_kafka_conf_new()
        self.role = role
    }

    /// A client has it, and destroys it.
    private var isTakenOver = false

    deinit { if !self.isTakenOver { rd_kafka_conf_destroy(self.pointer) } }

    /// For a client that reads or asks but joins no group: `group.…` properties are left out.
    /// - Parameter defaults: where they differ from a consumer's.
    static func withoutGroup(
        _ settings: KafkaSettings, defaults: KafkaSettings = KafkaSettings([])
    ) throws(KafkaError) -> ClientConfiguration {
        var client = ClientConfiguration(role: .consumer)
        try client.apply(ConsumerConfiguration.defaults)
        try client.apply(defaults)
        try client.apply(settings.keeping { !$0.name.hasPrefix("group.") })
        try client.set("enable.auto.commit", "false")
        try client.set("enable.auto.offset.store", "false")
        try client.set("auto.offset.reset", "error")
        return client
    }

    /// Every property in order; refuses those of `fixedProperties`.
    mutating func apply(_ settings: KafkaSettings) throws(KafkaError) {
        self.tokens = settings.tokens ?? self.tokens
        for property in settings.properties {
            if let reason = Self.reasonFixed(property.name, role: self.role) {
                throw KafkaError(
                    code: .invalidArgument, text: "this property cannot be set here: \(reason)",
                    subject: .setting(name: property.shownName, value: property.shownValue))
            }
            try self.set(property.name, property.value)
        }
    }

    mutating func set(_ name: String, _ value: String) throws(KafkaError) {
        let property = KafkaSettings.Property(name, value)
        func refusal(_ text: String) -> KafkaError {
            KafkaError(
                code: .invalidArgument, text: text,
                subject: .setting(name: property.shownName, value: property.shownValue))
        }
        // librdkafka warns of such a broker, and its warning repeats the user.
        if PropertyKind.all[name] == .addresses, value.contains("@") {
            throw refusal("expected brokers as host:port, separated by commas; a user belongs into sasl.username")
        }
        if PropertyKind.all[name] == .addresses, !BrokerList.isValid(value) {
            throw refusal("expected \(BrokerList.expected)")
        }
        if property.isStruck { self.withheld.append(value) }
        let reasonCapacity = 512
        var reason = [CChar](repeating: 0, count: reasonCapacity)
        let result = rd_kafka_conf_set(self.pointer, name, value, &reason, reasonCapacity)
        guard result != RD_KAFKA_CONF_OK else { return }
        if name == "sasl.jaas.config" {
            throw refusal("this is Java's: expected sasl.username and sasl.password in its place")
        }
        guard result != RD_KAFKA_CONF_UNKNOWN else { throw refusal("No such configuration property") }
        // librdkafka repeats the value in some of its reasons.
        guard !property.isWithheld else { throw refusal("librdkafka does not accept this value") }
        throw refusal(reason.withUnsafeBufferPointer { String(cString: $0.baseAddress!) })
    }

    /// What librdkafka was told, or its own default; `nil`: this build of it has no such property.
    private func value(of name: String) -> String? {
        var byteCount = 512
        var bytes = [CChar](repeating: 0, count: byteCount)
        guard rd_kafka_conf_get(self.pointer, name, &bytes, &byteCount) == RD_KAFKA_CONF_OK else { return nil }
        return bytes.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    /// Whether the program has to bring a token: librdkafka of this build gets none by itself, but those that it makes for tests.
    private var needsToken: Bool {
        self.value(of: "sasl.mechanisms")?.uppercased() == "OAUTHBEARER"
            && self.value(of: "security.protocol")?.lowercased().hasPrefix("sasl") == true
            && self.value(of: "enable.sasl.oauthbearer.unsecure.jwt") != "true"
            && self.value(of: "sasl.oauthbearer.method")?.lowercased() != "oidc"
    }

    /// Without a token such a client would wait for ever, without a word.
    private func requireSource() throws(KafkaError) {
        guard self.needsToken, self.tokens == nil else { return }
        throw KafkaError(
            code: .invalidArgument,
            text:
                "nobody brings the tokens of this login: expected kafka.oauth.token-file, kafka.oauth.token-command or kafka.oauth.token-endpoint, or PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or GSSAPI here",
            subject: .setting(name: "sasl.mechanisms", value: "OAUTHBEARER"))
    }

    /// Makes the client and destroys it again, before this returns. To be told no brokers: then nobody is contacted.
    /// - Throws: what the client would be refused for, in librdkafka's words.
    consuming func tryOut() throws(KafkaError) {
        // Otherwise Kerberos is asked for a ticket. Not every build has the property.
        _ = rd_kafka_conf_set(self.pointer, "sasl.kerberos.min.time.before.relogin", "0", nil, 0)
        do throws(KafkaError) {
            try self.makeClient(log: { _ in }, isNeeded: false).destroyAndWait()
        } catch {
            guard error.text.hasPrefix(Self.refusalStart) else { throw error }
            throw KafkaError(code: error.code, text: String(error.text.dropFirst(Self.refusalStart.count)))
        }
    }

    private static let refusalStart = "librdkafka could not start a client: "

    /// The client, which takes this configuration over.
    /// - Parameters:
    ///   - joinWatch: told of the client's requests to its group.
    ///   - brokerThreadNiceness: see `BrokerThreadNiceness`; 0: none.
    ///   - isNeeded: it is to log in. Otherwise nobody is asked for a token.
    consuming func makeClient(
        log: KafkaLogHandler?, joinWatch: JoinWatch? = nil, brokerThreadNiceness: Int32 = 0, isNeeded: Bool = true
    ) throws(KafkaError) -> ClientHandle {
        try self.requireSource()
        let tokens = self.needsToken ? self.tokens : nil
        if isNeeded { ConnectionCount.install(in: self.pointer) }
        joinWatch?.install(in: self.pointer)
        if brokerThreadNiceness > 0 { BrokerThreadNiceness.install(brokerThreadNiceness, in: self.pointer) }
        let context = ClientContext(log: log, joinWatch: joinWatch, withheld: self.withheld, tokens: tokens)
        let retained = Unmanaged.passRetained(context)
        rd_kafka_conf_set_opaque(self.pointer, retained.toOpaque())
        rd_kafka_conf_set_log_cb(self.pointer) { client, level, facility, text in
            // The opaque is set before the client exists and released after it is destroyed (`ClientHandle.deinit`).
            guard let client, let opaque = rd_kafka_opaque(client) else { return }
            let context = Unmanaged<ClientContext>.fromOpaque(opaque).takeUnretainedValue()
            let line = KafkaLogLine(
                severity: Int(level), facility: facility.map { String(cString: $0) } ?? "",
                text: context.struck(text.map { String(cString: $0) } ?? ""))
            if let log = context.log {
                log(line)
            } else if !line.isChatter {
                rd_kafka_log_print(client, level, facility, line.text)
            }
        }
        let reasonCapacity = 512
        var reason = [CChar](repeating: 0, count: reasonCapacity)
        let type = self.role == .consumer ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER
        guard let client = rd_kafka_new(type, self.pointer, &reason, reasonCapacity) else {
            retained.release()
            // librdkafka 2.0.2 has destroyed the interceptors by then, and would do so again with the configuration: it is left behind.
            self.isTakenOver = isNeeded
            throw KafkaError(
                code: .invalidArgument,
                text: Self.refusalStart
                    + context.struck(reason.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }))
        }
        self.isTakenOver = true
        let handle = ClientHandle(client, context: retained)
        if isNeeded { tokens?.add(handle) }
        return handle
    }

    private static func reasonFixed(_ name: String, role: KafkaSettings.Role) -> String? {
        switch name {
        case "enable.auto.commit", "auto.commit.enable", "enable.auto.offset.store", "auto.commit.interval.ms":
            "offsets are committed only after their events are resolved"
        case "auto.offset.reset": "an offset outside the log must be reported, never skipped"
        case "enable.partition.eof", "consume.callback.max.messages": "readers set it themselves"
        case "group.id": "the consumer group is a setting of Mailboat's own"
        case "enable.idempotence", "acks", "request.required.acks":
            role == .producer ? "nothing may be lost or written twice" : nil
        case "delivery.report.only.error": "every delivery is accounted for"
        case "enabled_events", "opaque", "default_topic_conf": "it is internal to librdkafka"
        default: nil
        }
    }
}

/// One line of librdkafka's own log.
public struct KafkaLogLine: Sendable {
    /// As in syslog: 0 emergency … 3 error, 4 warning, 5 notice, 6 info, 7 debug.
    public var severity: Int
    /// librdkafka's short tag, such as `FAIL` or `REQTMOUT`.
    public var facility: String
    /// What librdkafka says, as it says it.
    public var text: String

    /// Nothing to act on. One list of properties serves producers and consumers here, and librdkafka warns each of those
    /// that are for the other; and it warns of brokers too old to be told not to create topics.
    public var isChatter: Bool {
        (self.facility == "CONFWARN" && self.text.contains("will be ignored by this")) || self.facility == "AUTOCREATE"
    }
}

/// Called on the librdkafka thread that has something to say: must be quick and must not call back into the client.
/// Without one, librdkafka writes all but chatter to standard error.
public typealias KafkaLogHandler = @Sendable (KafkaLogLine) -> Void

/// What the C side can reach from a client.
final class ClientContext: Sendable {
    let log: KafkaLogHandler?
    /// Here so that it lives as long as the client.
    private let joinWatch: JoinWatch?
    /// Struck from whatever librdkafka and brokers say.
    private let withheld: WithheldValues
    /// The tokens that it logs in with by OAUTHBEARER; `nil`: it logs in otherwise, or not at all.
    let tokens: KafkaTokens?

    init(log: KafkaLogHandler?, joinWatch: JoinWatch?, withheld: WithheldValues, tokens: KafkaTokens?) {
        self.log = log
        self.joinWatch = joinWatch
        self.withheld = withheld
        self.tokens = tokens
    }

    /// A text of librdkafka's or a broker's, without the values that nobody may see.
    func struck(_ text: String) -> String {
        let text = self.withheld.struck(from: text)
        return self.tokens?.struck(from: text) ?? text
    }
}
