import PushEngine
import Testing

@testable import ShardLoop

@Suite struct ProducerRenewalTests {
    static let failure = ProduceFailure("out of order", .other, isFatal: true)

    @Test func theFirstIsReplacedAtOnce() {
        var renewal = ProducerRenewal()
        #expect(renewal.nextMillis(isAllBack: true) == nil)
        renewal.clientEnded(Self.failure, nowMillis: 5_000)
        #expect(renewal.failure == Self.failure)
        #expect(renewal.nextMillis(isAllBack: true) == 5_000)
        renewal.renewed(nowMillis: 5_010)
        #expect(renewal.failure == nil && renewal.nextMillis(isAllBack: true) == nil)
    }

    @Test func whatDoesNotComeBackIsWaitedForOnlySoLong() {
        var renewal = ProducerRenewal()
        renewal.clientEnded(Self.failure, nowMillis: 5_000)
        #expect(renewal.nextMillis(isAllBack: false) == 65_000)
    }

    @Test func aSecondWordOfTheSameEndChangesNothing() {
        var renewal = ProducerRenewal()
        renewal.clientEnded(Self.failure, nowMillis: 5_000)
        renewal.isGivingBack = true
        renewal.clientEnded(ProduceFailure("another", .other, isFatal: true), nowMillis: 6_000)
        #expect(renewal.failure == Self.failure && renewal.isGivingBack && renewal.endedMillis == 5_000)
    }

    @Test func oneThatEndsAgainAndAgainIsFollowedAfterLongerPauses() {
        var renewal = ProducerRenewal()
        var pauses: [Int64] = []
        var now: Int64 = 1_000
        for _ in 0..<8 {
            renewal.clientEnded(Self.failure, nowMillis: now)
            let due = renewal.nextMillis(isAllBack: true)!
            pauses.append(due - now)
            renewal.renewed(nowMillis: due)
            now = due + 100
        }
        #expect(pauses == [0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
        // The last client worked for a while. So the waits between new clients begin again with the shortest.
        renewal.clientEnded(Self.failure, nowMillis: now + 60_000)
        #expect(renewal.nextMillis(isAllBack: true) == now + 60_000)
    }

    @Test func whatCannotBeMadeIsTriedAgain() {
        var renewal = ProducerRenewal()
        renewal.clientEnded(Self.failure, nowMillis: 0)
        renewal.failed(nowMillis: 0)
        #expect(renewal.nextMillis(isAllBack: true) == 1_000)
        renewal.failed(nowMillis: 1_000)
        #expect(renewal.nextMillis(isAllBack: true) == 3_000)
    }
}

@Suite struct OutdatedRecordsTests {
    static func record(_ key: String, _ acknowledgement: UInt64, partition: Int32 = 0) -> KeptRecord {
        KeptRecord(
            topic: .state, partition: partition, key: Array(key.utf8), value: [], acknowledgement: acknowledgement)
    }

    @Test func aLaterRecordOfTheKeyTakesThePlaceOfAllBefore() {
        var outdated = OutdatedRecords()
        for record in [
            Self.record("a", 1), Self.record("b", 2), Self.record("a", 3), Self.record("a", 4, partition: 1),
        ] {
            outdated.add(record)
        }
        #expect(outdated.keys(of: 0) == [Array("a".utf8), Array("b".utf8)])
        let key = Array("a".utf8)
        #expect(outdated.takeSuperseded(partition: 0, key: key.span) { $0 < 3 } == [1])
        #expect(outdated.takeSuperseded(partition: 0, key: key.span) { $0 < 9 } == [3])
        #expect(outdated.count == 2)
        #expect(outdated.forget(partition: 0) == [2])
        #expect(outdated.forget(partition: 1) == [4])
        #expect(outdated.count == 0)
    }
}
