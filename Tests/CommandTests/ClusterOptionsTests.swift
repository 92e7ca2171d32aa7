import ArgumentParser
import ChildProcesses
import CommandSupport
import Foundation
import KafkaLog
import PushWorker
import Testing

@testable import mailboat

/// Tests of the options that name a cluster and say how to connect to it.
struct ClusterOptionsTests {
    @Test(arguments: [
        ("kafka:9092/bootstrap: Failed to resolve 'kafka:9092': Name or service not known", "does not find the name"),
        ("Connect to ipv4#127.0.0.1:1 failed: Connection refused", "Is a Kafka running here"),
    ])
    func aClusterThatDoesNotAnswerGetsAdvice(text: String, advice: String) throws {
        let error = KafkaError(code: .transport, text: text)
        #expect(try ClusterOptions.parse([]).advice(on: error, "localhost:9092").contains(advice))
    }

    /// Runs `body` with a file, and deletes the file afterwards.
    private static func with(_ content: String, _ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("mailboat-\(UUID().uuidString)").path
        try content.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test func whatIsGivenCloserWins() throws {
        try Self.with("bootstrap.servers=file:1\nclient.id=file\nsecurity.protocol=SSL\n") { path in
            let words = ["--properties", path, "--bootstrap", "words:1", "-X", "client.id=words"]
            let settings = try ClusterOptions.parse(words).settings(for: .consumer)
            #expect(settings["bootstrap.servers"] == "words:1")
            #expect(settings["client.id"] == "words")
            #expect(settings["security.protocol"] == "SSL")
            #expect(try ClusterOptions.parse(["--properties", path]).brokers() == "file:1")
        }
    }

    @Test func aConfigurationBringsBrokersAndNames() throws {
        let yaml = """
            kafka.bootstrap: broker:9093
            kafka.group: workers
            kafka.properties: {security.protocol: SASL_SSL}
            topics.state: other.state
            apns: {team-id: ABCDEFGHIJ, key-id: KEYKEYKEY1, key-file: key.p8}
            apps: [com.example.pizza]
            """
        try Self.with(yaml) { path in
            let options = try ClusterOptions.parse(["--config", path])
            #expect(try options.settings(for: .producer)["security.protocol"] == "SASL_SSL")
            #expect(try options.brokers() == "broker:9093")
            #expect(try options.configuration().kafka.groupID == "workers")
            #expect(try options.configuration().topics.state == "other.state")
        }
    }

    @Test func withoutBrokersThereIsNothingToAsk() throws {
        #expect(throws: ValidationError.self) { try ClusterOptions.parse([]).requireBrokers() }
        try Self.with("client.id=a") { path in
            #expect(throws: ValidationError.self) {
                try ClusterOptions.parse(["--properties", path]).settings(for: .consumer)
            }
        }
    }

    /// No message repeats a password, or a text that may be a password.
    @Test func secretsAreNotShown() throws {
        try Self.with("bootstrap.servers=b:1\nhunter2") { path in
            let failure = #expect(throws: CommandFailure.self) {
                try ClusterOptions.parse(["--properties", path]).settings(for: .consumer)
            }
            #expect(failure?.description.contains("line 2") == true)
            #expect(failure?.description.contains("hunter2") == false)
        }
        let words = ["--bootstrap", "b:1", "-X", "hunter2"]
        #expect {
            _ = try ClusterOptions.parse(words)
        } throws: {
            !ClusterOptions.message(for: $0).contains("hunter2")
        }
    }

    /// A wrong property is reported with its line in the file. It is not reported as a fault of the command line.
    @Test func aWrongPropertyIsNamedWithItsLine() throws {
        try Self.with("# ours\nbootstrap.servers=b:1\nsasl.pasword=hunter2") { path in
            let failure = #expect(throws: CommandFailure.self) {
                try ClusterOptions.parse(["--properties", path]).settings(for: .consumer)
            }
            let said = failure?.description ?? ""
            #expect(
                said.contains("\(path): line 3: sasl.pasword is ") && said.contains("; did you mean sasl.password?"))
            #expect(!said.contains("hunter2"))
        }
        #expect {
            _ = try ClusterOptions.parse(["--bootstrap", "b:1", "-X", "client.ids=a"])
        } throws: {
            ClusterOptions.message(for: $0).contains("; did you mean client.id?")
        }
    }

    @Test(arguments: ["bootstrap.servers", "metadata.broker.list"])
    func brokersAreTaughtHoweverTheyWereGiven(name: String) throws {
        let options = try ClusterOptions.parse(["-X", "\(name)=b:1", "-X", "sasl.password=hunter2"])
        #expect(options.hint == "--bootstrap b:1")
    }

    /// A command's Kafka properties become YAML for the worker of a test or chaos run. Any character in a value
    /// survives.
    @Test func propertiesBecomeYAML() {
        let settings = KafkaSettings([
            .init("client.id", "a"), .init("sasl.password", #"a"b: #\c"#), .init("client.id", "b"),
        ])
        #expect(
            WorkerYAML.lines(settings, indent: 2) == """
                  sasl.password: "a\\"b: #\\\\c"
                  client.id: "b"
                """)
    }

    /// A login by tokens needs a token. If its source gives none, the settings are refused, and the error names the
    /// fault.
    @Test func aLoginByTokensNeedsOne() throws {
        let words = [
            "--bootstrap", "127.0.0.1:1", "-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanisms=OAUTHBEARER",
        ]
        let missing = words + ["-X", "kafka.oauth.token-file=/nowhere/kafka.token"]
        let failure = #expect(throws: CommandFailure.self) {
            try ClusterOptions.parse(missing).settings(for: .consumer)
        }
        #expect(
            failure?.description
                == "there is no token to log in to Kafka with: kafka.oauth.token-file: /nowhere/kafka.token cannot be read: No such file or directory"
        )
        for wrong in ["kafka.oauth.token-endpoint=http://example.com/", "kafka.oauth.token=a", "kafka.oauth.scope=a"] {
            #expect(throws: ValidationError.self) {
                try ClusterOptions.parse(words + ["-X", wrong]).settings(for: .consumer)
            }
        }
    }

    @Test func aLoginByTokensBecomesYAML() throws {
        let settings = try KafkaSettings([
            .init("kafka.oauth.token-command", "/usr/bin/sign,a b"), .init("kafka.oauth.extensions", "a=b"),
        ]).loggingIn()
        #expect(
            WorkerYAML.login(settings)
                == "\nkafka.oauth:\n  token-command: [\"/usr/bin/sign\", \"a b\"]\n  extensions: [\"a=b\"]")
        #expect(WorkerYAML.login(KafkaSettings()) == "")
    }

    /// Advice about brokers that do not answer names the option or the setting that has them.
    @Test(arguments: [
        ("--bootstrap localhost:9092", "--bootstrap"), ("--config m.yaml", "kafka.bootstrap in m.yaml"),
        ("--config m.yaml --bootstrap localhost:9092", "--bootstrap"),
        ("--config m.yaml -X bootstrap.servers=localhost:9092", "-X"),
        ("--config m.yaml -X security.protocol=SSL", "kafka.bootstrap in m.yaml"), ("", "--bootstrap"),
    ])
    func whatNamesTheBrokersIsKnown(words: String, name: String) throws {
        #expect(try ClusterOptions.parse(words.split(separator: " ").map(String.init)).brokersName == name)
    }
}
