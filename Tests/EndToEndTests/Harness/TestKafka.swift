import CommandSupport
import Foundation
import KafkaLog

/// A Kafka for one test, with topics that nobody else uses. It is embedded, or it is the cluster named by
/// `MAILBOAT_TEST_BOOTSTRAP`. That cluster is reached with the librdkafka properties in the file named by
/// `MAILBOAT_TEST_KAFKA_PROPERTIES`, if any.
final class TestKafka: Sendable {
    static let partitionCount = 4

    let settings: KafkaSettings
    let bootstrap: String
    /// Prefix of the names of all topics and of the group.
    let prefix: String
    private let embedded: EmbeddedKafka?

    var events: String { "\(self.prefix).events" }
    var routed: String { "\(self.prefix).routed" }
    var state: String { "\(self.prefix).state" }
    var outcomes: String { "\(self.prefix).outcomes" }
    var deadLetters: String { "\(self.prefix).dead-letters" }
    var group: String { "\(self.prefix).group" }

    /// Whether the cluster is a real one that the user named. It can do what the embedded one cannot.
    var isReal: Bool { self.embedded == nil }

    init() throws {
        self.prefix = "mailboat-test-\(UUID().uuidString.prefix(8).lowercased())"
        let names = ["events", "routed", "state", "outcomes", "dead-letters"].map { [prefix = self.prefix] in
            "\(prefix).\($0)"
        }
        if let bootstrap = ProcessInfo.processInfo.environment["MAILBOAT_TEST_BOOTSTRAP"], !bootstrap.isEmpty {
            self.embedded = nil
            self.bootstrap = bootstrap
            var settings = KafkaSettings()
            if let path = ProcessInfo.processInfo.environment["MAILBOAT_TEST_KAFKA_PROPERTIES"], !path.isEmpty {
                settings = try ClusterOptions.read(path)
            }
            settings.append("bootstrap.servers", bootstrap)
            self.settings = settings
            let topics = names.map { name in
                let isState = name.hasSuffix(".state")
                return NewTopic(
                    name: name, partitionCount: Self.partitionCount,
                    configuration: isState ? ["cleanup.policy": "compact", "min.compaction.lag.ms": "1800000"] : [:])
            }
            let admin = try KafkaAdmin(self.settings)
            for answer in try admin.createTopics(topics, within: .seconds(30)) {
                if let error = answer.error { throw error }
            }
        } else {
            let embedded = try EmbeddedKafka(
                topics: names.map { EmbeddedKafka.Topic($0, partitionCount: Self.partitionCount) }, onNotice: { _ in })
            self.embedded = embedded
            self.bootstrap = embedded.bootstrap
            self.settings = embedded.settings
        }
    }

    func stop() { self.embedded?.stop() }
}
