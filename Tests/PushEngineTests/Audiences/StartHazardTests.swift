import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests that no start is sent twice, or to the wrong members, whatever clocks, takeovers and rejoins do.
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

    /// A start is over. It does not begin again when the new owner's clock is a minute behind, or when the same owner's
    /// clock was set back.
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

    /// A token may get one start an hour. A start left long after its announcement, and the worker crashed. The hour
    /// begins when the start may have left.
    @Test func whatIsAnnouncedCountsFromWhenItMayHaveLeft() {
        let h = EngineHarness.starts { $0.apps[0].startsPerHour = 1 }
        h.joinStart(1)
        h.joinStart(1, of: "other")
        h.audienceStart(1)
        h.advance(20_000)
        #expect(h.take() != nil)
        h.crash()
        h.carryBus()
        h.advance(3_590_000)
        h.carryBus()
        h.audienceStart(2, of: "other")
        #expect(h.deliverAll(withinMillis: 2_000).isEmpty)
        h.advance(20_000)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
    }

    /// With `resend` no start is announced. A start that left just before the crash still counts as the one start of
    /// its token in that hour.
    @Test func whatWasNotAnnouncedCountsAfterATakeover() throws {
        let h = EngineHarness.starts {
            $0.apps[0].startsPerHour = 1
            $0.apps[0].startOnUnknown = .resend
        }
        h.joinStart(1)
        h.joinStart(1, of: "other")
        h.acknowledgesAtOnce = true
        h.audienceStart(1)
        h.acknowledgesAtOnce = false
        let push = try #require(h.take())
        h.answer(push, .accepted)
        h.crash()
        h.pause("match")
        h.audienceStart(2, of: "other")
        #expect(h.deliverAll(withinMillis: 2_000).isEmpty)
    }

    /// A start that may have left counts as the one start of its token in that hour, although it is sent again. This
    /// holds after a takeover, after a lost answer, and if the member has left the audience.
    @Test(arguments: [true, false], [true, false])
    func whatMayHaveLeftCountsAlthoughItIsSentAgain(isTakeover: Bool, leaves: Bool) throws {
        let h = EngineHarness.starts {
            $0.apps[0].startsPerHour = 1
            $0.apps[0].startOnUnknown = .resend
        }
        h.joinStart(1)
        h.joinStart(1, of: "other")
        h.audienceStart(1)
        h.acknowledgesAtOnce = false
        let push = try #require(h.take())
        if isTakeover {
            h.answer(push, .accepted)
            h.crash()
        } else {
            h.answer(push, .unknown(detail: "connection lost"))
            h.acknowledgesAtOnce = true
            h.acknowledgeAll()
        }
        h.pause("match")
        if leaves { h.leave(1, of: "match") }
        h.audienceStart(2, of: "other")
        #expect(h.deliverAll(withinMillis: 2_000).isEmpty)
        // A member that has left comes back. The member is sent the first start again.
        if leaves { h.joinStart(1) }
        h.pause("match", isPaused: false)
        let pushes = h.deliverAll(withinMillis: 5_000)
        #expect(pushes.count == 1 && pushes.first?.body.contains(#""n":1"#) == true)
        #expect(h.counters.isConserved)
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

    /// A member rejoins from the other environment before it has been sent the start. It gets one card, and no other
    /// member is skipped.
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

    // MARK: Bounds
    private static let throttled = PushAnswer.Result.response(
        PushResponse(status: 429, reason: "TooManyRequests", retryAfterSeconds: 1_800))

    /// Phones that cannot be started in time do not hold up the others.
    @Test func whoIsRefusedUntilTheStartHasExpiredKeepsNobodyWaiting() {
        let h = EngineHarness.starts()
        for member in 1...1_100 { h.joinStart(member) }
        h.audienceStart(1)
        var (refused, accepted) = (0, 0)
        for _ in 1...40 {
            while let push = h.take() {
                let isRefused = refused < 1_050
                h.answer(push, isRefused ? Self.throttled : .accepted)
                if isRefused { refused += 1 } else { accepted += 1 }
            }
            h.carryBus()
            h.advance(200)
        }
        #expect(refused == 1_050 && accepted == 50)
        #expect(h.counters.startMembers.expired == 1_050 && h.counters.isConserved)
    }

    /// Late members that are refused wait in a bounded set, like other members.
    @Test func lateMembersThatAreRefusedAreNotSentWithoutEnd() {
        let h = EngineHarness.starts()
        h.joinStart(0)
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
        for member in 1...1_300 { h.joinStart(member) }
        let refused = PushAnswer.Result.response(
            PushResponse(status: 429, reason: "TooManyRequests", retryAfterSeconds: 300))
        var count = 0
        for _ in 1...60 {
            while let push = h.take() {
                h.answer(push, refused)
                count += 1
            }
            h.advance(200)
        }
        #expect(count == 1_024 && h.counters.startMembers.waiting == 1_300)
        _ = h.deliverAll(withinMillis: 400_000, stepMillis: 1_000)
        #expect(h.counters.startMembers.accepted == 1_301 && h.counters.isConserved)
    }

    @Test func thoseWhoLeftAreForgottenInSteps() {
        let h = EngineHarness.starts()
        for member in 1...2_500 { h.joinStart(member) }
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 4_000).count == 2_500)
        for member in 1...2_500 { h.leave(member) }
        h.advance(3_594_000)
        let before = h.counters.membersHeld
        var largest = 0
        for _ in 1...800 {
            let held = h.counters.membersHeld
            h.advance(20)
            largest = max(largest, held - h.counters.membersHeld)
        }
        #expect(before == 2_500 && h.counters.membersHeld == 0)
        #expect(largest > 0 && largest <= 1_024)
    }

    // MARK: Content
    /// The content and alert of an update expire with the update. Members that are started later get the start's own
    /// content and alert.
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
