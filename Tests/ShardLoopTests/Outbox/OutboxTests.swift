import PushEngine
import Testing

@testable import ShardLoop

/// Tests of how the loop hands records to Kafka.
@Suite struct OutboxTests {
    /// Registers many activities of one partition. Each makes a state record.
    private static func begin(_ harness: inout LoopHarness, activities: Range<Int>) {
        harness.carryOut(.assign([LoopHarness.grant(0)]))
        harness.settle()
        for activity in activities {
            harness.log.events[0, default: []].append(
                ("order-\(activity)", #"{"event":"register","token":"aa\#(activity)"}"#))
        }
        harness.turn()
        harness.wait(millis: 500)
    }

    /// A record that failed is tried again. Later records of its partition are not written before it.
    @Test func laterRecordsWaitForOneThatFailed() {
        var harness = LoopHarness()
        Self.begin(&harness, activities: 10..<12)
        let first = harness.log.unanswered.filter { $0.record.topic == .state }.map(\.record.acknowledgement)
        #expect(first.count == 2)
        harness.log.answer(isFailure: true)
        harness.turn()
        let written = harness.log.state().count
        harness.write("order-12", #"{"event":"register","token":"aa12"}"#)
        harness.wait(millis: 150)
        #expect(harness.log.state().count == written, "it waits")
        harness.wait(millis: 1_000)
        let again = harness.log.state().dropFirst(written).map(\.acknowledgement)
        #expect(Array(again.prefix(2)) == first)
        #expect(again.count == 3)
        let failure = harness.loop.isHeldUp
        #expect(failure, "until something is delivered")
        harness.settle()
        let isHeldUp = harness.loop.isHeldUp
        #expect(!isHeldUp)
    }

    /// Two records of a partition are on their way to Kafka, and the first fails. It is not tried again before the
    /// second is answered.
    @Test func aFailedRecordWaitsForWhatIsUnderWay() {
        var harness = LoopHarness()
        Self.begin(&harness, activities: 10..<12)
        let failed = harness.log.unanswered.first { $0.record.topic == .state }?.record.acknowledgement
        func tries(_ log: ScriptedLog) -> Int { log.state().count { $0.acknowledgement == failed } }
        harness.log.answer(1, isFailure: true)
        harness.turn()
        harness.wait(millis: 2_000)
        #expect(tries(harness.log) == 1)
        harness.log.answer()
        harness.turn()
        harness.wait(millis: 2_000)
        #expect(tries(harness.log) == 2)
    }

    @Test func noRoomHoldsReadingBackAndLosesNothing() {
        var harness = LoopHarness()
        harness.log.room = 3
        Self.begin(&harness, activities: 10..<15)
        let (isHeldUp, waiting) = (harness.loop.isHeldUp, harness.loop.waitingRecordCount)
        #expect(isHeldUp)
        #expect(waiting > 0)
        let read = harness.log.positions[0]
        harness.write("order-15", #"{"event":"register","token":"aa15"}"#)
        #expect(harness.log.positions[0] == read, "nothing is taken while Kafka takes nothing")
        harness.log.room = nil
        harness.settle()
        harness.wait(millis: 500)
        harness.settle()
        #expect(harness.log.positions[0] == 6)
        let left = harness.loop.waitingRecordCount
        #expect(left == 0)
        let keys = harness.log.state().compactMap { $0.key.map { String(decoding: $0, as: UTF8.self) } }
        for activity in 10..<16 { #expect(keys.contains { $0.hasSuffix("order-\(activity)") }) }
    }

    /// Records that are not urgent gather, and leave together.
    @Test func recordsGatherForAMoment() {
        var harness = LoopHarness(recordHoldMillis: 300)
        harness.begin()
        harness.writeUpdate(1)
        harness.accept()
        let written = harness.log.unanswered.count
        // Kafka is fast, so records gather for the configured time.
        harness.wait(millis: 299)
        let waiting = harness.loop.waitingRecordCount
        #expect(waiting == 1)
        #expect(harness.log.unanswered.count == written)
        harness.wait(millis: 1)
        #expect(harness.log.unanswered.count == written + 1)
    }

    @Test func aRefusedRecordIsKept() {
        var harness = LoopHarness()
        harness.begin()
        harness.log.refusedTopics = [.outcomes]
        harness.writeUpdate(1)
        harness.accept()
        harness.turn()
        let (errors, retries) = (harness.loop.errors, harness.loop.outboxCounters.retriesWaiting)
        #expect(errors.contains { $0.hasPrefix("records cannot be written") })
        #expect(retries == 1)
        harness.log.refusedTopics = []
        harness.wait(millis: 1_000)
        harness.settle()
        #expect(harness.log.logs[.init(topic: .outcomes, partition: -1)]?.count == 1)
        let left = harness.loop.outboxCounters.retriesWaiting
        #expect(left == 0)
    }

    /// When a partition moves to another worker, its waiting `state` records are not written. This holds for records
    /// that gather and for records that find no room. Records of other partitions are written.
    @Test(arguments: [false, true])
    func whatWaitsOfALostPartitionIsNotWritten(findsNoRoom: Bool) {
        var harness = LoopHarness(recordHoldMillis: findsNoRoom ? 0 : 300)
        harness.carryOut(.assign([LoopHarness.grant(0), LoopHarness.grant(1)]))
        for _ in 0..<40 {
            harness.settle()
            harness.wait(millis: 25)
        }
        let written = (harness.log.state(0).count, harness.log.state(1).count)
        // There is room for one record, and the other partition's record takes it.
        if findsNoRoom { harness.log.room = 1 }
        for partition in [1, 0] as [Int32] {
            harness.write("order-1", #"{"event":"register","token":"aa"}"#, partition: partition)
            if findsNoRoom { harness.wait(millis: 60) }
        }
        harness.wait(millis: 60)
        let waiting = harness.loop.waitingRecordCount
        #expect(waiting > 0)
        #expect(harness.log.state(0).count == written.0, "nothing has left so far")
        harness.carryOut(.forget([0]))
        harness.log.room = nil
        for _ in 0..<40 {
            harness.settle()
            harness.wait(millis: 50)
        }
        #expect(harness.log.state(0).count == written.0)
        #expect(harness.log.state(1).count > written.1)
        let left = harness.loop.waitingRecordCount
        #expect(left == 0)
    }

    /// When a partition moves to another worker, its waiting messages to other partitions are not written. Messages of
    /// a partition that stays are written.
    @Test(arguments: [false, true])
    func whatALostPartitionTellsOthersIsNotWritten(findsNoRoom: Bool) {
        var harness = LoopHarness()
        harness.carryOut(.assign([LoopHarness.grant(0), LoopHarness.grant(1)]))
        for _ in 0..<40 {
            harness.settle()
            harness.wait(millis: 25)
        }
        // Either Kafka's queue has room for one record, and a `state` record takes it; or Kafka refuses records for
        // `routed`.
        if findsNoRoom { harness.log.room = 1 } else { harness.log.refusedTopics = [.routed] }
        for partition in [0, 1] as [Int32] {
            harness.log.events[partition, default: []].append(
                ("\(partition)a", #"{"event":"register","audience":"match-\#(partition)"}"#))
        }
        harness.turn()
        let waiting = harness.loop.waitingRecordCount
        #expect(waiting >= 2)
        harness.carryOut(.forget([0]))
        (harness.log.room, harness.log.refusedTopics) = (nil, [])
        for _ in 0..<40 {
            harness.settle()
            harness.wait(millis: 50)
        }
        let told = harness.log.logs.filter { $0.key.topic == .routed }.flatMap(\.value)
        #expect(told.map { String(decoding: $0.key ?? [], as: UTF8.self) } == ["match-1"])
        let left = harness.loop.waitingRecordCount
        #expect(left == 0)
    }
}
