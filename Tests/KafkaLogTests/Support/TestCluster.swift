import Foundation
import KafkaLog

/// A Kafka for one test that needs no special feature of the embedded Kafka. It is embedded, or it is the cluster that
/// `MAILBOAT_TEST_BOOTSTRAP` names. `MAILBOAT_TEST_KAFKA_PROPERTIES` may name a file with librdkafka properties for
/// that cluster.
///
/// Topics and groups belong to the test. On a real cluster they are not deleted.
final class TestCluster: Sendable {
    let settings: KafkaSettings
    private let embedded: EmbeddedKafka?
    /// Prefix of the names of topics and groups on a real cluster.
    private let prefix: String

    init(topics: [EmbeddedKafka.Topic]) throws {
        let environment = ProcessInfo.processInfo.environment
        guard let bootstrap = environment["MAILBOAT_TEST_BOOTSTRAP"], !bootstrap.isEmpty else {
            let embedded = try EmbeddedKafka(topics: topics)
            self.embedded = embedded
            self.settings = embedded.settings
            self.prefix = ""
            return
        }
        var settings = KafkaSettings()
        if let path = environment["MAILBOAT_TEST_KAFKA_PROPERTIES"], !path.isEmpty {
            settings = try KafkaSettings(lines: String(contentsOfFile: path, encoding: .utf8))
        }
        settings.append("bootstrap.servers", bootstrap)
        let prefix = "mailboat-test-\(UUID().uuidString.prefix(8).lowercased())."
        (self.embedded, self.settings, self.prefix) = (nil, settings, prefix)
        let new = topics.map { NewTopic(name: prefix + $0.name, partitionCount: $0.partitionCount) }
        let admin = try KafkaAdmin(settings)
        for answer in try admin.createTopics(new, within: .seconds(30)) {
            if let error = answer.error { throw error }
        }
        // A cluster may acknowledge a topic before its metadata shows the topic. Until then a producer would believe
        // that the topic does not exist.
        try admin.waitUntilShown(new, within: .seconds(30))
    }

    /// The name on this cluster of one of the test's topics.
    subscript(topic: String) -> String { self.prefix + topic }

    /// The configuration of a consumer group for topics of the test.
    func group(_ name: String, driver: String, riding: [String] = [], extra: KafkaSettings = KafkaSettings())
        -> ConsumerConfiguration
    {
        if let embedded { return embedded.group(name, driver: driver, riding: riding, extra: extra) }
        // 6 s is the shortest session timeout that a broker allows by default.
        let settings = self.settings.appending("session.timeout.ms", "6000").appending("heartbeat.interval.ms", "300")
        return ConsumerConfiguration(
            settings: settings.appending(extra), groupID: self[name], driverTopic: self[driver],
            ridingTopics: riding.map { self[$0] }, log: { _ in })
    }
}
