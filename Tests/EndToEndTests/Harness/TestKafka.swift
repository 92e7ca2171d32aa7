import CommandSupport
import Foundation
import KafkaLog

/// A Kafka for one test, with topics that no other test uses. It is embedded, or it is the cluster that
/// `MAILBOAT_TEST_BOOTSTRAP` names. `MAILBOAT_TEST_KAFKA_PROPERTIES` may name a file with librdkafka properties for
/// that cluster.
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

    /// Whether the user has named a real cluster. Some features exist only there.
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
