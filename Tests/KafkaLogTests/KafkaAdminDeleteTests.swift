import KafkaLog
import Testing

/// Deleting what a real broker has is tried by `BenchmarkTests` on one.
struct KafkaAdminDeleteTests {
    @Test func anEmbeddedBrokerDeletesNothingAndSaysSo() throws {
        let kafka = try EmbeddedKafka(topics: [.init("a", partitionCount: 1)], onNotice: { _ in })
        defer { kafka.stop() }
        let admin = try KafkaAdmin(kafka.settings, log: { _ in })
        for delete in [
            { () throws(KafkaError) in _ = try admin.deleteTopics(["a"], within: .seconds(5)) },
            { () throws(KafkaError) in _ = try admin.deleteGroups(["g"], within: .seconds(5)) },
        ] {
            let error = #expect(throws: KafkaError.self) { try delete() }
            #expect(error?.code == .unsupportedFeature)
        }
        #expect(try admin.describeTopics(["a"], within: .seconds(5)).count == 1)
    }
}
