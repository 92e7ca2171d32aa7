import PushEngine
import PushModel
import Testing

@testable import ShardLoop

/// Tests of partitions whose `state` has lost records. Such a partition halts: nothing of it is pushed, written or
/// committed.
@Suite struct StateLossTests {
    private static func grant(stateEnd: Int64?) -> PartitionGrant {
        var grant = LoopHarness.grant(0)
        grant.stateEnd = stateEnd
        return grant
    }

    /// The `state` record with which an operator accepts the loss.
    private static func acceptance(of end: Int64) -> KeptRecord {
        KeptRecord(
            topic: .state, partition: 0, key: StateAcceptance.key,
            value: StateAcceptance.value(partitionCount: 4, clusterID: "", wallMillis: 1_760_000_000_000),
            headers: [(Array(RecordHeader.acceptedEnd.text.utf8), Array("\(end)".utf8))], timestampMillis: 0,
            acknowledgement: 0)
    }

    /// Cases: the committed end of `state`, the number of claims by owners that never ran, the accepted end, and
    /// whether the partition runs.
    @Test(
        arguments: [
            (nil, 0, nil, true), (2, 0, nil, false), (9, 0, nil, false), (2, 3, nil, false), (nil, 3, nil, true),
            (2, 0, 2, true), (9, 0, 9, true), (9, 0, 8, false),
        ] as [(Int64?, Int, Int64?, Bool)])
    func withoutAnOwnersWordItStops(stateEnd: Int64?, claims: Int, accepted: Int64?, runs: Bool) throws {
        var harness = LoopHarness()
        if let accepted { harness.log.append(state: Self.acceptance(of: accepted)) }
        for _ in 0..<claims {
            var other = LoopHarness()
            other.carryOut(.assign([LoopHarness.grant(0)]))
            harness.log.append(state: try #require(other.log.state().first))
        }
        harness.carryOut(.assign([Self.grant(stateEnd: stateEnd)]))
        let written = harness.log.state().count
        harness.settle()
        #expect(harness.lives == [0: runs ? .running : .haltedUnrestored])
        guard !runs else { return }
        #expect(harness.log.state().count == written, "its claim is all that it wrote")
        let errors = harness.loop.errors
        #expect(errors.first?.contains("has lost records of partition 0") == true)
        harness.write("register", #"{"event":"register","token":"aa"}"#)
        harness.writeUpdate(1)
        harness.wait(millis: 3_000)
        #expect(harness.push.requests.isEmpty && harness.log.commits.isEmpty)
        harness.carryOut(.release(number: 1, [0], times: ReleaseTimes(quietMillis: 100, limitMillis: 200)))
        guard case .released(1, [], [])? = harness.takeNews().last else { return #expect(Bool(false)) }
    }

    /// The next owner finds the former owner's record and runs. If `state` ends before the committed end, the partition
    /// halts.
    @Test(arguments: [0, 400] as [Int64])
    func anOwnersWordIsEnoughUnlessTheEndIsMissing(more: Int64) {
        var former = LoopHarness()
        former.begin()
        var harness = LoopHarness()
        for record in former.log.state() { harness.log.append(state: record) }
        harness.carryOut(.assign([Self.grant(stateEnd: Int64(former.log.state().count) + more)]))
        harness.settle()
        #expect(harness.lives == [0: more == 0 ? .running : .haltedUnrestored])
    }

    /// `state` was deleted while an owner's records were on their way, and Kafka stored them in the new log. Their
    /// epoch belongs to the old log, so it makes no record of the new log obsolete.
    @Test func anEpochOfAnotherLogSaysNothing() throws {
        var old = LoopHarness()
        for _ in 0..<60 { old.log.append(state: Self.acceptance(of: 1)) }
        old.begin()
        let underWay = try #require(old.log.state().last { $0.key != StateAcceptance.key })

        var halted = LoopHarness()
        halted.log.append(state: underWay)
        halted.carryOut(.assign([Self.grant(stateEnd: 1)]))
        halted.settle()
        #expect(halted.lives == [0: .haltedUnrestored])

        var next = LoopHarness()
        next.log.append(state: underWay)
        next.log.append(state: Self.acceptance(of: 90))
        next.carryOut(.assign([Self.grant(stateEnd: 90)]))
        next.settle()
        next.write("order-2", #"{"event":"register","token":"bb"}"#)
        for _ in 0..<40 {
            next.settle()
            next.wait(millis: 25)
        }
        next.settle()
        #expect(next.lives == [0: .running])

        var later = LoopHarness()
        for record in next.log.state() { later.log.append(state: record) }
        later.carryOut(.assign([Self.grant(stateEnd: Int64(next.log.state().count))]))
        later.settle()
        #expect(later.lives == [0: .running])
        // The registrations of both slots had offset 0, so this record takes that offset. The updates then have offsets
        // that are new to their slots.
        later.write("order-3", #"{"event":"register","token":"cc"}"#)
        for key in ["order-1", "order-2"] {
            later.write(key, #"{"event":"update","priority":10,"content-state":{"n":1}}"#)
        }
        later.wait(millis: 2_000)
        later.settle()
        #expect(later.push.requests.count == 2, "both are registered")
    }

    /// `state` is deleted and made anew while its owner runs. Kafka acknowledges the next record at an offset that it
    /// had acknowledged before, so the owner stops.
    @Test func aRunningOneStopsWhenItsStateGoesBack() {
        var harness = LoopHarness()
        harness.begin()
        harness.writeUpdate(1)
        harness.settle()
        harness.wait(millis: 2_000)
        harness.accept()
        harness.settle()
        let pushes = harness.push.requests.count
        #expect(pushes > 0 && harness.lives == [0: .running])
        harness.log.makeAnew(.state, partition: 0)
        harness.writeUpdate(2)
        harness.wait(millis: 2_000)
        harness.accept()
        harness.wait(millis: 2_000)
        harness.settle()
        #expect(harness.lives == [0: .haltedUnrestored])
        let commits = harness.log.commits
        let sent = harness.push.requests.count
        harness.writeUpdate(3)
        harness.wait(millis: 5_000)
        harness.settle()
        #expect(harness.log.commits == commits && harness.push.requests.count == sent)
        let errors = harness.loop.errors
        #expect(errors.contains { $0.contains("accept-empty") })
        let written = harness.log.state().count
        harness.carryOut(.release(number: 1, [0], times: ReleaseTimes(quietMillis: 100, limitMillis: 200)))
        harness.settle()
        #expect(harness.log.state().count == written, "what it knew goes nowhere")
        #expect(harness.lives == [0: .left])
    }
}
