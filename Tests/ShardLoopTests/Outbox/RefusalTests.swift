import PushEngine
import PushModel
import Testing

@testable import ShardLoop

/// Tests of how the loop handles records that Kafka refuses for good.
@Suite struct RefusalTests {
    private static let topics: [EngineRecord.Topic] = [.state, .outcomes, .deadLetters, .routed]

    /// A loop with a running partition, and a Kafka that refuses the records that a rule names.
    private static func begin(
        publication: OutcomePublication = .all, checksPlacement: Bool = false,
        refuses: @escaping (KeptRecord) -> ProduceError?
    ) -> LoopHarness {
        var harness = LoopHarness(publication: publication, placement: checksPlacement ? .check : .trust)
        if checksPlacement {
            harness.carryOut(.assign([LoopHarness.grant(0)]))
            Self.settle(&harness, seconds: 1)
        } else {
            harness.begin()
        }
        harness.log.refuses = refuses
        return harness
    }

    /// Answers all records and requests, for some seconds.
    private static func settle(_ harness: inout LoopHarness, seconds: Int = 5) {
        for _ in 0..<seconds * 20 {
            harness.settle()
            harness.wait(millis: 50)
        }
        harness.settle()
    }

    private static func letters(_ harness: borrowing LoopHarness) -> [KeptRecord] {
        harness.log.taken.filter { $0.topic == .deadLetters }
    }

    private static func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    private static func expectConserved(_ harness: borrowing LoopHarness) {
        let counters = harness.loop.engine.counters
        #expect(counters.isConserved)
    }

    @Test func aDeadLetterIsShrunk() {
        var harness = Self.begin { $0.topic == .deadLetters && $0.byteCount > 600 ? .size : nil }
        let value = String(repeating: "x", count: 1_000)
        harness.write(String(repeating: "k", count: 300), value)
        Self.settle(&harness)
        let letters = Self.letters(harness)
        #expect(letters.count == 1)
        #expect(letters.first?.value == [])
        #expect(Self.text(letters.first?.key) == "events/0/1")
        #expect(Self.text(letters.first?.header(.valueBytes)) == "1000")
        #expect(Self.text(letters.first?.header(.keyBytes)) == "300")
        #expect(letters.first?.header(.keyPrefix)?.count == 256)
        #expect(Self.text(letters.first?.header(.offset)) == "1")
        #expect(letters.first?.header(.reason)?.isEmpty == false)
        let counters = harness.loop.outboxCounters
        #expect(counters.deadLettersShrunk == 1 && counters.deadLettersGivenUp == 0)
        #expect(counters.refusals[.deadLetters, .size] >= 1)
        #expect(harness.log.commits.last?.nextOffset == 2, "it does not hold its partition")
        Self.expectConserved(harness)
    }

    @Test func aDeadLetterThatIsNotTakenAtAllIsGivenUp() {
        var harness = Self.begin { $0.topic == .deadLetters ? .size : nil }
        harness.write("order-1", "broken")
        Self.settle(&harness)
        let (counters, lives) = (harness.loop.outboxCounters, harness.lives)
        #expect(counters.deadLettersGivenUp == 1)
        #expect(lives == [0: .running])
        #expect(harness.log.commits.last?.nextOffset == 2)
        let steps = harness.takeNews().compactMap { if case .refused(let notice) = $0 { notice.step } else { nil } }
        #expect(steps.last == .givenUp)
        let degraded = harness.loop.degraded(nowMillis: harness.now.steadyMillis)
        #expect(degraded.count == 1)
        let later = harness.loop.degraded(nowMillis: harness.now.steadyMillis + 600_000)
        #expect(later.isEmpty)
        Self.expectConserved(harness)
    }

