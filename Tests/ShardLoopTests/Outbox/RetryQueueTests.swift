import PushEngine
import PushModel
import Testing

@testable import ShardLoop

@Suite struct RetryQueueTests {
    /// The acknowledgement number of the `n`th record, in the engine's form.
    private static func number(_ n: UInt64) -> UInt64 { n << 32 | n % 3 }

    private static func entry(
        _ n: UInt64, _ topic: EngineRecord.Topic = .state, partition: Int32 = 0, key: String = "k"
    ) -> KeptRecord {
        KeptRecord(
            topic: topic, partition: partition, key: Array(key.utf8), value: nil, acknowledgement: Self.number(n))
    }

    private static func take(
        _ queue: inout RetryQueue, at nowMillis: Int64, underWay: Set<Int32> = []
    ) -> [UInt64] {
        var count = UnderWayCount()
        for partition in underWay {
            count.left(.state, partition: partition)
            count.left(.routed, partition: partition)
        }
        return queue.takeDue(nowMillis: nowMillis, underWay: count).map { $0.acknowledgement >> 32 }
    }

    @Test func pausesGrowUntilSomethingIsDelivered() {
        var queue = RetryQueue()
        var pauses: [Int64] = []
        for _ in 0..<8 {
            queue.failed(Self.entry(1), nowMillis: 0)
            pauses.append(queue.dueMillis ?? -1)
            #expect(Self.take(&queue, at: pauses.last ?? 0) == [1])
        }
        #expect(pauses == [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
        queue.succeeded()
        queue.failed(Self.entry(1), nowMillis: 50)
        #expect(queue.dueMillis == 250)
    }

    @Test func laterRecordsOfThePartitionWaitBehind() {
        var queue = RetryQueue()
        queue.failed(Self.entry(1, partition: 3), nowMillis: 0)
        #expect(queue.holds(.state, partition: 3, acknowledgement: 99))
        #expect(!queue.holds(.state, partition: 4, acknowledgement: 99))
        #expect(!queue.holds(.routed, partition: 3, acknowledgement: 99))
        #expect(!queue.holds(.outcomes, partition: 3, acknowledgement: 99))
        queue.wait(Self.entry(2, partition: 3))
        #expect(Self.take(&queue, at: 199) == [])
        #expect(Self.take(&queue, at: 200) == [1, 2])
        #expect(!queue.holds(.state, partition: 3, acknowledgement: 99))
    }

    /// A failed record of `state` or `routed` stays in the queue until Kafka has answered for the partition's other
    /// records. If the failed record left earlier, Kafka could store it behind a newer record of its key.
    @Test func nothingLeavesWhileOthersOfItsPartitionAreUnderWay() {
        var queue = RetryQueue()
        queue.failed(Self.entry(1, partition: 3), nowMillis: 0)
        queue.failed(Self.entry(2, .routed, partition: 3), nowMillis: 0)
        queue.failed(Self.entry(3, .outcomes, partition: 3), nowMillis: 0)
        queue.failed(Self.entry(4, partition: 5), nowMillis: 0)
        #expect(Self.take(&queue, at: 200, underWay: [3]) == [3, 4])
        #expect(queue.holds(.state, partition: 3, acknowledgement: 99))
        #expect(queue.dueMillis == 400)
        #expect(Self.take(&queue, at: 400, underWay: [3]) == [])
        #expect(Self.take(&queue, at: 600) == [1, 2])
        #expect(queue.dueMillis == nil)
    }

    @Test func whatALaterDeliveryReplacesIsDropped() {
        var queue = RetryQueue()
        queue.failed(Self.entry(1, key: "a"), nowMillis: 0)
        queue.failed(Self.entry(2, key: "b"), nowMillis: 0)
        queue.failed(Self.entry(3, .outcomes, key: "a"), nowMillis: 0)
        queue.failed(Self.entry(4, partition: 9, key: "a"), nowMillis: 0)
        queue.failed(Self.entry(6, key: "a"), nowMillis: 0)
        let key = Array("a".utf8)
        let superseded = queue.takeSuperseded(partition: 0, key: key.span, acknowledgement: Self.number(5))
        #expect(superseded == [Self.number(1)])
        #expect(Self.take(&queue, at: 1_000) == [3, 2, 6, 4])
    }

    /// The oldest record of a partition is produced again first, in whatever order the failures were reported.
    @Test func theyLeaveInTheOrderInWhichTheyWereMade() {
        var queue = RetryQueue()
        queue.failed(Self.entry(4, partition: 1), nowMillis: 0)
        queue.failed(Self.entry(2, key: "b"), nowMillis: 0)
        queue.wait(Self.entry(5, key: "a"))
        queue.failed(Self.entry(3, key: "a"), nowMillis: 0)
        queue.failed(Self.entry(1, key: "a"), nowMillis: 0)
        #expect(Self.take(&queue, at: 1_000) == [1, 2, 3, 5, 4])
    }

    @Test func whatFindsNoRoomGoesFirstNextTime() {
        var queue = RetryQueue()
        queue.failed(Self.entry(1), nowMillis: 0)
        queue.wait(Self.entry(2))
        let due = queue.takeDue(nowMillis: 500, underWay: UnderWayCount())
        queue.wait(Self.entry(3))
        queue.putBack(due, nowMillis: 500)
        #expect(Self.take(&queue, at: 500) == [1, 2, 3])
    }

