import PushEngine
import PushModel
import Testing

@testable import ShardLoop

/// Tests of a partition's states from its assignment until it has left.
@Suite struct PartitionLifeTests {
    /// Every state except the last leads to another. From every state a release can begin, unless the partition is
    /// already leaving.
    @Test(arguments: PartitionLife.allCases)
    func everyStateLeadsOut(life: PartitionLife) {
        #expect(life.followers.isEmpty == (life == .left))
        #expect(life.followers.contains(.quieting) == !life.isLeaving)
        #expect(!life.followers.contains(life))
        #expect(!life.followers.contains(.claiming), "an assignment makes it anew")
    }

    @Test func itIsClaimedRestoredAndRuns() {
        var harness = LoopHarness()
        harness.carryOut(.assign([LoopHarness.grant(0), LoopHarness.grant(2)]))
        #expect(harness.lives == [0: .claiming, 2: .claiming])
        #expect(harness.log.state(0).count == 1, "the marker")
        #expect(harness.log.sections.isEmpty, "nothing is read before the marker lies there")
        harness.log.answer()
        harness.turn()
        #expect(harness.lives == [0: .running, 2: .running])
        #expect(harness.log.sections.map(\.offsets) == [0..<1, 0..<1], "up to the marker and with it")
        #expect(harness.log.reading == [0, 2])
    }

