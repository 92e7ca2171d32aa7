import PushModel
import Testing

@testable import PushEngine
@testable import ShardLoop

struct ProduceOrderTests {
    private static func record(_ topic: EngineRecord.Topic, _ partition: Int32, _ number: UInt64) -> EngineRecord {
        EngineRecord(
            topic: topic, partition: partition, key: 0..<0, hasKey: true, value: 0..<0, isTombstone: false,
            headers: 0..<0, timestampMillis: 0, acknowledgement: number)
    }

    @Test func topicsAndPartitionsOfStateComeTogetherInTheirOrder() {
        let records = [
            Self.record(.state, 2, 0), Self.record(.outcomes, -1, 1), Self.record(.state, 0, 2),
            Self.record(.routed, 5, 3), Self.record(.state, 2, 4), Self.record(.outcomes, -1, 5),
            Self.record(.deadLetters, -1, 6), Self.record(.state, 0, 7), Self.record(.routed, 1, 8),
        ]
        var order = ProduceOrder()
        order.arrange(records)
        #expect(order.indexes == [1, 5, 6, 3, 8, 2, 7, 0, 4])
        order.arrange([])
        #expect(order.indexes.isEmpty)
        order.arrange([Self.record(.state, 63, 0)])
        #expect(order.indexes == [0])
    }

    /// In any order of events, every record is written once. Records of one topic and partition stay in order.
    @Test(arguments: 1...50 as ClosedRange<UInt64>) func nothingIsLostAndPartitionsKeepTheirOrder(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var order = ProduceOrder()
        for _ in 0..<4 {
            let topics: [EngineRecord.Topic] = [.state, .outcomes, .deadLetters, .routed]
            let records = (0..<UInt64.random(in: 0...300, using: &random)).map { number in
                Self.record(topics.randomElement(using: &random)!, Int32.random(in: 0..<7, using: &random), number)
            }
            order.arrange(records)
            #expect(order.indexes.sorted() == records.indices.map { Int32($0) })
            let arranged = order.indexes.map { records[Int($0)] }
            for topic in topics {
                for partition in Int32(0)..<7 {
                    let mine = arranged.filter { $0.topic == topic && $0.partition == partition }
                    #expect(mine.map(\.acknowledgement) == mine.map(\.acknowledgement).sorted())
                }
            }
            #expect(zip(arranged, arranged.dropFirst()).filter { $0.topic != $1.topic }.count < topics.count)
        }
    }
}
