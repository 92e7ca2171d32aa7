import KafkaLog
import PushModel
import Testing
import Upstream

/// Tests of the partitions that a publisher chooses after its topic has got more partitions.
struct GrownPublisherTests {
    private static func registration(_ name: String) -> Publication {
        Publication(name, StoryRegistration(app: "com.example.pizza", token: "0a"))
    }

    @Test func activitiesUnderWayMoveToAddedPartitionsAlone() throws {
        let kafka = try EmbeddedKafka(topics: [.init("events", partitionCount: 6)], onNotice: { _ in })
        defer { kafka.stop() }
        let publisher = try StoryPublisher(
            settings: kafka.settings, topic: "events", partitionCount: 4, log: { _ in })
        let (known, new) = ((0..<200).map { "known-\($0)" }, (0..<200).map { "new-\($0)" })
        for name in known { try publisher.publish(Self.registration(name), recordMillis: 1) }
        try publisher.grow(to: 6)
        for name in known + new { try publisher.publish(Self.registration(name), recordMillis: 2) }
        func partitions(of name: String) -> [Int32] {
            publisher.records.filter { $0.activity == name }.map(\.partition)
        }
        func hash(_ name: String, _ count: Int32) -> Int32 {
            Murmur2.partition(key: Array(name.utf8).span, count: count)
        }
        for name in known {
            let (old, grown) = (hash(name, 4), hash(name, 6))
            #expect(partitions(of: name) == [old, grown >= 4 ? grown : old], "\(name)")
        }
        for name in new { #expect(partitions(of: name) == [hash(name, 6)], "\(name)") }
        #expect(publisher.records.contains { $0.partition >= 4 })
    }

    /// A misplaced key keeps its partition for good.
    @Test func misplacedOnesStay() throws {
        let kafka = try EmbeddedKafka(topics: [.init("events", partitionCount: 6)], onNotice: { _ in })
        defer { kafka.stop() }
        let publisher = try StoryPublisher(
            settings: kafka.settings, topic: "events", partitionCount: 4, log: { _ in })
        try publisher.grow(to: 6)
        for number in 0..<100 {
            var misplaced = Self.registration("misplaced-\(number)")
            misplaced.isMisplaced = true
            try publisher.publish(misplaced, recordMillis: 1)
        }
        #expect(publisher.records.allSatisfy { $0.partition < 4 })
    }
}
