import KafkaLog
import Testing

struct KafkaSettingsTests {
    @Test(arguments: KafkaSettings.Role.allCases)
    func defaultsAreAccepted(role: KafkaSettings.Role) throws {
        try KafkaSettings(bootstrap: "broker:9092").validate(for: role)
        try ConsumerConfiguration.defaults.validate(for: .consumer)
        try ProducerConfiguration.defaults.validate(for: .producer)
    }

    /// The default settings agree with the goals of `ConsumerConfiguration.defaults`. Only a real broker shows whether
    /// they reach these goals.
    @Test(
        arguments: [
            ConsumerConfiguration.defaults, ConsumerConfiguration.defaults.appending(KafkaLogReader.defaults),
        ])
    func queuesOutlastAFetchThatIsHeldAndStayBounded(settings: KafkaSettings) throws {
        func number(_ name: String) throws -> Int { try #require(settings[name].flatMap { Int($0) }, "\(name)") }
        let recordByteCount = 300
        let queueByteCount = try number("queued.max.messages.kbytes") * 1_024
        let recordsAhead = queueByteCount / recordByteCount
        #expect(try number("queued.min.messages") > 4 * recordsAhead, "the bytes are the bound, small records or not")
        // A shard with a backlog pushes 100,000 to 200,000 events a second.
        #expect(recordsAhead * 1_000 / (try number("fetch.wait.max.ms")) >= 250_000)
        #expect(try number("fetch.message.max.bytes") * 4 <= queueByteCount, "a Fetch overshoots by little")
    }

    /// A Fetch waits for many bytes or for a moment. Without these settings a real broker would answer at the first
    /// byte, and each Fetch would name every partition. See `ConsumerConfiguration.defaults`.
    @Test func aFetchWaitsForMuchOrForAMoment() throws {
        let settings = ConsumerConfiguration.defaults
        #expect(try #require(settings["fetch.min.bytes"].flatMap { Int($0) }) >= 65_536)
        #expect((10...20).contains(try #require(settings["fetch.wait.max.ms"].flatMap { Int($0) })))
    }

    @Test(
        arguments: [(0, 4_096), (1, 4_096), (16, 4_096), (32, 4_096), (64, 2_048), (128, 1_024), (1_000, 1_024)]
            as [(Int, Int)])
    func whatIsFetchedAheadIsBoundedHoweverManyPartitionsThereAre(partitionCount: Int, kilobytes: Int) {
        let settings = ConsumerConfiguration.defaults.appending(
            ConsumerConfiguration.fetchAhead(partitionCount: partitionCount))
        #expect(settings["queued.max.messages.kbytes"] == "\(kilobytes)")
    }

    @Test(arguments: [
        ("linger.ms", "soon", "Invalid value"),
        ("compression.codec", "zip", "zip"),
        ("session.timeout.ms", "-3", "session.timeout.ms"),
    ])
    func anUnacceptablePropertyIsNamedWithItsValueAndTheReason(name: String, value: String, reason: String) {
        let error = #expect(throws: KafkaError.self) {
            try KafkaSettings([.init(name, value)]).validate(for: .producer)
        }
        #expect(error?.subject == .setting(name: name, value: value))
        #expect(error?.description.contains(name) == true)
        #expect(error?.description.contains(value) == true)
        #expect(error?.text.contains(reason) == true)
    }

