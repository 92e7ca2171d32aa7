import PushEngine
import PushModel
import Testing

@testable import ShardLoop

/// Tests of an inlet: a partition that was added to an input topic after `state` was first written. It has input
/// records, but no `state`.
@Suite struct InletLoopTests {
    private static let number: Int32 = 5

    private static func position(_ offset: Int64) -> CommitPosition {
        CommitPosition(topic: 0, partition: Self.number, nextOffset: offset)
    }

    /// A harness with an inlet that has records. All keys belong to partitions 0 to 3.
    private static func harness(records: Int) -> LoopHarness {
        var harness = LoopHarness(placement: .check)
        let grant = PartitionGrant(
            number: Self.number, starts: [Self.position(0)], logEnds: [Self.position(0)], isInlet: true)
        harness.carryOut(.assign([grant]))
        for record in 0..<records {
            harness.write("order-\(record)", #"{"event":"update","content-state":{"n":1}}"#, partition: Self.number)
        }
        return harness
    }

    private static func forwarded(_ log: ScriptedLog) -> [KeptRecord] {
        (0..<4).flatMap { log.logs[ScriptedLog.LogID(topic: .routed, partition: $0)] ?? [] }
    }

    @Test func nothingIsTakenBeforeItIsLetIn() {
        var harness = Self.harness(records: 20)
        #expect(harness.lives == [Self.number: .inlet])
        #expect(harness.log.sections.isEmpty && harness.log.state(Self.number).isEmpty, "it has no state")
        harness.wait(millis: 60_000)
        #expect(Self.forwarded(harness.log).isEmpty)
        #expect(harness.loop.watermarks == [Self.position(0)])

        harness.carryOut(.letIn([Self.position(7)]))
        // Only one record at a time is on its way to each partition of `routed`, so Kafka must answer each.
        harness.settle()
        let forwarded = Self.forwarded(harness.log)
        #expect(forwarded.count == 7)
        for record in forwarded {
            let key = record.key ?? []
            #expect(record.partition == Murmur2.partition(key: key.span, count: 4), "by the count that counts")
            #expect(record.headers.contains { String(decoding: $0.value, as: UTF8.self) == "\(Self.number)" })
        }
        harness.carryOut(.letIn([Self.position(20)]))
        harness.settle()
        #expect(Self.forwarded(harness.log).count == 20)
        #expect(harness.takeNews().isEmpty, "its publisher's client is not to blame")
    }

    @Test func whatIsForwardedIsCommittedOnceKafkaHasIt() {
        var harness = Self.harness(records: 6)
        harness.carryOut(.letIn([Self.position(6)]))
        harness.wait(millis: 5_000)
        #expect(harness.log.commits.isEmpty)
        harness.settle()
        harness.wait(millis: 5_000)
        #expect(harness.log.commits.last == Self.position(6))
    }

    /// When a good event can neither be forwarded nor dead-lettered, its inlet halts. Otherwise later records would be
    /// lost unnoticed.
    @Test func aGoodEventThatNobodyTakesHaltsIt() {
        var harness = Self.harness(records: 6)
        harness.log.refuses = { [.routed, .deadLetters].contains($0.topic) ? .size : nil }
        harness.carryOut(.letIn([Self.position(3)]))
        for _ in 0..<30 {
            harness.settle()
            harness.wait(millis: 200)
        }
        #expect(harness.lives == [Self.number: .halted])
        #expect(harness.log.commits.isEmpty)
        let isTold = harness.takeNews().contains { news in
            if case .halted(Self.number, _) = news { true } else { false }
        }
        #expect(isTold, "readiness and a page name it")
        let taken = harness.loop.engine.nextOffset(topic: 0, partition: Self.number)
        harness.carryOut(.letIn([Self.position(6)]))
        harness.settle()
        let takenThen = harness.loop.engine.nextOffset(topic: 0, partition: Self.number)
        #expect(takenThen == taken, "nothing more is taken")
    }

    /// An inlet is released like any partition: its commit is reported when Kafka has acknowledged every record.
    @Test func itLeavesWhenEverythingIsAcknowledged() {
        var harness = Self.harness(records: 4)
        harness.carryOut(.letIn([Self.position(4)]))
        harness.carryOut(.release(number: 1, [Self.number], times: ReleaseTimes(quietMillis: 100, limitMillis: 9_000)))
        #expect(harness.lives == [Self.number: .writing])
        harness.settle()
        guard case .released(1, let commits, [])? = harness.takeNews().last else { return #expect(Bool(false)) }
        #expect(commits == [Self.position(4)])
        harness.carryOut(.forget([Self.number]))
        #expect(harness.lives.isEmpty && harness.loop.engine.counters.isConserved)
    }
}
