import KafkaLog
import PushEngine
import ShardLoop
import Testing

@testable import PushWorker

@Suite struct TopicLimitsTests {
    private static let topics = WorkerConfiguration().topics

    private static func limits(_ values: [EngineRecord.Topic: String]) -> TopicLimits {
        TopicLimits(
            Dictionary(
                uniqueKeysWithValues: values.map { (Self.topics.name(of: $0.key), ["max.message.bytes": $0.value]) }),
            topics: Self.topics)
    }

    private static func properties(_ limits: TopicLimits) -> [String: String] {
        Dictionary(limits.producerSettings.properties.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }

    @Test func recordsAreAsLargeAsTheLargestTopicTakesAndBatchesAsTheSmallest() {
        let limits = Self.limits([.state: "262144", .outcomes: "65536", .deadLetters: "2097152", .routed: "1048588"])
        #expect(Self.properties(limits) == ["message.max.bytes": "2097152", "batch.size": "65024"])
        let records = limits.recordLimits(isCompressed: false)
        #expect(records[.outcomes] == 65_536 - RecordLimits.overheadByteCount)
        #expect(records.smallest == records[.outcomes])
        #expect(limits.recordLimits(isCompressed: true) == RecordLimits())
    }

    /// Without known limits of the topics, records get a default limit. The broker refuses those that are too large for
    /// a topic.
    @Test func whatIsNotKnownIsNotLimited() {
        #expect(Self.properties(TopicLimits()) == ["message.max.bytes": "2097152"])
        #expect(TopicLimits().recordLimits(isCompressed: false) == RecordLimits())
        let some = Self.limits([.outcomes: "4000000000", .state: "none", .routed: "-1"])
        #expect(Self.properties(some) == ["message.max.bytes": "16777216", "batch.size": "1000000"])
    }

    @Test func aTinyLimitLeavesABatch() {
        let limits = Self.limits([.outcomes: "100", .state: "100", .routed: "100", .deadLetters: "100"])
        #expect(Self.properties(limits) == ["message.max.bytes": "1000", "batch.size": "1024"])
        #expect(limits.recordLimits(isCompressed: false)[.outcomes] == 100 - RecordLimits.overheadByteCount)
    }

    @Test func aClientThatCompressesIsKnown() {
        #expect(!KafkaSettings([]).mayCompress)
        #expect(KafkaSettings([.init("compression.type", "lz4")]).mayCompress)
        #expect(!KafkaSettings([.init("compression.codec", "lz4"), .init("compression.type", "none")]).mayCompress)
    }
}
