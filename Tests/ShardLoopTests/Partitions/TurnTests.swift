import PushEngine
import Testing

@testable import ShardLoop

/// Tests of what one turn does, and of what it leaves to the next.
@Suite struct TurnTests {
    /// An offset is committed only when its `state` record is in Kafka.
    @Test func offsetsAreCommittedBehindTheirStateRecord() {
        var harness = LoopHarness()
        harness.begin()
        harness.writeUpdate(1)
        harness.accept()
        harness.turn()
        harness.wait(millis: 5_000)
        #expect(harness.log.commits.allSatisfy { $0.nextOffset < 2 }, "nothing of it is acknowledged")
        harness.settle()
        harness.wait(millis: 1_000)
        harness.settle()
        harness.wait(millis: 250)
        #expect(harness.log.commits.last == CommitPosition(topic: 0, partition: 0, nextOffset: 2))
    }

    @Test func aTurnIsBounded() {
        var harness = LoopHarness()
        harness.carryOut(.assign([LoopHarness.grant(0), LoopHarness.grant(1), LoopHarness.grant(2)]))
        harness.settle()
        for partition in Int32(0)..<3 {
            harness.log.events[partition] = (0..<600).map {
                ("order-\(partition)-\($0)", #"{"event":"register","token":"ab\#(1_000 + $0)"}"#)
            }
        }
        harness.loop.turn(now: harness.now)
        let read = harness.log.positions.values.reduce(0, +)
        #expect(read == ShardLoop.recordsPerTurnMax)
        #expect(harness.log.positions.values.allSatisfy { $0 <= ShardLoop.recordsPerQueueMax })
        let hasMore = harness.loop.hasMore
        #expect(hasMore)
        harness.turn()
        #expect(harness.log.positions.values.reduce(0, +) == 1_800)
        let activities = harness.loop.engine.counters.slots
        #expect(activities == 1_800)
    }

    @Test func withoutCreditItIsAskedFor() {
        var harness = LoopHarness()
        harness.begin()
        harness.push.credit = 0
        harness.writeUpdate(1)
        #expect(harness.push.requests.isEmpty)
        #expect(harness.push.waitsForCredit)
        harness.push.credit = 1
        harness.turn()
        #expect(harness.push.requests.count == 1)
    }

    /// After `stopReading` the loop takes no more events, and finishes those that it has.
    @Test func stopReadingEndsTheTaking() {
        var harness = LoopHarness()
        harness.begin()
        harness.writeUpdate(1)
        harness.carryOut(.stopReading)
        harness.writeUpdate(2)
        #expect(harness.log.positions[0] == 2)
        harness.accept()
        harness.settle()
        let isSettled = harness.loop.engine.counters.pending == 0
        #expect(isSettled)
    }

    /// A stranger's `state` record in the shard's partition is read, and the shard writes its own record after it.
    @Test func aGapInStateIsRepaired() {
        var harness = LoopHarness()
        harness.begin()
        let key = harness.log.state().last?.key
        harness.log.append(
            state: KeptRecord(topic: .state, partition: 0, key: key, value: [1, 2, 3], acknowledgement: 0))
        harness.writeUpdate(1)
        harness.accept()
        harness.wait(millis: 1_000)
        harness.settle()
        let gap = harness.log.sections.last
        #expect(gap?.partition == 0)
        #expect(gap.map { $0.offsets.count } == 1)
        harness.wait(millis: 1_000)
        harness.settle()
        #expect(harness.log.state().last?.key == key)
        let (gaps, foreign) = (
            harness.loop.engine.counters.stateGaps, harness.loop.engine.counters.stateRecordsForeign
        )
        #expect(gaps == 1)
        #expect(foreign == 1)
    }
}
