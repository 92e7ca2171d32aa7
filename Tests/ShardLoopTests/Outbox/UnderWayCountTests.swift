import PushEngine
import Testing

@testable import ShardLoop

@Suite struct UnderWayCountTests {
    @Test func countsWhatIsOrderedByTopicAndPartition() {
        var count = UnderWayCount()
        #expect(!count.isAny(.state, partition: 7))
        count.left(.state, partition: 7)
        count.left(.state, partition: 7)
        count.left(.routed, partition: 2)
        #expect(count.isAny(.state, partition: 7))
        #expect(!count.isAny(.state, partition: 2) && !count.isAny(.routed, partition: 7))
        #expect(count.isAny(.routed, partition: 2))
        count.returned(.state, partition: 7)
        #expect(count.isAny(.state, partition: 7))
        count.returned(.state, partition: 7)
        count.returned(.routed, partition: 2)
        #expect(!count.isAny(.state, partition: 7) && !count.isAny(.routed, partition: 2))
    }

    /// Outcomes and dead letters are counted by topic. Their partition is -1 until Kafka's client has chosen it.
    @Test(arguments: [EngineRecord.Topic.outcomes, .deadLetters])
    func theOthersAreCountedByTopic(_ topic: EngineRecord.Topic) {
        var count = UnderWayCount()
        count.left(topic, partition: -1)
        #expect(count.isAny(topic, partition: 0))
        count.returned(topic, partition: 5)
        #expect(!count.isAny(topic, partition: 5))
    }
}