    /// A partition halts when too many of its records would be given up in ten minutes. Refusals as frequent as these
    /// come from a lowered limit, and no more records may be lost.
    @Test func thePartitionHaltsWhenTooManyWouldBeGivenUp() {
        var harness = Self.begin(publication: .pushes) { $0.topic == .deadLetters ? .size : nil }
        for number in 0..<GiveUpLimit.countMax + 1 {
            harness.log.events[0, default: []].append(("order-\(number)", "broken"))
        }
        harness.turn()
        Self.settle(&harness, seconds: 20)
        let (counters, lives) = (harness.loop.outboxCounters, harness.lives)
        #expect(counters.deadLettersGivenUp == UInt64(GiveUpLimit.countMax))
        #expect(lives == [0: .halted])
        #expect(harness.log.commits.last?.nextOffset == Int64(GiveUpLimit.countMax + 1))
        let errors = harness.loop.errors
        #expect(errors.contains { $0.hasPrefix("partition 0 is halted") && $0.contains("(size)") })
        // Kafka's limit is raised again, so the record for which the partition halted is written.
        harness.log.refuses = { _ in nil }
        Self.settle(&harness, seconds: 15)
        #expect(Self.letters(harness).count == 1)
        #expect(harness.log.commits.last?.nextOffset == Int64(GiveUpLimit.countMax + 2))
        Self.expectConserved(harness)
    }

