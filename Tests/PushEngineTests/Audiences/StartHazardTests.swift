import APNSProtocol
import PushEngine
import PushModel
import Testing

/// What a start must not do twice, or to the wrong ones, whatever clocks, takeovers and rejoins do.
@Suite struct StartHazardTests {
    // MARK: A start that is over
    @Test func aStartThatIsOverIsNotDueAgainAfterATakeover() throws {
        let h = EngineHarness.starts()
        for member in 1...3 { h.joinStart(member) }
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 3)
        h.advance(901_000)
        h.carryBus()
        #expect(h.counters.startMembers.accepted == 3)
        h.crash()
        h.carryBus()
        h.advance(2_000)
        h.carryBus()
        #expect(h.counters.startMembers.due == 0, "the new worker has nobody to start")
    }

    /// The new owner's clock is a minute behind, or this one's was set back.
    @Test(arguments: [true, false]) func aStartThatIsOverDoesNotBeginAgainWithAClockThatIsBehind(isTakeover: Bool) {
        let h = EngineHarness.starts()
        for member in 1...3 { h.joinStart(member) }
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 3)
        h.advance(901_000)
        h.carryBus()
        h.stepWallClock(-60_000)
        if isTakeover { h.crash() }
        h.carryBus()
        h.audienceUpdate(2)
        #expect(h.deliverAll(withinMillis: 5_000).isEmpty, "nobody gets a second card")
    }

    @Test func aStartThatGoesRoundStillGoesOnAfterTwoTakeovers() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
        for _ in 1...2 {
            h.crash()
            h.carryBus()
            h.advance(1_500)
        }
        h.joinStart(2)
        #expect(h.deliverAll(withinMillis: 2_000).map(\.token) == [EngineHarness.memberToken(2)])
    }

    // MARK: Environments
    private static let development = #","environment":"development""#

    @Test func aRejoinFromTheOtherEnvironmentIsWrittenDown() {
        let h = EngineHarness.starts()
        h.joinStart(1, more: Self.development)
        h.joinStart(1)
        h.crash()
        h.carryBus()
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1, "on production's route")
    }

    /// It has not been sent what goes round, and takes nobody's turn.
    @Test(arguments: [1, 4, 7]) func aRejoinFromTheOtherEnvironmentGetsItsCardOnceAndSkipsNobody(member: Int) {
        let h = EngineHarness.starts()
        for other in 1...8 where other != member { h.joinStart(other) }
        h.joinStart(member, more: Self.development)
        h.audienceStart(1)
        h.advance(200)
        var pushes: [Push] = []
        for _ in 1...3 {
            guard let push = h.take() else { break }
            h.answer(push, .accepted)
            pushes.append(push)
        }
        h.joinStart(member)
        pushes += h.deliverAll(withinMillis: 3_000)
        for other in 1...8 {
            let count = pushes.count { $0.token == EngineHarness.memberToken(other) }
            #expect(count == 1, "member \(other)")
        }
        #expect(h.counters.isConserved)
    }

    // MARK: Content
    /// An update's content and alert leave with it, also for whoever is started later.
    @Test(arguments: [true, false]) func whoIsStartedAfterAnUpdateExpiredGetsTheStartsOwnContent(isMade: Bool) {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
        h.audienceUpdate(2, alert: "goal", more: #""expires":\#(h.wallSeconds + 60)"#)
        h.advance(2_000)
        h.carryBus()
        if isMade {
            h.joinStart(2)
            #expect(h.deliverAll(withinMillis: 2_000).first?.n == 2)
        }
        h.advance(61_000)
        h.carryBus()
        h.joinStart(3)
        let late = h.deliverAll(withinMillis: 2_000)
        #expect(late.map(\.n) == [1] && late.map(\.alert) == ["kick-off"])
    }

    // MARK: The owner
    @Test func aStartThatWaitedBeneathAnExpiredEndIsKnownAsAStart() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.acknowledgesAtOnce = false
        h.audienceStart(1)
        h.audienceEnd(2, more: #""expires":\#(h.wallSeconds + 5)"#)
        h.advance(6_000)
        h.acknowledgesAtOnce = true
        h.acknowledgeAll()
        h.carryBus()
        h.advance(2_000)
        h.carryBus()
        _ = h.deliverAll(withinMillis: 3_000)
        let second = h.audienceStart(3)
        h.advance(2_000)
        #expect(h.outcomes.last { $0.offset == second }?.outcome == "duplicate")
        #expect(h.deliverAll(withinMillis: 3_000).isEmpty)
    }
}