    @Test func whatCannotBeConsumedIsHaltedAndLeavesAtOnce() {
        var harness = LoopHarness()
        var grant = LoopHarness.grant(1)
        grant.haltReason = "cut off"
        harness.carryOut(.assign([grant]))
        #expect(harness.lives == [1: .haltedUnrestored])
        let errors = harness.loop.errors
        #expect(errors == ["partition 1 is halted: cut off"])
        harness.carryOut(.release(number: 7, [1], times: ReleaseTimes(quietMillis: 100, limitMillis: 200)))
        #expect(harness.lives == [1: .left])
        guard case .released(7, [], [])? = harness.takeNews().last else { return #expect(Bool(false)) }
        harness.carryOut(.forget([1]))
        #expect(harness.lives.isEmpty)
    }

    @Test func aRunningOneIsHaltedByAFailureThatDoesNotPass() {
        var harness = LoopHarness()
        harness.begin()
        harness.log.readFailures[0] = LogFailure("hiccup", isFinal: false)
        harness.turn()
        #expect(harness.lives == [0: .running])
        harness.log.readFailures[0] = LogFailure("out of range", isFinal: true)
        harness.turn()
        #expect(harness.lives == [0: .halted])
        harness.writeUpdate(1)
        #expect(harness.push.requests.isEmpty, "nothing more is read of it")
    }

    /// A release waits for APNs' answers, writes the rest, waits for Kafka, and only then lets the partition go.
    @Test func itLeavesStepByStep() {
        var harness = LoopHarness(recordHoldMillis: 300)
        harness.begin()
        harness.writeUpdate(1)
        #expect(harness.push.requests.count == 1)
        harness.carryOut(.release(number: 1, [0], times: ReleaseTimes(quietMillis: 500, limitMillis: 3_500)))
        #expect(harness.lives == [0: .quieting])
        harness.writeUpdate(2)
        #expect(harness.log.positions[0] == 2, "nothing more is taken")
        harness.accept()
        harness.turn()
        #expect(harness.lives == [0: .writing])
        let waiting = harness.loop.waitingRecordCount
        #expect(waiting == 0, "what was left is written at once: somebody waits")
        #expect(!harness.log.unanswered.isEmpty)
        _ = harness.takeNews()
        harness.settle()
        #expect(harness.lives == [0: .left])
        guard case .released(1, let commits, [])? = harness.takeNews().first else { return #expect(Bool(false)) }
        #expect(commits == [CommitPosition(topic: 0, partition: 0, nextOffset: 2)])
        harness.carryOut(.forget([0]))
        #expect(harness.lives.isEmpty)
        #expect(harness.log.reading.isEmpty)
    }

    /// A late answer of APNs adds records to a partition that was ready to leave. Partitions that are released together
    /// wait until Kafka has those records.
    @Test func allThatLeaveTogetherAreSettledTogether() {
        var harness = LoopHarness()
        harness.begin()
        harness.carryOut(.assign([LoopHarness.grant(1)]))
        harness.settle()
        harness.write("register", #"{"event":"register","token":"bb"}"#, partition: 1)
        harness.settle()
        for partition: Int32 in 0...1 {
            harness.write("order-1", #"{"event":"update","priority":10,"content-state":{}}"#, partition: partition)
        }
        #expect(harness.push.requests.count == 2)
        harness.carryOut(.release(number: 1, [0, 1], times: ReleaseTimes(quietMillis: 500, limitMillis: 60_000)))
        harness.wait(millis: 500)
        #expect(harness.lives == [0: .writing, 1: .writing])
        #expect(harness.log.unanswered.suffix(2).map(\.0.partition) == [0, 1], "what was left of each")
        harness.log.answer(harness.log.unanswered.count - 1)
        harness.turn()
        harness.accept(1)
        harness.log.answer(1)
        harness.turn()
        #expect(harness.lives == [0: .writing, 1: .writing], "the outcome of the first is not acknowledged")
        harness.settle()
        #expect(harness.lives == [0: .left, 1: .left])
        guard case .released(1, _, [])? = harness.takeNews().last else { return #expect(Bool(false)) }
    }

    @Test func waitingHasAnEnd() {
        var harness = LoopHarness()
        harness.begin()
        harness.writeUpdate(1)
        harness.carryOut(.release(number: 1, [0], times: ReleaseTimes(quietMillis: 500, limitMillis: 3_500)))
        harness.wait(millis: 499)
        #expect(harness.lives == [0: .quieting])
        harness.wait(millis: 1)
        #expect(harness.lives == [0: .writing])
        harness.wait(millis: 2_999)
        #expect(harness.lives == [0: .writing])
        _ = harness.takeNews()
        harness.wait(millis: 1)
        guard case .released(1, _, [0])? = harness.takeNews().first else { return #expect(Bool(false)) }
    }

    /// When a partition is lost during its release, callers that wait for the release get an answer.
    @Test func aLostOneEndsItsRelease() {
        var harness = LoopHarness()
        harness.begin()
        harness.writeUpdate(1)
        harness.carryOut(.release(number: 4, [0], times: ReleaseTimes(quietMillis: 500, limitMillis: 3_500)))
        _ = harness.takeNews()
        harness.carryOut(.forget([0]))
        guard case .released(4, [], [0])? = harness.takeNews().first else { return #expect(Bool(false)) }
    }

    /// A shard writes nothing of a partition that it has forgotten, because the next owner writes there.
    @Test func nothingOfAForgottenOneIsWritten() {
        var harness = LoopHarness(recordHoldMillis: 300)
        harness.begin()
        harness.writeUpdate(1)
        harness.accept()
        harness.turn()
        harness.log.answer(isFailure: true)
        harness.turn()
        let written = harness.log.state().count
        harness.carryOut(.forget([0]))
        harness.wait(millis: 20_000)
        harness.settle()
        #expect(harness.log.state().count == written)
        let (waiting, unacknowledged) = (harness.loop.waitingRecordCount, harness.loop.engine.counters.unacknowledged)
        #expect(waiting == 0)
        #expect(unacknowledged == 0)
    }

    /// A forgotten partition has no timer. Otherwise the timer would fire again and again.
    @Test func nothingIsDueForAForgottenOne() {
        var harness = LoopHarness(recordHoldMillis: 300)
        harness.begin()
        // Only a `state` record gathers here. Another kind of record would end the wait early.
        harness.write("order-2", #"{"event":"register","token":"bb"}"#)
        harness.wait(millis: 100)
        let waiting = harness.loop.waitingRecordCount
        #expect(waiting == 1)
        harness.carryOut(.forget([0]))
        harness.wait(millis: 1_000)
        harness.settle()
        let deadline = harness.loop.deadlineMillis
        #expect(deadline.map { $0 > harness.now.steadyMillis } ?? true)
    }
}