    @Test func aDeadLetterWithoutAKeyGetsItsSourcePosition() {
        var harness = Self.begin { $0.topic == .deadLetters && $0.key == nil ? .invalidRecord : nil }
        harness.log.keyless = [1]
        harness.write("order-1", #"{"event":"update"}"#)
        Self.settle(&harness)
        let letters = Self.letters(harness)
        #expect(letters.count == 1)
        #expect(Self.text(letters.first?.key) == "events/0/1")
        #expect(Self.text(letters.first?.value) == #"{"event":"update"}"#, "it is whole")
    }

    @Test func anOutcomeIsCountedAndNotPublished() {
        var harness = Self.begin { $0.topic == .outcomes ? .size : nil }
        harness.writeUpdate(1)
        harness.accept()
        Self.settle(&harness)
        let (counters, lives) = (harness.loop.outboxCounters, harness.lives)
        #expect(counters.outcomesUnpublished == 1)
        #expect(lives == [0: .running])
        #expect(harness.log.commits.last?.nextOffset == 2)
        Self.expectConserved(harness)
    }

    @Test(arguments: [ProduceError.notAuthorized, .policyViolation, .unknownTopic, .unsupportedVersion, .other])
    func whatMayChangeIsTriedAgain(_ error: ProduceError) {
        var harness = Self.begin { $0.topic == .outcomes ? error : nil }
        harness.writeUpdate(1)
        harness.accept()
        Self.settle(&harness)
        let (counters, errors) = (harness.loop.outboxCounters, harness.loop.errors)
        #expect(counters.outcomesUnpublished == 0 && counters.retriesWaiting == 1)
        #expect(errors.contains { $0.hasPrefix("records cannot be written") })
        harness.log.refuses = { _ in nil }
        Self.settle(&harness, seconds: 12)
        #expect(harness.log.taken.contains { $0.topic == .outcomes })
    }

    @Test func aStateRecordHaltsItsPartition() {
        var harness = Self.begin { $0.topic == .state ? .size : nil }
        harness.write("order-2", #"{"event":"register","token":"bb"}"#)
        Self.settle(&harness)
        let lives = harness.lives
        #expect(lives == [0: .halted])
        #expect(harness.log.commits.last?.nextOffset == 1, "what was not written down is not committed")
        harness.log.refuses = { _ in nil }
        Self.settle(&harness, seconds: 15)
        #expect(harness.log.commits.last?.nextOffset == 2)
        Self.expectConserved(harness)
    }

    /// A record with a wrong time gets the present time.
    @Test func aRecordGetsThePresentTime() {
        var harness = Self.begin { $0.topic == .outcomes && $0.timestampMillis != 0 ? .invalidTimestamp : nil }
        harness.log.deliveredTimeMillis = 1_000
        let first = FirstRefusal(.outcomes, .invalidTimestamp)
        harness.log.refuses = {
            first.refuses($0) ?? ($0.topic == .outcomes && $0.timestampMillis != 0 ? .invalidTimestamp : nil)
        }
        harness.writeUpdate(1)
        harness.accept()
        Self.settle(&harness)
        let counters = harness.loop.outboxCounters
        // The record was refused in its batch, then alone, and was taken with the present time.
        #expect(counters.refusals[.outcomes, .invalidTimestamp] == 2)
        #expect(counters.outcomesUnpublished == 0)
        #expect(harness.log.taken.contains { $0.topic == .outcomes && $0.timestampMillis == 0 })
    }

    // MARK: Batches

    /// Kafka refuses a batch because of one record, or because all together are too large. Each record is then sent
    /// alone, and no good record is lost.
    @Test(arguments: [EngineRecord.Topic.outcomes, .state])
    func aRefusedBatchIsHandedOverOneByOne(_ topic: EngineRecord.Topic) {
        var harness = Self.begin { _ in nil }
        harness.log.batchCountMax = [topic: 3]
        for number in 0..<40 {
            harness.log.events[0, default: []].append(
                ("order-\(number)", #"{"event":"register","token":"aa\#(number)"}"#))
        }
        harness.turn()
        Self.settle(&harness, seconds: 20)
        let (counters, lives) = (harness.loop.outboxCounters, harness.lives)
        #expect(lives == [0: .running])
        #expect(counters.outcomesUnpublished == 0 && counters.retriesWaiting == 0)
        #expect(counters.refusals[topic, .size] > 0)
        #expect(harness.log.taken.count { $0.topic == .outcomes } == 41)
        #expect(harness.log.commits.last?.nextOffset == 41)
        Self.expectConserved(harness)
    }

    /// One bad record in a batch does not cause the batch's other records to be given up.
    @Test func oneOfABatchIsRefused() {
        var harness = Self.begin { record in
            record.topic == .outcomes && record.key == Array("order-7".utf8) ? .invalidRecord : nil
        }
        harness.log.refusesWholeBatch = true
        for number in 0..<40 {
            harness.log.events[0, default: []].append(
                ("order-\(number)", #"{"event":"register","token":"aa\#(number)"}"#))
        }
        harness.turn()
        Self.settle(&harness, seconds: 20)
        let counters = harness.loop.outboxCounters
        #expect(counters.outcomesUnpublished == 1)
        #expect(harness.log.taken.count { $0.topic == .outcomes } == 40)
    }

    /// A record that must be sent alone is due at the same time as another record. They are sent separately, and
    /// neither is given up.
    @Test func nothingLeavesBesideOneThatIsToBeAlone() {
        let first = FirstRefusal(.outcomes, .other)
        var harness = Self.begin { first.refuses($0) }
        harness.log.refusesWholeBatch = true
        harness.log.batchCountMax = [.outcomes: 1]
        harness.write("order-2", Self.good)
        harness.settle()
        harness.log.events[0, default: []] += [("order-3", Self.good), ("order-4", Self.good)]
        harness.turn()
        harness.now.steadyMillis += RetryQueue.backoffMinMillis
        Self.settle(&harness)
        let counters = harness.loop.outboxCounters
        #expect(counters.refusals[.outcomes, .other] == 1 && counters.refusals[.outcomes, .size] >= 2)
        #expect(counters.outcomesUnpublished == 0)
        #expect(harness.log.taken.count { $0.topic == .outcomes } == 4)
    }

    // MARK: What a topic takes

    @Test func aRecordThatIsTooLargeIsNotSent() {
        var harness = Self.begin { _ in nil }
        var limits = RecordLimits()
        limits[.deadLetters] = 500
        harness.carryOut(.limit(limits))
        harness.write("order-1", String(repeating: "x", count: 1_000))
        Self.settle(&harness)
        #expect(harness.log.sent.allSatisfy { $0.topic != .deadLetters || $0.byteCount <= 500 })
        #expect(Self.letters(harness).first?.value == [])
        let asks = harness.loop.takesQuestionForLimits()
        #expect(asks, "the limit may be another by now")
    }

    // MARK: Events for other partitions

    private static func keyElsewhere() -> String {
        (0..<100).map { "order-\($0)" }.first { key in
            let bytes = Array(key.utf8)
            return Murmur2.partition(key: bytes.span, count: 4) != 0
        }!
    }
    private static let good = #"{"event":"register","token":"bb"}"#

    @Test func anEventThatCannotBeForwardedIsDeadLettered() {
        var harness = Self.begin(checksPlacement: true) { $0.topic == .routed ? .size : nil }
        harness.write(Self.keyElsewhere(), Self.good)
        Self.settle(&harness)
        let letters = Self.letters(harness)
        #expect(letters.count == 1)
        #expect(Self.text(letters.first?.value) == Self.good)
        #expect(Self.text(letters.first?.header(.offset)) == "0")
        let counters = harness.loop.engine.counters
        #expect(counters.forwarded == 1 && counters.forwardsRefused == 1 && counters.count(.deadLettered) == 1)
        #expect(harness.log.taken.contains { $0.topic == .outcomes && Self.text($0.value)!.contains("dead-lettered") })
        #expect(harness.log.commits.last?.nextOffset == 1)
        Self.expectConserved(harness)
    }

    /// A record is too large for its topic, and later records were handed over with it. The later ones are written.
    @Test func whatIsBehindOneThatIsTooLargeGoesOn() {
        var harness = Self.begin(checksPlacement: true) { _ in nil }
        var limits = RecordLimits()
        limits[.routed] = 500
        harness.carryOut(.limit(limits))
        let (key, large) = (Self.keyElsewhere(), String(repeating: "x", count: 1_000))
        harness.write(key, Self.good)
        harness.write(key, #"{"event":"update","content-state":{"f":"\#(large)"}}"#)
        harness.write(key, #"{"event":"update","content-state":{}}"#)
        Self.settle(&harness)
        #expect(harness.log.taken.count { $0.topic == .routed } == 2)
        #expect(Self.letters(harness).count == 1)
        #expect(harness.log.commits.last?.nextOffset == 3)
        Self.expectConserved(harness)
    }

    /// When a good event can neither be forwarded nor dead-lettered, its partition halts and nothing is given up.
    @Test func aGoodEventHaltsItsPartition() {
        var harness = Self.begin(checksPlacement: true) { [.routed, .deadLetters].contains($0.topic) ? .size : nil }
        harness.write(Self.keyElsewhere(), Self.good)
        Self.settle(&harness)
        let lives = harness.lives
        #expect(lives == [0: .halted])
        #expect(harness.log.commits.isEmpty)
        harness.log.refuses = { _ in nil }
        Self.settle(&harness, seconds: 15)
        #expect(Self.text(Self.letters(harness).first?.value) == Self.good)
        Self.expectConserved(harness)
    }

    /// A record that is not an event is given up when it cannot be forwarded. Its partition does not halt.
    @Test func aBadRecordThatCannotBeForwardedIsGivenUp() {
        var harness = Self.begin(checksPlacement: true) { [.routed, .deadLetters].contains($0.topic) ? .size : nil }
        harness.write(Self.keyElsewhere(), "broken")
        Self.settle(&harness)
        let lives = harness.lives
        #expect(lives == [0: .running])
        #expect(harness.log.commits.last?.nextOffset == 1)
        Self.expectConserved(harness)
    }

    /// A record is handed over for `routed` only when the one before it has been answered. A reader of `routed` treats
    /// a record with a lower source offset as a replay.
    @Test func nothingIsForwardedBeforeThoseInFrontAreAnswered() {
        var harness = Self.begin(checksPlacement: true) { _ in nil }
        let key = Self.keyElsewhere()
        harness.write(key, Self.good)
        harness.write(key, #"{"event":"update","content-state":{}}"#)
        #expect(harness.log.sent.count { $0.topic == .routed } == 1)
        Self.settle(&harness)
        #expect(harness.log.sent.count { $0.topic == .routed } == 2)
    }
}

/// Refuses one record of a topic, once.
private final class FirstRefusal {
    private let topic: EngineRecord.Topic
    private var error: ProduceError?

    init(_ topic: EngineRecord.Topic, _ error: ProduceError) {
        self.topic = topic
        self.error = error
    }

    func refuses(_ record: KeptRecord) -> ProduceError? {
        guard record.topic == self.topic else { return nil }
        defer { self.error = nil }
        return self.error
    }
}