    /// The first record fails again when it is handed over, and the second finds no room. The first stays before the
    /// second.
    @Test func whatFailsAgainStaysBeforeWhatFindsNoRoom() {
        var queue = RetryQueue()
        queue.failed(Self.entry(1), nowMillis: 0)
        queue.wait(Self.entry(2))
        let due = queue.takeDue(nowMillis: 500, underWay: UnderWayCount())
        queue.failed(due[0], nowMillis: 500)
        queue.putBack(due[1...], nowMillis: 500)
        #expect(Self.take(&queue, at: 1_000) == [1, 2])
        #expect(queue.isEmpty)
    }

    /// A failed record is sent alone if other records of its topic must be. In a shared request, one record could be
    /// judged by another's fault.
    @Test(arguments: [EngineRecord.Topic.outcomes, .deadLetters])
    func whatFailedBeforeJoinsTheCarefulLane(_ topic: EngineRecord.Topic) {
        var queue = RetryQueue()
        queue.failed(Self.entry(1, topic), nowMillis: 0)
        queue.goesAlone(Self.entry(2, topic), nowMillis: 100)
        queue.goesAlone(Self.entry(3, topic), nowMillis: 100)
        #expect(Self.take(&queue, at: 200) == [1])
        #expect(queue.isAlone(topic, partition: 0) && queue.count == 2)
        queue.answered(topic, partition: 0, underWay: UnderWayCount())
        #expect(Self.take(&queue, at: 200) == [2, 3])
        queue.answered(topic, partition: 0, underWay: UnderWayCount())
        #expect(queue.isEmpty)
    }

    /// Kafka has refused two records of a partition. One was refused for good but must be kept, and the other is to be
    /// sent alone. They leave in separate requests, so that neither makes Kafka refuse the other.
    @Test func whatIsStuckJoinsTheCarefulLane() {
        var queue = RetryQueue()
        queue.stick(Self.entry(1, .deadLetters), nowMillis: 0)
        queue.goesAlone(Self.entry(2, .deadLetters), nowMillis: 10_000)
        #expect(Self.take(&queue, at: 10_000) == [1])
        #expect(queue.isAlone(.deadLetters, partition: 0) && queue.count == 1)
        queue.answered(.deadLetters, partition: 0, underWay: UnderWayCount())
        #expect(Self.take(&queue, at: 10_000) == [2])
    }

    @Test func aForgottenPartitionsStateIsNotWritten() {
        var queue = RetryQueue()
        queue.failed(Self.entry(1, partition: 1), nowMillis: 0)
        queue.failed(Self.entry(2, .deadLetters, partition: 1), nowMillis: 0)
        let forgotten = queue.forgetState(partition: 1)
        #expect(forgotten == [Self.number(1)])
        #expect(queue.count == 1 && !queue.holds(.state, partition: 1, acknowledgement: 99))
        #expect(queue.dueMillis != nil)
    }

    /// Records of a partition fail late and in any order. Still, an older record of a key never replaces a newer one
    /// that Kafka has acknowledged.
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func whatIsAcknowledgedIsTheNewestOfItsKey(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var queue = RetryQueue()
        var underWay: [KeptRecord] = []
        var made: UInt64 = 0
        var nowMillis: Int64 = 0
        // For each key: its last record in the log, and its newest acknowledged record.
        var log: [[UInt8]: UInt64] = [:]
        var acknowledged: [[UInt8]: UInt64] = [:]
        var open: Set<UInt64> = []
        for step in 0..<2_000 {
            nowMillis += Int64.random(in: 0...50, using: &random)
            let isOver = step > 1_500
            switch isOver ? 5 : Int.random(in: 0...5, using: &random) {
            case 0, 1, 2:
                made += 1
                let entry = Self.entry(made, key: ["a", "b", "c"].randomElement(using: &random)!)
                open.insert(entry.acknowledgement)
                if queue.holds(.state, partition: 0, acknowledgement: 99) {
                    queue.wait(entry)
                } else {
                    underWay.append(entry)
                }
            default:
                guard !underWay.isEmpty else { break }
                // librdkafka may give up a later record before it answers an earlier one.
                let isFailure = !isOver && Int.random(in: 0..<3, using: &random) == 0
                let entry = underWay.remove(at: isFailure ? Int.random(in: 0..<underWay.count, using: &random) : 0)
                if !isFailure || Bool.random(using: &random) { log[entry.key!] = entry.acknowledgement }
                guard !isFailure else {
                    queue.failed(entry, nowMillis: nowMillis)
                    break
                }
                let superseded = queue.takeSuperseded(
                    partition: 0, key: entry.key!.span, acknowledgement: entry.acknowledgement)
                for number in superseded + [entry.acknowledgement] {
                    #expect(open.remove(number) != nil, "acknowledged twice")
                }
                acknowledged[entry.key!] = max(acknowledged[entry.key!] ?? 0, entry.acknowledgement)
            }
            var count = UnderWayCount()
            for entry in underWay { count.left(entry.topic, partition: entry.partition) }
            underWay += queue.takeDue(nowMillis: nowMillis, underWay: count)
            for (key, number) in acknowledged { #expect(log[key]! >= number, "step \(step)") }
        }
        #expect(open.isEmpty)
        #expect(queue.isEmpty)
    }
}
