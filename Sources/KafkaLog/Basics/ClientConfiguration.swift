import CRDKafka
import Redaction

/// One `rd_kafka_conf_t` that is being filled. It gets Mailboat's defaults, then the operator's properties, then the
/// properties that Mailboat's promises depend on. A later value replaces an earlier one.
struct ClientConfiguration: ~Copyable {
    let pointer: OpaquePointer
    let role: KafkaSettings.Role
    /// Secret values to remove from librdkafka's messages, which may repeat them.
    private var withheld = WithheldValues()
    /// Source of the tokens for a login by OAUTHBEARER; `nil` when the client logs in otherwise, or not at all.
    private var tokens: KafkaTokens?

    init(role: KafkaSettings.Role) {
        self.pointer = rd_kafka_conf_new()
        self.role = role
    }

    /// Whether a client owns the configuration now, and will destroy it.
    private var isTakenOver = false

    deinit { if !self.isTakenOver { rd_kafka_conf_destroy(self.pointer) } }

    /// Makes the configuration of a client that reads or queries but joins no group. `group.…` properties are left out.
    /// - Parameter defaults: defaults that replace those of a consumer.
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

    /// Sets every property in order. Throws for a property that an operator must not set (`reasonFixed`).
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
        // librdkafka logs a warning about a user name in a broker's address, and the warning repeats the name.
        if PropertyKind.all[name] == .addresses, value.contains("@") {
            throw refusal("expected brokers as host:port, separated by commas; a user belongs in sasl.username")
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
            throw refusal("this is a property of Java clients: expected sasl.username and sasl.password instead")
        }
        guard result != RD_KAFKA_CONF_UNKNOWN else { throw refusal("No such configuration property") }
        // librdkafka repeats the value in some of its reasons.
        guard !property.isWithheld else { throw refusal("librdkafka does not accept this value") }
        throw refusal(reason.withUnsafeBufferPointer { String(cString: $0.baseAddress!) })
    }

    /// The value that was set, or librdkafka's default; `nil` when this build of librdkafka has no such property.
    private func value(of name: String) -> String? {
        var byteCount = 512
        var bytes = [CChar](repeating: 0, count: byteCount)
        guard rd_kafka_conf_get(self.pointer, name, &bytes, &byteCount) == RD_KAFKA_CONF_OK else { return nil }
        return bytes.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    /// Whether the program must provide a login token. By itself, this build of librdkafka makes only tokens for tests.
    private var needsToken: Bool {
        self.value(of: "sasl.mechanisms")?.uppercased() == "OAUTHBEARER"
            && self.value(of: "security.protocol")?.lowercased().hasPrefix("sasl") == true
            && self.value(of: "enable.sasl.oauthbearer.unsecure.jwt") != "true"
            && self.value(of: "sasl.oauthbearer.method")?.lowercased() != "oidc"
    }

    /// Throws if the client needs a token and has no source of tokens. Such a client would wait for ever without an
    /// error.
    private func requireSource() throws(KafkaError) {
        guard self.needsToken, self.tokens == nil else { return }
        throw KafkaError(
            code: .invalidArgument,
            text:
                "there is no source of tokens for this login: expected kafka.oauth.token-file, kafka.oauth.token-command or kafka.oauth.token-endpoint, or PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or GSSAPI here",
            subject: .setting(name: "sasl.mechanisms", value: "OAUTHBEARER"))
    }

    /// Makes a client and destroys it before this call returns. The configuration must name no brokers, so that the
    /// client contacts none.
    /// - Throws: the reason why librdkafka refuses to make the client, in librdkafka's words.
    consuming func tryOut() throws(KafkaError) {
        // Without this property, the client would ask Kerberos for a ticket. Not every build has the property.
        _ = rd_kafka_conf_set(self.pointer, "sasl.kerberos.min.time.before.relogin", "0", nil, 0)
        do throws(KafkaError) {
            try self.makeClient(log: { _ in }, isNeeded: false).destroyAndWait()
        } catch {
            guard error.text.hasPrefix(Self.refusalStart) else { throw error }
            throw KafkaError(code: error.code, text: String(error.text.dropFirst(Self.refusalStart.count)))
        }
    }

    private static let refusalStart = "librdkafka could not start a client: "

    /// Makes a client, which then owns this configuration.
    /// - Parameters:
    ///   - joinWatch: observes the client's requests to its group.
    ///   - brokerThreadNiceness: number to add to the nice value of the broker threads (`BrokerThreadNiceness`).
    ///   - isNeeded: `false` for a client that is only made to be destroyed. It asks for no token, and its connections
    ///     are not counted.
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
            // The opaque pointer is set before the client exists, and is released after the client is destroyed
            // (`ClientHandle.deinit`).
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
            // librdkafka 2.0.2 has destroyed the interceptors already, and would destroy them again with the
            // configuration. So a configuration that has interceptors is leaked.
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
    /// Severity as in syslog: 0 emergency … 3 error, 4 warning, 5 notice, 6 info, 7 debug.
    public var severity: Int
    /// librdkafka's short tag, such as `FAIL` or `REQTMOUT`.
    public var facility: String
    /// The text as librdkafka wrote it.
    public var text: String

    /// Whether an operator can ignore the line. Producers and consumers get the same list of properties, and librdkafka
    /// warns each of them about properties that only the other uses. It also warns about old brokers that cannot be
    /// asked not to create topics.
    public var isChatter: Bool {
        (self.facility == "CONFWARN" && self.text.contains("will be ignored by this")) || self.facility == "AUTOCREATE"
    }
}

/// Receives log lines on the librdkafka thread that writes them. A handler must be quick and must not call back into
/// the client. Without a handler, all lines but chatter go to standard error.
public typealias KafkaLogHandler = @Sendable (KafkaLogLine) -> Void

/// The part of a client that C callbacks can reach.
final class ClientContext: Sendable {
    let log: KafkaLogHandler?
    /// The watch is kept here so that it lives as long as the client.
    private let joinWatch: JoinWatch?
    /// Secret values that are removed from every text of librdkafka or of a broker.
    private let withheld: WithheldValues
    /// Source of the tokens for a login by OAUTHBEARER; `nil` when the client logs in otherwise, or not at all.
    let tokens: KafkaTokens?

    init(log: KafkaLogHandler?, joinWatch: JoinWatch?, withheld: WithheldValues, tokens: KafkaTokens?) {
        self.log = log
        self.joinWatch = joinWatch
        self.withheld = withheld
        self.tokens = tokens
    }

    /// A text of librdkafka or of a broker, with secret values removed.
    func struck(_ text: String) -> String {
        let text = self.withheld.struck(from: text)
        return self.tokens?.struck(from: text) ?? text
    }
}
