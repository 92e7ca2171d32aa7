import PushModel
import ShardLoop
import Testing

/// Tests that an activity with constant updates gets a push each second, although records gather. A slot's next push
/// waits for the state record of its previous push. That record waits for the outcome.
struct GatheringRhythmTests {
    /// One activity of a loop under virtual time, with a slow Kafka and a slow APNs.
    private struct Shard: ~Copyable {
        private var harness: LoopHarness
        private let answerMillis: Int64
        private let acknowledgementMillis: Int64
        /// Batches of records at Kafka: the number of records in each, and when Kafka will have stored it.
        private var written: [(doneMillis: Int64, count: Int)] = []
        /// Batches of requests at APNs: the number of requests in each, and when APNs will answer it.
        private var sent: [(doneMillis: Int64, count: Int)] = []
        private var writtenCount = 0
        private(set) var sentMillis: [Int64] = []
        private(set) var batchCount = 0

        init(answerMillis: Int64, acknowledgementMillis: Int64, publication: OutcomePublication) {
            self.harness = LoopHarness(recordHoldMillis: 300, publication: publication)
            self.answerMillis = answerMillis
            self.acknowledgementMillis = acknowledgementMillis
            self.harness.carryOut(.assign([LoopHarness.grant(0)]))
            self.note()
        }

        mutating func write(_ value: String) {
            self.harness.write("order-1", value)
            self.note()
        }

        mutating func wait(millis: Int64) {
            let endMillis = self.harness.now.steadyMillis + millis
            while self.harness.now.steadyMillis < endMillis {
                let nextMillis = min(
                    endMillis, self.harness.loop.deadlineMillis ?? .max, self.written.first?.doneMillis ?? .max,
                    self.sent.first?.doneMillis ?? .max)
                self.harness.wait(millis: max(1, nextMillis - self.harness.now.steadyMillis))
                self.answer()
                self.note()
            }
        }

        /// Makes Kafka and APNs answer what they have finished by now.
        private mutating func answer() {
            let nowMillis = self.harness.now.steadyMillis
            while let first = self.written.first, first.doneMillis <= nowMillis {
                self.written.removeFirst()
                self.writtenCount -= first.count
                self.harness.log.answer(first.count)
                self.harness.turn()
            }
            while let first = self.sent.first, first.doneMillis <= nowMillis {
                self.sent.removeFirst()
                self.harness.accept(first.count)
            }
        }

        /// Counts the records and requests that have left since the last call.
        private mutating func note() {
            let nowMillis = self.harness.now.steadyMillis
            let recordCount = self.harness.log.unanswered.count - self.writtenCount
            if recordCount > 0 {
                self.batchCount += 1
                self.writtenCount += recordCount
                self.written.append((nowMillis + self.acknowledgementMillis, recordCount))
            }
            let pushCount = self.harness.push.requests.count - self.sentMillis.count
            if pushCount > 0 {
                self.sentMillis += Array(repeating: nowMillis, count: pushCount)
                self.sent.append((nowMillis + self.answerMillis, pushCount))
            }
        }
    }

    /// Plays a minute of updates.
    /// - Returns: the distances between pushes in milliseconds, and the number of batches that were written.
    private static func distances(
        everyMillis: Int64, answerMillis: Int64, acknowledgementMillis: Int64, publication: OutcomePublication = .pushes
    ) -> (distances: [Int64], batchCount: Int) {
        var shard = Shard(
            answerMillis: answerMillis, acknowledgementMillis: acknowledgementMillis, publication: publication)
        shard.write(#"{"event":"register","token":"aa"}"#)
        shard.wait(millis: 3_000)
        let batchCount = shard.batchCount
        for number in 0..<(60_000 / everyMillis) {
            shard.write(#"{"event":"update","priority":5,"content-state":{"n":\#(number)}}"#)
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
        // Each push causes two batches, one with its outcome and one with its state record. Few other batches are
        // written.
        #expect(batchCount <= 2 * distances.count + 10)
    }

    /// A push leaves each second even if its outcome is not published. The state record then waits for no outcome.
    @Test func theSameWithoutOutcomes() {
        let (distances, _) = Self.distances(
            everyMillis: 250, answerMillis: 100, acknowledgementMillis: 100, publication: .failures)
        #expect(distances.count >= 58)
        #expect(distances.allSatisfy { $0 == 1_000 }, "\(distances)")
    }
}
