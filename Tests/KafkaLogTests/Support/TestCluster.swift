import Foundation
import KafkaLog

/// A Kafka for one test that needs nothing special of the embedded one. It is embedded, or it is the cluster named by
/// `MAILBOAT_TEST_BOOTSTRAP`. That cluster is reached with the librdkafka properties in the file named by
/// `MAILBOAT_TEST_KAFKA_PROPERTIES`, if any. Topics and groups belong to the test; on a real cluster they stay.
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
        // An acknowledged topic is not shown yet, and a producer would believe that it does not exist.
        try admin.waitUntilShown(new, within: .seconds(30))
    }

    /// The name of one of the test's topics on this cluster.
    subscript(topic: String) -> String { self.prefix + topic }

    /// A group of the test, for topics by the test's own names.
    func group(_ name: String, driver: String, riding: [String] = [], extra: KafkaSettings = KafkaSettings())
        -> ConsumerConfiguration
    {
        if let embedded { return embedded.group(name, driver: driver, riding: riding, extra: extra) }
        // A broker's own lower limit is 6 s unless it is configured.
        let settings = self.settings.appending("session.timeout.ms", "6000").appending("heartbeat.interval.ms", "300")
        return ConsumerConfiguration(
            settings: settings.appending(extra), groupID: self[name], driverTopic: self[driver],
            ridingTopics: riding.map { self[$0] }, log: { _ in })
    }
}
