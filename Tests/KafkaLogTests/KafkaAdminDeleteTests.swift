import KafkaLog
import Testing

/// Tests of deletions on an embedded broker. `BenchmarkTests` tests them on a real one.
struct KafkaAdminDeleteTests {
    @Test func anEmbeddedBrokerDeletesNothingAndSaysSo() throws {
        let kafka = try EmbeddedKafka(topics: [.init("a", partitionCount: 1)], onNotice: { _ in })
        defer { kafka.stop() }
        let admin = try KafkaAdmin(kafka.settings, log: { _ in })
        let topics = #expect(throws: KafkaError.self) { _ = try admin.deleteTopics(["a"], within: .seconds(5)) }
        #expect(topics?.code == .unsupportedFeature)
        let groups = #expect(throws: KafkaError.self) { _ = try admin.deleteGroups(["g"], within: .seconds(5)) }
        #expect(groups?.code == .unsupportedFeature)
        #expect(try admin.describeTopics(["a"], within: .seconds(5)).count == 1)
    }
}
