import KafkaLog
import Logging
import PushEngine
import PushModel
import Testing

@testable import PushWorker

struct ConfigurationLoaderTests {
    @Test func aShortFileIsEnough() throws {
        let configuration = try Loading.load()
        #expect(configuration.kafka.consumerSettings["bootstrap.servers"] == "localhost:9092")
        #expect(configuration.topics.events == ["liveactivity.events"])
        #expect(configuration.apps.map(\.bundleID) == ["com.example.pizza"])
        #expect(configuration.apps[0].keyFile == "/keys/a.p8")
        #expect(configuration.apps[0].engine.budgetPerHour == 15)
        #expect(configuration.drainTimeoutMillis == 15_000)
        #expect(configuration.admin.port == 9_464)
    }

    @Test func noFileIsNeededAtAll() throws {
        let loaded = try ConfigurationLoader.load(
            nil, fileName: "",
            environment: [
                "MAILBOAT_KAFKA_BOOTSTRAP": "a:1,b:2", "MAILBOAT_APPS": "com.example.pizza,com.example.game",
                "MAILBOAT_APNS_TEAM_ID": "TEAM123456",
                "MAILBOAT_APNS_KEY_ID": "KEY1234567", "MAILBOAT_APNS_KEY_FILE": "/keys/a.p8",
                "MAILBOAT_TOPICS_EVENTS": "one,two",
                "MAILBOAT_KAFKA_PROPERTIES_SASL_PASSWORD": "hush",
            ])
        #expect(loaded.configuration.apps.map(\.bundleID) == ["com.example.pizza", "com.example.game"])
        #expect(loaded.configuration.topics.events == ["one", "two"])
        #expect(loaded.configuration.kafka.common["sasl.password"] == "hush")
        #expect(loaded.warnings.isEmpty)
    }

    /// A capital letter in a bundle id adds no underscore to the name of a variable. Spaces around a comma do not
    /// belong to a topic.
    @Test func variablesAreNamedAfterTheirSettings() throws {
        let loaded = try ConfigurationLoader.load(
            Array(
                Loading.lines.joined(separator: "\n").replacing("com.example.pizza", with: "com.example.myPizza").utf8),
            fileName: "m.yaml",
            environment: [
                "MAILBOAT_APPS_COM_EXAMPLE_MYPIZZA_BUDGET_RESERVE": "3", "MAILBOAT_BUDGET_PER_HOUR": "40",
                "MAILBOAT_TOPICS_EVENTS": " one, two\t",
            ])
        #expect(loaded.configuration.apps.map(\.engine.budgetReserve) == [3])
        #expect(loaded.configuration.apps.map(\.engine.budgetPerHour) == [40])
        #expect(loaded.configuration.topics.events == ["one", "two"])
        #expect(loaded.warnings.isEmpty)
    }

    @Test func jsonIsUnderstoodToo() throws {
        let text = """
            {"kafka": {"bootstrap": "h:1", "consumer": {"fetch.wait.max.ms": 10}}, "apns": {"team-id": "TEAM123456", "key-id": "KEY1234567",
             "key-file": "/k"}, "apps": {"com.example.pizza": {"budget": {"per-hour": 20}}}, "admin": {"enabled": false}}
            """
        let configuration = try Loading.loaded(text).configuration
        #expect(configuration.kafka.consumerSettings["fetch.wait.max.ms"] == "10")
        #expect(configuration.apps[0].engine.budgetPerHour == 20)
        #expect(!configuration.admin.isEnabled)
    }

