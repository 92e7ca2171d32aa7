import APNSProtocol
@testable import PushEngine
import PushModel
import Testing

/// Tests passes that an operator has stopped: nothing is pushed, but all events are taken.
@Suite struct PauseTests {
    @Test func aPausedAudienceIsPushedNothingAndGoesOnWithTheNewest() {
        let h = AudienceTests.harness()
        for member in 1...10 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        let served = (1...4).compactMap { _ in h.deliver() }
        h.pause("match")
        #expect(h.deliverAll().isEmpty && h.counters.audiencesPaused == 1 && h.counters.membersPaused == 6)
        h.advance(5_000)
        h.audienceUpdate(2, priority: 5)
        h.advance(5_000)
        #expect(h.deliverAll().isEmpty, "versions are taken, and nothing is sent")
        #expect(h.isCommitted() && h.isCommitted(topic: 1))
        #expect(h.counters.membersPaused == 10)
        h.pause("match", isPaused: false)
        let rest = h.deliverAll()
        #expect(rest.count == 10 && rest.allSatisfy { $0.n == 2 })
        let alerted = Set(rest.filter { $0.alert != nil }.map(\.token))
        #expect(alerted.count == 6 && alerted.isDisjoint(with: served.map(\.token)))
        #expect(h.counters.audiencesPaused == 0 && h.counters.membersPaused == 0)
    }

    @Test func nobodyIsStartedMeanwhile() {
        let h = EngineHarness.starts()
        for member in 1...10 { h.joinStart(member) }
        h.audienceStart(1)
        let started = (1...4).compactMap { _ in h.deliver()?.token }
        h.pause("match")
        h.joinStart(11)
        #expect(h.deliverAll(withinMillis: 10_000).isEmpty && h.counters.membersPaused == 7)
        h.pause("match", isPaused: false)
        let rest = h.deliverAll(withinMillis: 3_000).map(\.token)
        #expect(rest.count == 7 && Set(rest).isDisjoint(with: started) && h.counters.membersPaused == 0)
        h.pause("other")
        h.joinStart(12, of: "other")
        h.audienceStart(1, of: "other")
        #expect(h.deliverAll(withinMillis: 3_000).isEmpty, "paused before anybody was in it")
        h.advance(900_000)
        h.pause("other", isPaused: false)
        #expect(h.deliverAll(withinMillis: 3_000).isEmpty, "too late")
        #expect(h.counters.startMembers.expired == 1 && h.counters.startMembers.isConserved)
    }

