import APNSProtocol
import PushEngine
import PushModel
import Testing

@testable import ShardLoop

/// An activity that is updated all the time gets its push each second although records gather: a slot's next push waits for the state record
/// of the one before, which waits for its outcome.
struct GatheringRhythmTests {
    /// One activity under a clock that moves by milliseconds; its records go to Kafka when `OutboxPace` says so.
    private struct Shard: ~Copyable {
        var engine: ShardEngine
        var pace: OutboxPace
        var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_760_000_000_000)
        let answerMillis: Int64
        let acknowledgementMillis: Int64
        private var offset: Int64 = 0
        private var stateOffset: Int64 = 0
        private var request = PushRequest()
        /// With Kafka, and with APNs: until when.
        private var written: [(doneMillis: Int64, acknowledgements: [UInt64])] = []
        private var sent: [(doneMillis: Int64, id: PushID)] = []
        private(set) var sentMillis: [Int64] = []
        private(set) var batchCount = 0

        init(pace: OutboxPace, answerMillis: Int64, acknowledgementMillis: Int64, publication: OutcomePublication) {
            var app = AppConfiguration(bundleID: "com.example.pizza")
            app.productionRoute = 0
            app.lowPriorityWindowMillis = 0
            var configuration = EngineConfiguration(
                apps: [app], inputTopics: ["events", "routed"], routedTopicIndex: 1, partitionCount: 1)
            configuration.outcomePublication = publication
            self.engine = ShardEngine(configuration: configuration, randomSeed: 1)
            self.pace = pace
            self.answerMillis = answerMillis
            self.acknowledgementMillis = acknowledgementMillis
            self.engine.partitionAssigned(0, now: self.now)
            self.turn()
            self.wait(millis: acknowledgementMillis)
            self.engine.restoreFinished(partition: 0, logEnds: [], starts: [], now: self.now)
        }

        mutating func consume(_ value: String) {
            let record = InputRecord(
                topic: 0, partition: 0, offset: self.offset, timestampMillis: self.now.wallMillis, hasKey: true,
                hasValue: true, origin: nil)
            self.offset += 1
            self.engine.consume(
                record, key: Array("order-1".utf8).span, value: Array(value.utf8).span, traceparent: Span(),
                now: self.now)
            self.turn()
        }

        mutating func wait(millis: Int64) {
            for _ in 0..<millis {
                self.now.steadyMillis += 1
                self.now.wallMillis += 1
                self.turn()
            }
        }

        private mutating func turn() {
            while let first = self.written.first, first.doneMillis <= self.now.steadyMillis {
                self.written.removeFirst()
                self.pace.acknowledged(afterMillis: self.acknowledgementMillis)
                for acknowledgement in first.acknowledgements {
                    self.engine.acknowledged(acknowledgement, offset: self.stateOffset, now: self.now)
                }
            }
            while let first = self.sent.first, first.doneMillis <= self.now.steadyMillis {
                self.sent.removeFirst()
                self.engine.answered(
                    PushAnswer(id: first.id, result: .accepted, apnsMicros: self.answerMillis * 1_000), now: self.now)
            }
            self.engine.advance(now: self.now)
            while self.engine.nextPush(route: 0, into: &self.request, now: self.now) {
                self.sentMillis.append(self.now.steadyMillis)
                self.sent.append((self.now.steadyMillis + self.answerMillis, self.request.id))
            }
            let (count, isUrgent) = (self.engine.batch.records.count, self.engine.batch.isUrgent)
            guard self.pace.handsOver(count: count, isUrgent: isUrgent, nowMillis: self.now.steadyMillis) else {
                return
            }
            self.batchCount += 1
            self.written.append(
                (
                    self.now.steadyMillis + self.acknowledgementMillis,
                    self.engine.batch.records.map(\.acknowledgement)
                ))
            self.engine.batch.removeAll()
        }
    }

    /// The distances between pushes while updates come.
    private static func distances(
        everyMillis: Int64, answerMillis: Int64, acknowledgementMillis: Int64,
        publication: OutcomePublication = .pushes, pace: OutboxPace? = nil
    ) -> (distances: [Int64], batchCount: Int) {
        var shard = Shard(
            pace: pace ?? OutboxPace(holdMillis: 300, unacknowledgedMax: 50_000), answerMillis: answerMillis,
            acknowledgementMillis: acknowledgementMillis, publication: publication)
        shard.consume(#"{"event":"register","token":"aa"}"#)
        shard.wait(millis: 3_000)
        let batchCount = shard.batchCount
        for number in 0..<(60_000 / everyMillis) {
            shard.consume(#"{"event":"update","priority":5,"content-state":{"n":\#(number)}}"#)
            shard.wait(millis: everyMillis)
        }
        let sent = shard.sentMillis
        return (zip(sent.dropFirst(), sent).map { $0 - $1 }, shard.batchCount - batchCount)
    }

    @Test(
        arguments: [1_000, 250, 100] as [Int64],
        [(20, 5), (100, 50), (100, 100), (150, 200), (100, 350)] as [(answer: Int64, acknowledgement: Int64)])
    func theNextPushLeavesOnTheSecond(everyMillis: Int64, kafka: (answer: Int64, acknowledgement: Int64)) {
        let (distances, batchCount) = Self.distances(
            everyMillis: everyMillis, answerMillis: kafka.answer, acknowledgementMillis: kafka.acknowledgement)
        #expect(distances.count >= 58)
        #expect(distances.allSatisfy { $0 == 1_000 }, "\(distances)")
        // Outcome and state of each push, and little else.
        #expect(batchCount <= 2 * distances.count + 10)
    }

    /// Nothing to wait for before the state record.
    @Test func theSameWithoutOutcomes() {
        let (distances, _) = Self.distances(
            everyMillis: 250, answerMillis: 100, acknowledgementMillis: 100, publication: .failures)
        #expect(distances.count >= 58)
        #expect(distances.allSatisfy { $0 == 1_000 }, "\(distances)")
    }
}