    @Test(arguments: [
        "enable.auto.commit", "enable.auto.offset.store", "auto.offset.reset", "group.id", "enable.idempotence", "acks",
        "delivery.report.only.error",
    ])
    func propertiesThatPromisesRestOnCannotBeSet(name: String) {
        let error = #expect(throws: KafkaError.self) {
            try KafkaSettings([.init(name, "true")]).validate(for: .producer)
        }
        #expect(error?.subject == .setting(name: name, value: "true"))
    }

    @Test(arguments: [
        "sasl.password", "ssl.key.password", "ssl.keystore.password", "sasl.oauthbearer.client.secret", "ssl.key.pem",
        "sasl.oauthbearer.config",
        "sasl.username",
        // These names are misspelt, or belong to Java's client.
        "sasl.pasword", "sasl.pass", "ssl.keystore.passphrase", "ssl.keystore.passwrd", "sasl.jaas.config",
        // These properties take any text, so their values are not shown.
        "sasl.kerberos.kinit.cmd", "plugin.library.paths",
    ])
    func secretsAreNeverShown(name: String) {
        let secret = "hunter2-very-secret"
        let settings = KafkaSettings([.init("bootstrap.servers", "b:1"), .init(name, secret)])
        var dumped = ""
        dump(settings, to: &dumped)
        dump(ConsumerConfiguration(settings: settings, groupID: "g", driverTopic: "t"), to: &dumped)
        dump(settings.properties, to: &dumped)
        for text in ["\(settings)", String(reflecting: settings), "\(settings.properties)", dumped] {
            #expect(!text.contains(secret))
        }
        #expect("\(settings)".contains("bootstrap.servers=b:1"))
    }

    @Test func aSecretThatIsRefusedIsNotShownEither() {
        let secret = "hunter2\u{1}"
        let settings = KafkaSettings([.init("sasl.password.typo", secret)])
        let error = #expect(throws: KafkaError.self) { try settings.validate(for: .consumer) }
        #expect(error?.description.contains("hunter2") == false)
        #expect(error?.description.contains("sasl.password.typo") == true)
    }

    @Test(arguments: ["sasl.pasword", "sasl.jaas.config", "hush-0123456789abcdef", "a b"])
    func aPropertyThatNobodyKnowsIsRefusedWithoutItsValue(name: String) {
        let error = #expect(throws: KafkaError.self) {
            try KafkaSettings([.init(name, "hunter2")]).validate(for: .consumer)
        }
        #expect(error?.description.contains("hunter2") == false)
        #expect(error?.description.contains(name) == name.hasPrefix("sasl"))
        #expect(
            error?.text
                == (name == "sasl.jaas.config"
                    ? "this is a property of Java clients: expected sasl.username and sasl.password instead"
                    : "No such configuration property"))
    }

    @Test(arguments: ["bootstrap.servers", "metadata.broker.list"])
    func aBrokerWithAUserIsRefusedBeforeAnybodyPrintsIt(name: String) {
        let error = #expect(throws: KafkaError.self) {
            try KafkaSettings([.init(name, "u:hunter2@broker:9092")]).validate(for: .consumer)
        }
        #expect(error?.description.contains("hunter2") == false)
        #expect(error?.text.contains("sasl.username") == true)
    }

    /// A value is shown only as far as librdkafka's own list of properties allows.
    @Test(arguments: [
        ("linger.ms", "soon", "soon"), ("security.protocol", "sasl_ssl", "sasl_ssl"), ("debug", "all", "all"),
        ("sasl.mechanisms", "PLAIN", "PLAIN"), ("ssl.ca.location", "/etc/ca.pem", "/etc/ca.pem"),
        ("client.id", "mailboat", "mailboat"), ("bootstrap.servers", "a:1,b:2", "a:1,b:2"),
        ("linger.ms", "hunter2 and more", "(a text of 16 characters)"), ("sasl.password", "hunter2", "***"),
        ("ssl.ca.location", "-----BEGIN CERTIFICATE-----", "(a certificate)"),
    ])
    func whatMayBeShownIsShown(name: String, value: String, shown: String) {
        #expect(KafkaSettings.Property(name, value).shownValue == shown)
    }

    @Test func librdkafkaListsItsProperties() {
        #expect(KafkaSettings.knownNames.count > 100 && KafkaSettings.knownNames.contains("sasl.password"))
    }

    /// librdkafka's reason why a client cannot start repeats values of settings. Those values are removed.
    @Test func whatLibrdkafkaRepeatsIsStruck() {
        let secret = "hunter2-very-secret"
        let settings = KafkaSettings([
            .init("security.protocol", "ssl"), .init("ssl.key.pem", secret), .init("ssl.providers", secret),
            .init("ssl.keystore.location", secret), .init("ssl.keystore.password", secret),
        ])
        let error = #expect(throws: KafkaError.self) {
            _ = try KafkaAdmin(settings, log: { #expect(!$0.text.contains(secret)) })
        }
        #expect(error?.description.contains(secret) == false)
    }

    @Test func laterPropertiesWin() {
        let settings = KafkaSettings(bootstrap: "a:1").appending(KafkaSettings(bootstrap: "b:2"))
        #expect(settings["bootstrap.servers"] == "b:2")
        #expect(settings["nothing"] == nil)
    }

    @Test func propertiesAreReadFromLines() throws {
        let text = "# how to connect\r\nsecurity.protocol = SASL_SSL\n\n  sasl.password=a=b # c \nbootstrap.servers=a:1"
        let settings = try KafkaSettings(lines: text)
        #expect(settings["security.protocol"] == "SASL_SSL")
        #expect(settings["sasl.password"] == "a=b # c", "a password may hold anything but spaces at its ends")
        #expect(settings["bootstrap.servers"] == "a:1" && settings.properties.count == 3)
    }

    /// A line without a property name is reported but not shown. It may be a password whose name was forgotten.
    @Test(arguments: ["a=b\nhunter2", "a=b\n=hunter2"]) func aLineThatIsNoPropertyIsNamedAndNotShown(text: String) {
        let fault = #expect(throws: PropertiesFault.self) { try KafkaSettings(lines: text) }
        #expect(fault?.description == "line 2: expected name=value, such as security.protocol=SASL_SSL")
    }
}
