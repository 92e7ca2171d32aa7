import PushEngine
import PushModel
import Testing

@testable import ShardLoop

/// Tests of a shard whose Kafka client ends by a fatal error and is replaced.
@Suite struct RenewalTests {
    static let markerKey = StateAcceptance.key

    static func epoch(_ record: KeptRecord) -> Int64? {
        let header = record.headers.first { $0.name == Array(RecordHeader.epoch.text.utf8) }?.value
        return StateRecordReader(inputTopics: ["events", "routed"]).read(
            key: record.key ?? [], value: record.value,
            tombstoneEpoch: header.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }, nowMillis: 0
        ).epoch
    }

    @Test func aMarkerComesFirstAndThenWhatWasNotAcknowledged() throws {
        var harness = LoopHarness()
        harness.begin()
        let former = try #require(Self.epoch(harness.log.state().last!))
        harness.writeUpdate(1)
        harness.accept()
        harness.wait(millis: 200)
        #expect(!harness.log.unanswered.isEmpty)
        let sentBefore = harness.log.sent.count
        harness.log.end()
        harness.turn()
        #expect(harness.log.renewedCount == 1)
        // The marker leaves first. Until Kafka acknowledges it, no other `state` record of the partition leaves.
        let first = harness.log.sent[sentBefore...].filter { $0.topic == .state }
        #expect(first.map(\.key) == [Self.markerKey])
        let markerOffset = Int64(harness.log.state().count - 1)
        #expect(markerOffset > former)
        harness.settle()
        harness.wait(millis: 1_000)
        harness.settle()
        let later = harness.log.sent[sentBefore...].filter { $0.topic == .state }.dropFirst()
        #expect(later.contains { $0.key != Self.markerKey })
        for record in later { #expect(Self.epoch(record) == markerOffset) }
        #expect(harness.log.sent[sentBefore...].contains { $0.topic == .outcomes })
        #expect(harness.loop.waitingRecordCount == 0 && harness.loop.errors.isEmpty)
        #expect(harness.loop.outboxCounters.producersRenewed == 1)
        #expect(harness.loop.engine.counters.unacknowledged == 0)
        harness.wait(millis: 6_000)
        #expect(harness.log.commits.last?.nextOffset == 2)
        #expect(!harness.takeNews().contains { if case .failed = $0 { true } else { false } })
    }

    @Test func whatIsMadeWhileTheMarkerIsUnderWayCarriesTheNextEpoch() throws {
        var harness = LoopHarness()
        harness.begin()
        harness.log.end()
        harness.writeUpdate(1)
        harness.accept()
        harness.wait(millis: 300)
        let sentBefore = harness.log.sent.count
        #expect(harness.log.sent.last { $0.topic == .state }?.key == Self.markerKey)
        let markerOffset = Int64(harness.log.state().count - 1)
        harness.settle()
        harness.wait(millis: 1_000)
        harness.settle()
        let later = harness.log.sent[sentBefore...].filter { $0.topic == .state }
        #expect(later.contains { $0.key != Self.markerKey })
        for record in later { #expect(Self.epoch(record) == markerOffset) }
        #expect(harness.loop.waitingRecordCount == 0 && harness.loop.engine.counters.unacknowledged == 0)
    }

    @Test func aClientThatEndsOverTheMarkerIsFollowedByAnother() throws {
        var harness = LoopHarness()
        harness.begin()
        harness.writeUpdate(1)
        harness.accept()
        harness.wait(millis: 200)
        harness.log.end()
        harness.turn()
        harness.log.end()
        harness.turn()
        #expect(harness.log.renewedCount == 1)
        #expect(harness.loop.errors.count == 1)
        harness.wait(millis: 1_001)
        #expect(harness.log.renewedCount == 2)
        harness.settle()
        harness.wait(millis: 1_000)
        harness.settle()
        harness.wait(millis: 6_000)
        #expect(harness.loop.waitingRecordCount == 0 && harness.loop.errors.isEmpty)
        #expect(harness.log.commits.last?.nextOffset == 2)
    }

    @Test func oneThatCannotBeMadeIsTriedAgain() {
        var harness = LoopHarness()
        harness.begin()
        harness.log.renewalFailure = LogFailure("no memory", isFinal: false)
        harness.log.end()
        harness.writeUpdate(1)
        harness.accept()
        harness.wait(millis: 300)
        #expect(harness.log.renewedCount == 0)
        harness.log.renewalFailure = nil
        harness.wait(millis: 1_001)
        #expect(harness.log.renewedCount == 1)
        #expect(harness.takeNews().contains { if case .producerNotRenewed = $0 { true } else { false } })
    }

    @Test func aPartitionThatIsLostMeanwhileLeavesNothingBehind() {
        var harness = LoopHarness()
        harness.begin()
        harness.writeUpdate(1)
        harness.accept()
        harness.log.end()
        harness.turn()
        harness.carryOut(.forget([0]))
        harness.settle()
        harness.wait(millis: 1_000)
        #expect(harness.loop.waitingRecordCount == 0)
    }

    @Test func aPartitionThatWaitsForItsFirstMarkerGetsIt() {
        var harness = LoopHarness()
        harness.carryOut(.assign([LoopHarness.grant(0)]))
        harness.log.end()
        harness.turn()
        harness.wait(millis: 1_000)
        harness.settle()
        #expect(harness.lives == [0: .running])
    }
}