    @Test func anAppsOwnSettingWinsOverTheOneForAll() throws {
        let text =
            Loading.lines.dropLast().joined(separator: "\n") + """

                coalescing.low-priority-window: 2s
                budget: {per-hour: 30, reserve: 1}
                apps:
                  com.example.pizza: {}
                  com.example.game:
                    coalescing: {low-priority-window: 3s}
                    budget.per-hour: 40
                    apns: {environments: [production, development], key-id: OTHERKEY12, key-file: /keys/b.p8, development: {host: h, port: 1}}
                """
        let apps = try Loading.loaded(text).configuration.apps
        #expect(apps.map(\.engine.lowPriorityWindowMillis) == [2_000, 3_000])
        #expect(apps.map(\.engine.budgetPerHour) == [30, 40])
        #expect(apps.map(\.engine.budgetReserve) == [1, 1])
        #expect(apps.map(\.keyID) == ["KEY1234567", "OTHERKEY12"])
        #expect(apps.map(\.environments) == [[.production], [.production, .development]])
        #expect(apps[1].development.host == "h")
        #expect(apps[0].development.host == "api.sandbox.push.apple.com")
    }

    @Test func theEnvironmentWins() throws {
        let environment = [
            "MAILBOAT_BUDGET_PER_HOUR": "50", "MAILBOAT_APPS_COM_EXAMPLE_PIZZA_BUDGET_RESERVE": "7",
            "MAILBOAT_LOG_LEVEL": "debug",
            "PATH": "/bin",
        ]
        let configuration = try Loading.load(
            "budget: {per-hour: 20, reserve: 1}", "log.level: error", environment: environment)
        #expect(configuration.apps[0].engine.budgetPerHour == 50)
        #expect(configuration.apps[0].engine.budgetReserve == 7)
        #expect(configuration.logLevel == .debug)
    }

    @Test func librdkafkasPropertiesPassThrough() throws {
        let configuration = try Loading.load(
            "kafka.properties: {security.protocol: ssl, socket.timeout.ms: 5000}",
            "kafka.consumer: {fetch: {wait.max.ms: 7}}",
            "kafka.producer.linger.ms: 3", environment: ["MAILBOAT_KAFKA_PRODUCER_LINGER_MS": "9"])
        #expect(configuration.kafka.consumerSettings["security.protocol"] == "ssl")
        #expect(configuration.kafka.producerSettings["security.protocol"] == "ssl")
        #expect(configuration.kafka.consumerSettings["fetch.wait.max.ms"] == "7")
        #expect(configuration.kafka.producerSettings["fetch.wait.max.ms"] == nil)
        #expect(configuration.kafka.producerSettings["linger.ms"] == "9")
    }

    @Test func brokersMayBeGivenAsLibrdkafkaCallsThem() throws {
        let text = Loading.lines.dropFirst().joined(separator: "\n") + "\nkafka.properties.bootstrap.servers: h:1"
        #expect(try Loading.loaded(text).configuration.kafka.consumerSettings["bootstrap.servers"] == "h:1")
    }

    // MARK: Faults

