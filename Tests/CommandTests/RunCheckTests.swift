import APNSProtocol
import Foundation
import KafkaLog
import PushWorker
import TLSSession
import Testing

/// Tests of how `run --check` examines the files that a configuration names.
struct RunCheckTests {
    private static func with(_ body: (_ folder: String, WorkerConfiguration) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data(try ES256PrivateKey.generate().pem()).write(
            to: URL(fileURLWithPath: folder + "/AuthKey_ABCDE12345.p8"))
        for name in ["/text", "/AuthKey_TEXT567890.p8"] {
            try Data("no PEM".utf8).write(to: URL(fileURLWithPath: folder + name))
        }
        var configuration = WorkerConfiguration()
        configuration.kafka.bootstrap = "127.0.0.1:1"
        var app = AppSettings(bundleID: "com.example.pizza")
        app.teamID = "TEAM567890"
        app.keyFile = folder + "/AuthKey_ABCDE12345.p8"
        configuration.apps = [app]
        try body(folder, configuration)
    }

    private static func faults(_ configuration: WorkerConfiguration) -> [String] {
        configuration.startFaults().map(\.description)
    }

    @Test func filesThatAreThereAreFine() throws {
        try Self.with { _, configuration in #expect(Self.faults(configuration).isEmpty) }
    }

    @Test func everyMissingFileIsNamed() throws {
        try Self.with { folder, configuration in
            var configuration = configuration
            configuration.apps[0].keyFile = folder + "/AuthKey_NONE567890.p8"
            configuration.apps[0].environments = [.production, .development]
            configuration.apps[0].production.caFile = folder + "/none.pem"
            configuration.apps[0].development.caFile = folder
            configuration.kafka.common.append("security.protocol", "ssl")
            configuration.kafka.common.append("ssl.ca.location", folder + "/ca")
            configuration.kafka.common.append("ssl.key.location", folder + "/key")
            let missing = "cannot be read: No such file or directory"
            let faults = Self.faults(configuration)
            #expect(faults.first?.hasPrefix("apps.com.example.pizza.apns.key-file: ") == true)
            #expect(faults.first?.contains("\(folder)/AuthKey_NONE567890.p8: cannot be opened: No such file") == true)
            #expect(faults.allSatisfy { !$0.contains("The path is relative") }, "\(faults)")
            #expect(
                faults.dropFirst() == [
                    "apps.com.example.pizza.apns.production.ca-file: \(folder)/none.pem \(missing)",
                    "apps.com.example.pizza.apns.development.ca-file: \(folder) cannot be read: Is a directory",
                    "kafka.properties.ssl.ca.location: \(folder)/ca \(missing)",
                    "kafka.properties.ssl.key.location: the file \(missing)",
                ])
        }
    }

    @Test func filesThatHoldSomethingElseAreNamed() throws {
        try Self.with { folder, configuration in
            var configuration = configuration
            configuration.apps[0].keyFile = folder + "/AuthKey_TEXT567890.p8"
            configuration.apps[0].production.caFile = folder + "/text"
            configuration.kafka.common.append("security.protocol", "ssl")
            configuration.kafka.common.append("ssl.ca.location", folder + "/text")
            let faults = Self.faults(configuration)
            #expect(faults.count == 3)
            #expect(faults.first?.contains("apns.key-file: ") == true)
            #expect(faults.dropFirst().first?.contains("text: expected certificates in PEM, found no PEM") == true)
            #expect(faults.last?.contains("ssl.ca.location failed") == true)
        }
    }

    /// Each property is good alone, but no Kafka client accepts all of them together. `run` would notice that only
    /// after Kafka has answered.
    @Test(
        arguments: [
            ([("max.poll.interval.ms", "1000")], "max.poll.interval.ms: is \"1000\": ", "session.timeout.ms is 15000"),
            (
                [("security.protocol", "SASL_SSL"), ("sasl.mechanisms", "AWS_MSK_IAM")],
                "sasl.mechanisms: is \"AWS_MSK_IAM\": Unsupported SASL mechanism", "expected PLAIN, SCRAM-SHA-256"
            ),
            (
                [("security.protocol", "SASL_SSL"), ("sasl.mechanisms", "OAUTHBEARER")],
                "sasl.mechanisms: is \"OAUTHBEARER\": there is no source of tokens", "expected kafka.oauth.token-file"
            ),
            (
                [("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanisms", "PLAIN"), ("sasl.username", "ann")],
                "sasl.password: is missing: sasl.username and sasl.password must be set",
                "The environment gives it as MAILBOAT_KAFKA_PROPERTIES_SASL_PASSWORD"
            ),
            (
                [("reconnect.backoff.ms", "10000")], "reconnect.backoff.ms: is \"10000\": ",
                "`reconnect.backoff.max.ms` must be >="
            ),
        ] as [([(String, String)], String, String)])
    func whatLibrdkafkaRefusesOnlyWhenItMakesAClientIsNamed(
        properties: [(String, String)], start: String, words: String
    ) throws {
        try Self.with { _, configuration in
            var configuration = configuration
            for (name, value) in properties { configuration.kafka.common.append(name, value) }
            let faults = Self.faults(configuration)
            #expect(faults.count == 1, "\(faults)")
            #expect(faults.first?.hasPrefix("kafka.properties.\(start)") == true, "\(faults)")
            #expect(faults.first?.contains(words) == true, "\(faults)")
        }
    }

    /// A property for one kind of client is named with its group, `kafka.consumer` or `kafka.producer`.
    @Test func thePropertiesOfOneKindOfClientAreNamedAsTheyAreWritten() throws {
        try Self.with { _, configuration in
            var configuration = configuration
            configuration.kafka.producer.append("max.in.flight.requests.per.connection", "10")
            configuration.kafka.consumer.append("session.timeout.ms", "400000")
            let faults = Self.faults(configuration)
            #expect(faults.count == 2, "\(faults)")
            #expect(faults.first?.hasPrefix("kafka.consumer.session.timeout.ms: is \"400000\"") == true, "\(faults)")
            // librdkafka's own name for this property is `max.in.flight`.
            #expect(
                faults.last?.hasPrefix("kafka.producer.max.in.flight.requests.per.connection: is \"10\"") == true,
                "\(faults)")
        }
    }

    /// An address beyond this machine is valid without an admin token. But then the pages with a worker's data refuse
    /// every request, so the check says so.
    @Test func anOpenAddressWithoutATokenIsNamed() {
        var configuration = WorkerConfiguration()
        #expect(configuration.closedPages == nil)
        configuration.admin.host = "0.0.0.0"
        #expect(configuration.closedPages?.contains("admin.host is 0.0.0.0") == true)
        #expect(configuration.closedPages?.contains("/status") == true)
    }
}