    @Test func whatIsInFlightFinishesAndIsNotTriedAgainBefore() throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1)
        let first = try #require(h.take())
        let second = try #require(h.take())
        h.pause("match")
        h.answer(first, .accepted)
        h.answer(second, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        h.advance(60_000)
        #expect(h.deliverAll().isEmpty)
        h.pause("match", isPaused: false)
        #expect(h.deliverAll().count == 2)
        #expect(h.counters.members.accepted == 3 && h.counters.members.isConserved)
    }

    @Test func itSurvivesATakeover() {
        let h = AudienceTests.harness()
        for member in 1...5 { h.join(member) }
        h.pause("match")
        h.audienceUpdate(1)
        h.advance(2_000)
        h.crash()
        h.carryBus()
        h.advance(30_000)
        #expect(h.deliverAll().isEmpty && h.counters.audiencesPaused == 1)
        h.pause("match", isPaused: false)
        h.crash()
        h.carryBus()
        h.advance(30_000)
        #expect(Set(h.deliverAll().map(\.token)).count == 5)
        #expect(h.counters.audiencesPaused == 0)
        let live = Dictionary(h.stateLog.map { ($0.keyText, $0.isNull) }, uniquingKeysWith: { $1 })
        #expect(live["h/com.example.pizza/match"] == true, "its record is gone")
    }

    @Test func whatWasSaidBeforeTheFirstMemberHolds() {
        let h = AudienceTests.harness()
        h.pause("match")
        h.join(1)
        h.audienceUpdate(1)
        h.advance(2_000)
        #expect(h.deliverAll().isEmpty)
        h.audienceUpdate(2, of: "other")
        h.join(2, of: "other")
        #expect(h.deliverAll().map(\.n) == [2], "others go on")
    }

    @Test func awholeAppIsPaused() {
        let h = AudienceTests.harness()
        h.join(1, of: "match")
        h.join(2, of: "other")
        h.pause(nil)
        h.audienceUpdate(1, of: "match")
        h.audienceUpdate(2, of: "other")
        h.advance(2_000)
        #expect(h.deliverAll().isEmpty && h.counters.audiencesPaused == 2)
        h.pause("match", isPaused: false)
        #expect(h.deliverAll().isEmpty, "the app's pause holds for each")
        h.pause(nil, isPaused: false)
        #expect(h.deliverAll().count == 2)
    }

    @Test func anEndWaitsAsWellAndContentExpires() {
        let h = AudienceTests.harness()
        for member in 1...2 { h.join(member) }
        h.pause("match")
        h.audienceUpdate(1, more: #""expires":\#(h.wallSeconds + 30)"#)
        h.advance(31_000)
        h.carryBus()
        #expect(h.counters.members.expired == 2)
        h.audienceEnd(2)
        h.advance(2_000)
        #expect(h.deliverAll().isEmpty)
        h.pause("match", isPaused: false)
        #expect(h.deliverAll().map(\.event) == ["end", "end"])
    }

    /// A paused audience that is over and has no members left is in no gauge.
    @Test func aPausedAudienceThatIsOverIsInNoGauge() {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.pause("match")
        h.audienceEnd(2)
        for _ in 0..<200 {
            h.advance(60_000)
            h.carryBus()
        }
        #expect(h.counters.membersHeld == 0 && h.counters.audiencesPaused == 0 && h.counters.membersPaused == 0)
    }

    @Test func anAppThatIsNotConfiguredIsPassedOver() {
        let h = AudienceTests.harness()
        let record = PauseRecord.make(bundleID: "com.example.other", audience: "match", isPaused: true)
        h.consume(keyBytes: record.key, valueBytes: record.value, topic: 1, kind: .pause)
        #expect(h.stopReason == nil && h.isCommitted(topic: 1))
    }

    @Test func aDamagedOneStopsThePartition() {
        let h = AudienceTests.harness()
        h.consume(keyBytes: Array("match".utf8), valueBytes: [1, 0, 9], topic: 1, kind: .pause)
        #expect(h.stopReason != nil && !h.isCommitted(topic: 1))
    }

    // MARK: Too many

    /// Pauses audiences that have no members here.
    private func pauseMany(_ h: EngineHarness, _ range: Range<Int>) {
        for number in range {
            h.advance(1)
            h.pause("over-\(number)")
        }
    }

    @Test func oneTooManyTakesThePlaceOfTheOldestThatHoldsUpNobody() {
        let h = AudienceTests.harness()
        h.join(1, of: "match")
        h.pause("match")
        self.pauseMany(h, 0..<PauseTable.audiencesMax - 1)
        #expect(h.counters.pausesDropped == 0)
        h.join(2, of: "other")
        h.pause("other")
        #expect(h.counters.pausesDropped == 1)
        h.pause("other")
        h.pause("match")
        #expect(h.counters.pausesDropped == 1, "what is paused has its place")
        h.pause(nil)
        h.pause(nil, isPaused: false)
        #expect(h.counters.pausesDropped == 1, "an app always finds room")
        h.advance(2_000)
        #expect(h.isCommitted(topic: 1))
        for _ in 0..<2 {
            h.audienceUpdate(1, of: "match")
            h.audienceUpdate(2, of: "other")
            h.advance(5_000)
            #expect(h.deliverAll().isEmpty, "who is paused first and has members stays paused")
            h.join(3, of: "over-0")
            h.join(4, of: "over-1")
            h.audienceUpdate(3, of: "over-0")
            h.audienceUpdate(4, of: "over-1")
            h.advance(5_000)
            #expect(h.deliverAll().allSatisfy { $0.token == EngineHarness.memberToken(3) })
            h.crash()
            h.carryBus()
            h.advance(30_000)
        }
        let live = Dictionary(h.stateLog.map { ($0.keyText, $0.isNull) }, uniquingKeysWith: { $1 })
        #expect(live.count { $0.key.hasPrefix("h/") && !$0.value } == PauseTable.audiencesMax)
    }

    @Test func oneIsRefusedWhenAllOthersHaveMembersHere() {
        let h = AudienceTests.harness()
        for number in 0..<PauseTable.audiencesMax {
            h.join(number + 1, of: "m\(number)")
            h.pause("m\(number)")
        }
        h.join(0, of: "late")
        h.pause("late")
        #expect(h.counters.pausesDropped == 1 && h.counters.audiencesPaused == PauseTable.audiencesMax)
        h.advance(2_000)
        #expect(h.stopReason == nil && h.isCommitted(topic: 1))
        h.audienceUpdate(1, of: "late")
        h.audienceUpdate(2, of: "m0")
        #expect(h.deliverAll().map(\.n) == [1])
        h.pause("m0", isPaused: false)
        h.pause("late")
        h.audienceUpdate(3, of: "late")
        h.advance(5_000)
        #expect(h.deliverAll().map(\.n) == [2], "what is resumed makes room")
    }
}

extension EngineHarness {
    /// Consumes a pause as `mailboat audience pause|resume` writes it.
    func pause(_ audience: String?, isPaused: Bool = true) {
        let record = PauseRecord.make(bundleID: "com.example.pizza", audience: audience, isPaused: isPaused)
        self.consume(keyBytes: record.key, valueBytes: record.value, topic: 1, kind: .pause)
        self.carryBus()
    }
}