    @Test(arguments: [
        ("kafka.grup: x", "kafka.grup", "worker.yaml:4", "did you mean kafka.group?"),
        ("placment: trust", "placment", "worker.yaml:4", "did you mean placement?"),
        ("budget: {per_hour: 3}", "budget.per_hour", "worker.yaml:4", "did you mean budget.per-hour?"),
        ("nonsense: 1", "nonsense", "worker.yaml:4", "is not a setting"),
        ("kafka: x", "kafka", "worker.yaml:4", "is not a setting"),
        ("log.level:", "log.level", "worker.yaml:4", "has no value"),
        ("log.level: ~", "log.level", "worker.yaml:4", "has no value"),
        ("topics.events: [{a: b}]", "topics.events", "worker.yaml:4", "list of something else"),
        ("topics.events: [a, a]", "topics.events", "worker.yaml:4", "names a twice: expected each once"),
        ("apns.environments: [sandbox]", "apns.environments", "worker.yaml:4", "; Apple's sandbox is development"),
        ("apns.environments: [prodution]", "apns.environments", "worker.yaml:4", "; did you mean production?"),
        ("placement: chek", "placement", "worker.yaml:4", "; did you mean check?"),
        (
            "kafka.password: x", "kafka.password", "worker.yaml:4",
            "did you mean kafka.properties.sasl.password? It is a secret: better from the environment, as MAILBOAT_KAFKA_PROPERTIES_SASL_PASSWORD"
        ),
        (
            "security.protocol: ssl", "security.protocol", "worker.yaml:4",
            "did you mean kafka.properties.security.protocol?"
        ),
        (
            "kafka.properties: {sasl.password: [hunter2secret]}", "kafka.properties.sasl.password", "worker.yaml:4",
            "is a list: expected one text"
        ),
        ("topics.state: liveactivity.routed", "topics.state", "worker.yaml:4", "and so is topics.routed"),
        ("apns.connections-warm: 5", "apns.connections-warm", "worker.yaml:4", "which is 4"),
        (
            "apns.backoff-min: 60s\napns.backoff-max: 1s", "apns.backoff-min", "worker.yaml:4",
            "at most apns.backoff-max"
        ),
        ("drain-timeout: 1s\nquiet-wait: 2s", "drain-timeout", "worker.yaml:4", "more than quiet-wait, which is 2s"),
        (
            "budget: {per-hour: 2, reserve: 2}", "budget.reserve", "worker.yaml:4",
            "expected less than budget.per-hour, which is 2"
        ),
        ("kafka.consumer.no.such: 1", "kafka.consumer.no.such", "worker.yaml:4", "No such configuration property"),
        (
            "kafka.properties.sasl.pasword: x", "kafka.properties.sasl.pasword", "worker.yaml:4",
            "did you mean sasl.password?"
        ),
        ("kafka.consumer.fetch.wait.max.ms: x", "kafka.consumer.fetch.wait.max.ms", "worker.yaml:4", "is \"x\""),
        (
            "kafka.consumer.enable.auto.commit: true", "kafka.consumer.enable.auto.commit", "worker.yaml:4",
            "cannot be set"
        ),
    ])
    func faultsNameSettingPlaceAndExpectation(line: String, setting: String, place: String, text: String) throws {
        let faults = Loading.faults(adding: line)
        let fault = try #require(faults.first)
        #expect(faults.count == 1, "\(faults)")
        #expect(fault.setting == setting)
        #expect((fault.location ?? "") == place)
        #expect(fault.text.contains(text), "\(fault)")
    }

    /// Faults are in the order of the file, no matter which check has found them. Faults of variables follow.
    @Test func faultsAreInTheOrderOfTheFile() throws {
        let text = [
            "placement: chek", "kafka.grup: x", "budget.per-hour: no", "kafka.properties.no.such: 1",
            "apps: [\"no id\"]",
            "log.level: loud",
        ]
        let faults = Loading.faults(text.joined(separator: "\n"), environment: ["MAILBOAT_SHARDS": "no"])
        #expect(faults.map(\.line) == [1, 2, 3, 4, 5, 6, nil], "\(faults)")
        #expect(faults.last?.location == "MAILBOAT_SHARDS")
    }

    /// An empty list of apps is reported as empty, not as missing. The fault names the line of the list.
    @Test(arguments: ["apps: []", "apps: {}"])
    func anEmptyListOfAppsIsNotCalledMissing(line: String) throws {
        let faults = Loading.faults("kafka.bootstrap: h:1\n\(line)")
        let text = "is empty: expected the bundle id of at least one app, with its settings below"
        #expect(faults == [.init(setting: "apps", location: "worker.yaml:2", text: text)], "\(faults)")
    }

    @Test(arguments: [
        ("apps: [\"no id\"]", [:], "worker.yaml:1"), ("apps: {\"no id\": {}}", [:], "worker.yaml:1"),
        ("apps: [a.b, a.b]", [:], "worker.yaml:1"), ("", ["MAILBOAT_APPS": "no id"], "MAILBOAT_APPS"),
    ])
    func aFaultOfAnAppsNameHasItsPlace(text: String, environment: [String: String], place: String) throws {
        let faults = Loading.faults(text, environment: environment)
        #expect(faults.first?.setting == "apps" && faults.first?.location == place, "\(faults)")
    }

