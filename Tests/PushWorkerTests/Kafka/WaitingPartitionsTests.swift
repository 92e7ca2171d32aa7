import KafkaLog
import Testing

@testable import PushWorker

struct WaitingPartitionsTests {
    private static let error = KafkaError(code: .init(rawValue: 5))

    private static func part(_ topic: String, _ number: Int32) -> TopicPartition {
        TopicPartition(topic: topic, partition: number)
    }

    private static func answers(known: [TopicPartition], unknown: [TopicPartition] = []) -> PositionAnswers {
        var answers = PositionAnswers()
        for part in known {
            answers.known[part] = PartitionPositions(topicPartition: part, committed: 0, lowOffset: 0, endOffset: 0)
        }
        for part in unknown { answers.unknown[part] = Self.error }
        return answers
    }

    private static func asked(_ answers: PositionAnswers) -> AskedPartitions {
        AskedPartitions([0, 1], answers: answers) { [Self.part("events", $0), Self.part("routed", $0)] }
    }

    /// A partition begins when its positions in all input topics are known. The other partitions wait, each with a
    /// reason.
    @Test func whatIsKnownBegins() {
        let all = [Self.part("events", 0), Self.part("routed", 0), Self.part("events", 1), Self.part("routed", 1)]
        #expect(Self.asked(Self.answers(known: all)).ready == [0, 1])
        let some = Self.asked(Self.answers(known: [all[0], all[1], all[2]], unknown: [all[3]]))
        #expect(some.ready == [0] && some.unknown == [1: "\(Self.error)"])
        let none = Self.asked(PositionAnswers())
        #expect(none.ready.isEmpty && none.unknown.keys.sorted() == [0, 1])
        #expect(none.unknown[1]?.contains("events[1]") == true)
    }

    @Test func aReasonIsToldOnce() {
        var waiting = WaitingPartitions()
        let told = [
            waiting.wait(1, assignment: 1, reason: "no leader"), waiting.wait(1, assignment: 1, reason: "no leader"),
            waiting.wait(1, assignment: 1, reason: "no right"), waiting.wait(1, assignment: 2, reason: "no right"),
        ]
        #expect(told == [true, false, true, true])
        #expect(waiting.toAsk.map(\.assignment) == [2])
        waiting.remove([1])
        #expect(waiting.toAsk.isEmpty)
        _ = waiting.wait(2, assignment: 2, reason: "nobody asks", isForGood: true)
        #expect(waiting.toAsk.isEmpty && waiting.waits.count == 1)
    }

    @Test func askingSlowsDownAndBeginsAnew() {
        var waiting = WaitingPartitions()
        _ = waiting.wait(1, assignment: 1, reason: "no leader")
        let delays = (0..<1_000).map { _ in waiting.nextDelayMillis() }
        #expect(delays.prefix(6) == [200, 400, 800, 1_600, 3_200, 5_000])
        #expect(delays.dropFirst(6).allSatisfy { $0 == 5_000 })
        waiting.remove([3])
        let first = waiting.nextDelayMillis()
        #expect(first == 200)
    }
}
