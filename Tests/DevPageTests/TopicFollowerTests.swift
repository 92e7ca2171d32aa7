import KafkaLog
import Synchronization
import Testing

@testable import DevPage

/// Tests of partitions that the page starts to read, leaves and reads again. No record is read or counted twice.
@Suite(.timeLimit(.minutes(2))) struct TopicFollowerTests {
    @Test func offsetsTellHowManyWerePassedOver() {
        var partition = FollowedPartition()
        #expect(partition.pass(to: 10) == 0, "nobody knows how many of these were read")
        #expect(partition.read(from: nil, to: nil) == 0 && partition.nextOffset == nil)
        #expect(partition.read(from: 3, to: 8) == 0)
        #expect(partition.pass(to: 20) == 12)
        #expect(partition.pass(to: 20) == 0)
        #expect(partition.pass(to: 15) == 0, "an answer that was under way for long")
        #expect(partition.nextOffset == 20)
        // Offsets without a record do not count as skipped records. They come from compaction or transactions.
        #expect(partition.read(from: 22, to: 30) == 0)
        partition.logWasCut()
        #expect(partition.read(from: nil, to: nil) == 0)
        #expect(partition.read(from: 41, to: 50) == 11)
        #expect(partition.read(from: 60, to: 61) == 0 && partition.nextOffset == 61)
    }

    /// Remembers the records that the follower read and those that it reported as skipped.
    private final class Page: TopicFollower.Reader {
        struct Seen {
            var read: [TopicPartition: [Int64]] = [:]
            var passed: [TopicPartition: Int] = [:]
            var wanted: Set<Int32> = []
            /// The partitions that the page wanted when the follower last asked.
            var heeded: Set<Int32> = []

            func known(_ partition: TopicPartition) -> Int {
                (self.read[partition]?.count ?? 0) + self.passed[partition, default: 0]
            }
        }

        let seen = Mutex(Seen())
        let news = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

        func partitionsToRead() -> (@Sendable (TopicPartition) -> Bool)? {
            let wanted = self.seen.withLock { seen in
                seen.heeded = seen.wanted
                return seen.wanted
            }
            self.news.continuation.yield()
            guard wanted != [0, 1] else { return nil }
            return { wanted.contains($0.partition) }
        }
        func passOver(_ count: Int, in partition: TopicPartition) {
            self.seen.withLock { $0.passed[partition, default: 0] += count }
            self.news.continuation.yield()
        }
        func wants(_ record: borrowing KafkaRecord, of topic: String) -> Bool { true }
        func take(_ record: OwnedRecord, of topic: String) {
            let partition = TopicPartition(topic: topic, partition: record.partition)
            self.seen.withLock { $0.read[partition, default: []].append(record.offset) }
            self.news.continuation.yield()
        }

        func until(_ isMet: (Seen) -> Bool) async {
            for await _ in self.news.stream where self.seen.withLock({ isMet($0) }) { return }
        }
    }

    @Test func whatIsLeftAloneIsCountedAndReadAgain() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("events", partitionCount: 2)])
        defer { kafka.stop() }
        let producer = try KafkaProducer(
            ProducerConfiguration(settings: kafka.settings), onDeliveries: {}, onError: { _ in })
        let topic = try producer.topic("events")
        func publish(_ count: Int, to partition: Int32) throws {
            for _ in 0..<count {
                let result = producer.produce(
                    topic, partition: partition, key: Array("key".utf8).span, value: Array("value".utf8).span, opaque: 0
                )
                guard case .queued = result else { throw KafkaError(code: .queueFull) }
            }
        }
        let (first, second) = (
            TopicPartition(topic: "events", partition: 0), TopicPartition(topic: "events", partition: 1)
        )
        let page = Page()
        let follower = try TopicFollower(["events"], partitionCount: 2, settings: kafka.settings, log: { _ in })
        page.seen.withLock { $0.wanted = [0, 1] }
        let following = Task { await follower.run(for: page) }
        func want(_ partitions: Set<Int32>) {
            page.seen.withLock { $0.wanted = partitions }
            follower.choose()
        }

        try publish(10, to: 0)
        try publish(10, to: 1)
        await page.until { $0.known(first) == 10 && $0.known(second) == 10 }
        want([0])
        await page.until { $0.heeded == [0] }
        try publish(1_000, to: 0)
        try publish(1_000, to: 1)
        await page.until { $0.known(first) == 1_010 && $0.known(second) == 1_010 }
        let left = page.seen.withLock { $0 }
        #expect(left.read[first] == Array(0..<1_010))
        #expect(left.passed == [second: 1_000])

        // A record that is published after the page wants its partition is read, even if the partition is opened later.
        want([0, 1])
        try publish(1_000, to: 1)
        await page.until { $0.known(second) >= 2_010 }
        let again = page.seen.withLock { $0 }
        #expect(again.known(second) == 2_010)
        #expect(again.read[second]?.suffix(1_000) == Array(1_010..<2_010)[...])
        #expect(Set(again.read[second] ?? []).count == again.read[second]?.count, "nothing is read twice")

        // The follower switches between the partitions many times.
        for round in 1...20 {
            want(round.isMultiple(of: 2) ? [1] : [0])
            try publish(50, to: 0)
            try publish(50, to: 1)
        }
        want([0, 1])
        await page.until { $0.known(first) >= 2_010 && $0.known(second) >= 3_010 }
        let last = page.seen.withLock { $0 }
        #expect(last.known(first) == 2_010 && last.known(second) == 3_010)
        for partition in [first, second] { #expect(last.read[partition] == last.read[partition]?.sorted()) }
        following.cancel()
        await following.value
    }
}