    /// A hint that helps with each of several faults is given once, at the end.
    @Test func whatHelpsWithAllFaultsIsSaidOnce() {
        let error = #expect(throws: ConfigurationError.self) {
            try Loading.load("nonsense: 1", "rubbish: 2", "kafka.grup: x")
        }
        let text = error?.description ?? ""
        #expect(text.ranges(of: "--print-settings").count == 1 && text.hasSuffix("lists all settings"), "\(text)")
        let other = #expect(throws: ConfigurationError.self) { try Loading.load("kafka.grup: x") }
        #expect(other?.description.contains("--print-settings") == false)
    }

    /// A broker without a port is accepted with a warning, because earlier releases accepted such files.
    @Test(arguments: [
        ("kafka.bootstrap: h", "worker.yaml:1: kafka.bootstrap: h has no port, so Kafka's usual one is taken: 9092"),
        (
            "kafka.bootstrap: \"h:1,i,[::1]\"",
            "worker.yaml:1: kafka.bootstrap: i, [::1] have no port, so Kafka's usual one is taken: 9092"
        ),
        (
            "kafka.properties.bootstrap.servers: h",
            "kafka.bootstrap: h has no port, so Kafka's usual one is taken: 9092"
        ),
        ("kafka.bootstrap: h:1", nil),
    ])
    func aMissingPortIsSaid(line: String, warning: String?) throws {
        let loaded = try Loading.loaded(([line] + Loading.lines.dropFirst()).joined(separator: "\n"))
        #expect(loaded.warnings == (warning.map { [$0] } ?? []))
    }

    @Test(arguments: [
        ("kafka.bootstrap", ["apns: {team-id: TEAM123456, key-id: KEY1234567, key-file: /k}", "apps: [a.b]"]),
        ("apps", ["kafka.bootstrap: h:1"]),
        ("apps.a.b.apns.team-id", ["kafka.bootstrap: h:1", "apns: {key-id: KEY1234567, key-file: /k}", "apps: [a.b]"]),
        (
            "apps.a.b.apns.key-id",
            ["kafka.bootstrap: h:1", "apns: {team-id: TEAM123456, key-file: /k.p8}", "apps: [a.b]"]
        ),
        (
            "apps.a.b.apns.key-file",
            ["kafka.bootstrap: h:1", "apns: {team-id: TEAM123456, key-id: KEY1234567}", "apps: [a.b]"]
        ),
    ])
    func whatIsMissingIsNamed(setting: String, lines: [String]) {
        let faults = Loading.faults(lines.joined(separator: "\n"))
        #expect(faults.map(\.setting) == [setting])
        #expect(faults.first?.text.contains("missing") == true)
    }

    @Test(arguments: [
        ("", "is missing"), ("# nothing\n", "is missing"), ("just words", "holds no settings"),
        ("- a\n- b", "holds no settings"),
        ("a: [", "is not YAML"), ("a: b: c", "is not YAML"), ("\u{0}", "is not YAML"),
        ("a: *nowhere", "is not YAML"),
    ])
    func whatIsNoFileOfSettingsIsSaid(text: String, said: String) throws {
        let fault = try #require(Loading.faults(text).first)
        #expect(fault.text.contains(said), "\(fault)")
        #expect(!fault.text.contains("\n"))
    }

    @Test(arguments: [
        ("# one\noutcomes.publish: all\n\nkafka.group: a\noutcomes.publish: pushes", 5, ["outcomes.publish"], "line 2"),
        ("log:\n  level: info\n  format: text\n  'level' : debug\nlevel: x", 4, ["level"], "line 2"),
        ("a: 1\na: 2\nb: 1\na: 3\nb: 2", 4, ["a", "b"], "lines 1, 2"),
    ])
    func aNameThatStandsTwiceIsNamedWithItsLines(text: String, line: Int, names: [String], others: String) throws {
        let faults = Loading.faults(text)
        #expect(faults.map(\.setting) == names)
        let first = try #require(faults.first)
        #expect(first.location == "worker.yaml:\(line)" && first.text == "is given twice: also on \(others)")
    }

    @Test func aNameThatStandsTwiceBetweenBracesIsNamed() {
        #expect(Loading.faults("log: {level: info, level: debug}").map(\.text) == ["is given twice"])
    }

    @Test func aFileThatIsNoTextIsRefused() {
        #expect(throws: ConfigurationError.self) {
            try ConfigurationLoader.load([0xff, 0xfe, 0x41], fileName: "w", environment: [:])
        }
        #expect(throws: ConfigurationError.self) {
            try ConfigurationLoader.load(
                [UInt8](repeating: 0x20, count: ConfigurationFile.byteCountMax + 1), fileName: "w", environment: [:])
        }
    }

    @Test func allFaultsComeAtOnce() {
        let faults = Loading.faults(
            adding: "placment: trust", "budget.per-hour: 0", "log.level: loud", "kafka.consumer.no.such: 1",
            environment: ["MAILBOAT_DRAIN_TIMEOT": "3s", "MAILBOAT_RETENTION": "soon"])
        #expect(
            Set(faults.map(\.setting)) == [
                "placment", "budget.per-hour", "log.level", "kafka.consumer.no.such", "MAILBOAT_DRAIN_TIMEOT",
                "retention",
            ])
        #expect(faults.contains { $0.location == "MAILBOAT_RETENTION" })
    }

    @Test func aBadValueForAllAppsIsOneFault() {
        let text = Loading.lines.dropLast().joined(separator: "\n") + "\napps: [a.b, c.d]\nretention: soon"
        #expect(Loading.faults(text).count == 1)
    }

    @Test func anAppsTopicIsNotItsBundleID() {
        let text =
            Loading.lines.dropLast().joined(separator: "\n") + "\napps: [com.example.pizza.push-type.liveactivity]"
        #expect(
            Loading.faults(text).map(\.text) == [
                "com.example.pizza.push-type.liveactivity is no bundle id: expected the bundle id alone, without .push-type.liveactivity, which belongs to APNs' topic"
            ])
    }

    @Test(arguments: ["a b", "a/b", "é", "a..b", ".a", "a.", String(repeating: "a", count: 156)])
    func bundleIDsAreChecked(bundleID: String) {
        let text = Loading.lines.dropLast().joined(separator: "\n") + "\napps: [\"\(bundleID)\"]"
        #expect(Loading.faults(text).contains { $0.text.contains("is no bundle id") })
    }

    @Test func appsOfOneKeyAgreeAboutIt() {
        let text =
            Loading.lines.dropLast().joined(separator: "\n") + "\napps:\n  a.b: {}\n  c.d: {apns: {key-file: /other}}"
        #expect(Loading.faults(text).first?.setting == "apps.c.d.apns.key-id")
    }

    /// A fault in a setting that all apps share is reported once, under the name that the file uses.
    @Test func faultsOfAppsAreNamedAsTheyWereGiven() {
        let start = Loading.lines.dropLast().joined(separator: "\n")
        let shared = Loading.faults(start + "\napps: [a.b, c.d]\nbudget: {per-hour: 2, reserve: 2}")
        #expect(shared.map { "\($0.location ?? "") \($0.setting)" } == ["worker.yaml:4 budget.reserve"])
        let own = Loading.faults(start + "\napps:\n  a.b: {}\n  c.d:\n    budget: {per-hour: 2, reserve: 2}")
        #expect(own.map { "\($0.location ?? "") \($0.setting)" } == ["worker.yaml:6 apps.c.d.budget.reserve"])
        let apart = Loading.faults(start + "\napps:\n  a.b: {budget.per-hour: 2}\nbudget.reserve: 4")
        #expect(
            apart.map { "\($0)" } == [
                "worker.yaml:5: budget.reserve: is 4: expected less than apps.a.b.budget.per-hour, which is 2"
            ])
        let variable = Loading.faults(
            start + "\napps: [a.b]\nbudget: {per-hour: 2}", environment: ["MAILBOAT_BUDGET_RESERVE": "5"])
        #expect(variable.map { "\($0.location ?? "") \($0.setting)" } == ["MAILBOAT_BUDGET_RESERVE budget.reserve"])
    }

    @Test(arguments: [
        ("\u{FEFF}", "begins with a byte order mark"), ("\u{FEFF}\u{FEFF}", "begins with a byte order mark"),
    ])
    func aByteOrderMarkIsNamed(mark: String, text: String) {
        let faults = Loading.faults(mark + Loading.lines.joined(separator: "\n"))
        #expect(faults.count == 1 && faults[0].text.hasPrefix(text))
    }

    /// A wrong number in place of a port is shown. Any other text there may be a password, and is not shown.
    @Test(arguments: [("localhost:99999", true), ("user:hunter2", false), ("localhost:1,user:hunter2", false)])
    func wrongBrokersAreShownWhereTheyAreNoPassword(brokers: String, isShown: Bool) {
        let faults = Loading.faults(
            (Loading.lines.dropFirst() + ["kafka.bootstrap: \"\(brokers)\""]).joined(separator: "\n"))
        #expect(faults.map(\.setting) == ["kafka.bootstrap"])
        #expect(faults.allSatisfy { $0.text.contains(brokers) == isShown })
    }

    @Test func foreignVariablesAreNotedAndIgnored() throws {
        let loaded = try Loading.loaded(
            Loading.lines.joined(separator: "\n"),
            environment: [
                "MAILBOAT_SERVICE_HOST": "10.0.0.1", "MAILBOAT_PORT_9464_TCP_ADDR": "10.0.0.1",
                "MAILBOAT_TEST_BOOTSTRAP": "x",
            ])
        #expect(loaded.warnings.count == 2)
    }

    @Test func secretsStaySecret() throws {
        let faults = Loading.faults(
            adding: "kafka.properties: {sasl.password: hush, ssl.key.password: hush2, sasl.mechanisms: \"?\"}")
        let configuration = try Loading.load("kafka.properties.sasl.password: hush")
        #expect(!"\(faults)".contains("hush"))
        #expect(!"\(configuration)".contains("hush"))
    }

    /// Any content of a file is accepted or reported as a fault. None traps.
    @Test(arguments: 1...300 as ClosedRange<UInt64>)
    func noFileTraps(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var bytes = Array(
            """
            kafka: {bootstrap: "h:1", consumer: {a.b: 1}}
            apns: &x {team-id: TEAM123456, key-id: KEY1234567, key-file: /k}
            apps: {a.b: *x, c.d: {budget: {per-hour: 3}}}
            topics.events: [a, b]
            retention: 5m
            """.utf8)
        for _ in 0..<Int.random(in: 1...12, using: &random) {
            let place = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(Array("{}[]:,&*-?|>'\"%@`#!\n \t~".utf8).randomElement(using: &random) ?? 0, at: place)
            default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 9)], at: place)
            }
        }
        do throws(ConfigurationError) {
            _ = try ConfigurationLoader.load(bytes, fileName: "w", environment: [:])
        } catch {
            #expect(!error.faults.isEmpty)
        }
    }

    /// A fault is one line, although librdkafka ends its reason for the first case with a line feed. `make fuzz
    /// TARGET=configuration SEED=3` found that case.
    @Test(arguments: [
        "kafka.consumer.session.timeout.ms: 30065536", "budget.per-hour: |\n  a\n  b", "? |\n  a\n  b\n: 1",
    ])
    func aFaultIsOneLine(line: String) {
        let faults = Loading.faults(adding: line)
        #expect(!faults.isEmpty)
        for fault in faults {
            let isOneLine = !fault.description.contains { $0.isNewline }
            #expect(isOneLine, "\(fault)")
        }
    }

    /// An extreme session timeout does not trap. The timeout that is computed stays within librdkafka's range.
    @Test(arguments: [Int64.min, .max, 0]) func noSessionTimeoutTraps(millis: Int64) {
        let settings = KafkaSettings([.init("session.timeout.ms", "\(millis)")])
        #expect(SessionTimeout.millisRange.contains(SessionTimeout.millis(settings)))
    }
}
