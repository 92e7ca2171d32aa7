import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests start members that join late, leave and come back. Also tests how many starts a token gets in an hour, and a
/// start that is spread over time.
@Suite struct StartLateTests {
    @Test func whoJoinsLateGetsItWithItsAlertUntilItExpires() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
        h.audienceUpdate(2)
        h.advance(600_000)
        h.joinStart(2)
        let late = h.deliverAll(withinMillis: 2_000)
        #expect(late.map(\.token) == [EngineHarness.memberToken(2)])
        #expect(late.first?.event == "start" && late.first?.n == 2 && late.first?.alert == "kick-off")
        h.advance(300_000)
        h.joinStart(3)
        #expect(h.deliverAll(withinMillis: 2_000).isEmpty)
    }

    @Test func whoWasSentItAndComesBackGetsNoSecond() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
        h.leave(1)
        h.joinStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).isEmpty)
        h.leave(1)
        h.crash()
        h.carryBus()
        h.joinStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).isEmpty, "its record says what it was sent")
        h.crash()
        h.carryBus()
        #expect(h.deliverAll(withinMillis: 2_000).isEmpty)
    }

    @Test func whoLeftIsForgottenWhenItCannotBeSentASecond() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
        h.leave(1)
        #expect(h.counters.membersHeld == 1, "it is remembered")
        h.advance(3_700_000)
        h.carryBus()
        #expect(h.counters.membersHeld == 0)
        #expect(h.stateLog.last { $0.key.first == UInt8(ascii: "s") }?.isNull == true)
    }

    @Test func whoLeftBeforeItsTurnAndComesBackGetsIt() {
        let h = EngineHarness.starts()
        for member in 1...3 { h.joinStart(member) }
        h.acknowledgesAtOnce = false
        h.audienceStart(1)
        h.acknowledgesAtOnce = true
        h.leave(2)
        h.joinStart(2)
        let pushes = h.deliverAll(withinMillis: 5_000)
        #expect(pushes.count == 3 && Set(pushes.map(\.token)).count == 3)
    }

    /// Announcements name late members by the offsets of their joins. So a new owner knows which late members may have
    /// been sent the start.
    @Test func aNewOwnerKnowsWhichOfTheLateWereSentIt() {
        for served in 0...6 {
            let h = EngineHarness.starts()
            h.joinStart(100)
            h.audienceStart(1)
            #expect(h.deliverAll(withinMillis: 2_000).count == 1)
            for member in 1...6 { h.joinStart(member) }
            h.advance(200)
            var first: [String] = []
            while first.count < served, let push = h.take() {
                h.answer(push, .accepted)
                first.append(push.token)
            }
            h.crash()
            h.carryBus()
            let rest = h.deliverAll(withinMillis: 5_000).map(\.token)
            #expect(Set(rest).isDisjoint(with: first) && Set(rest).count == rest.count, "served \(served)")
            #expect(rest.count + first.count + Int(h.counters.startMembers.unknown) >= 6, "served \(served)")
        }
    }

    @Test func aLateOneThatIsWrittenAgainIsSentItOnce() {
        let h = EngineHarness.starts()
        h.joinStart(100)
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
        h.joinStart(1)
        h.joinStart(1, isCapable: true)
        let pushes = h.deliverAll(withinMillis: 3_000)
        #expect(pushes.count == 1 && pushes.first?.aps["input-push-token"] as? Int == 1)
        h.joinStart(1, isCapable: false)
        h.crash()
        h.carryBus()
        #expect(h.deliverAll(withinMillis: 3_000).isEmpty)
    }

    // MARK: Starts per hour
    @Test func aTokenIsSentSoManyStartsAnHourAcrossAudiences() {
        let h = EngineHarness.starts { $0.apps[0].startsPerHour = 2 }
        for audience in ["a", "b", "c", "d"] { h.joinStart(1, of: audience) }
        h.joinStart(2, of: "d")
        var count = 0
        for audience in ["a", "b", "c"] {
            h.audienceStart(1, of: audience)
            count += h.deliverAll(withinMillis: 2_000).count
        }
        #expect(count == 2)
        h.crash()
        h.carryBus()
        h.audienceStart(1, of: "d")
        #expect(
            h.deliverAll(withinMillis: 2_000).map(\.token) == [EngineHarness.memberToken(2)], "restarts do not help")
        #expect(h.counters.startsHeldBack == 1)
        h.leave(1, of: "a")
        h.joinStart(1, of: "a")
        h.advance(3_600_000)
        h.audienceEnd(2, of: "d")
        h.advance(2_000)
        h.audienceStart(3, of: "d")
        #expect(h.deliverAll(withinMillis: 2_000).filter { $0.event == "start" }.count == 2)
    }

    @Test func whoIsHeldBackGetsItWhenItMayInTime() {
        let h = EngineHarness.starts { $0.apps[0].startsPerHour = 1 }
        h.joinStart(1, of: "a")
        h.joinStart(1, of: "b")
        h.audienceStart(1, of: "a")
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
        h.advance(3_000_000)
        h.audienceStart(1, of: "b")
        #expect(h.deliverAll(withinMillis: 2_000).isEmpty)
        h.advance(590_000)
        #expect(h.deliverAll(withinMillis: 20_000).count == 1)
    }

    // MARK: Starts spread over time
    @Test func aStartIsSpreadOverTime() {
        let h = EngineHarness.starts { $0.apps[0].audienceSpreadMillis = 60_000 }
        for member in 1...300 { h.joinStart(member) }
        h.audienceStart(1)
        var bySecond: [Int] = []
        for _ in 0..<62 { bySecond.append(h.deliverAll(withinMillis: 1_000, stepMillis: 100).count) }
        #expect(bySecond.reduce(0, +) == 300)
        #expect(bySecond.max()! <= 20 && bySecond.prefix(30).reduce(0, +) > 100)
    }

    @Test func aSpreadStartGoesOnWithItsNextOwner() {
        let h = EngineHarness.starts { $0.apps[0].audienceSpreadMillis = 60_000 }
        for member in 1...100 { h.joinStart(member) }
        h.audienceStart(1)
        var tokens = h.deliverAll(withinMillis: 20_000, stepMillis: 100).map(\.token)
        #expect(tokens.count > 15 && tokens.count < 55)
        h.crash()
        h.carryBus()
        tokens += h.deliverAll(withinMillis: 45_000, stepMillis: 100).map(\.token)
        #expect(Set(tokens).count == tokens.count)
        #expect(tokens.count + Int(h.counters.startMembers.unknown) == 100)
    }

    // MARK: Lives
    @Test func theyOutliveTheirAudienceAndAreToldOfTheNext() {
        let h = EngineHarness.starts()
        for member in 1...5 { h.joinStart(member) }
        h.join(6)
        h.audienceStart(1)
        _ = h.deliverAll(withinMillis: 2_000)
        h.audienceEnd(2)
        _ = h.deliverAll(withinMillis: 2_000)
        for _ in 0..<200 {
            h.advance(60_000)
            h.carryBus()
        }
        #expect(h.counters.membersHeld == 5, "the update member is gone")
        #expect(h.counters.slots == 1, "the owner remembers who asked")
        h.crash(afterMillis: 86_400_000)
        h.carryBus()
        h.advance(30_000)
        h.carryBus()
        h.audienceStart(3)
        let pushes = h.deliverAll(withinMillis: 3_000)
        #expect(pushes.count == 5 && pushes.allSatisfy { $0.event == "start" && $0.n == 3 })
    }

    @Test func withTheLastOfThemTheAudienceIsForgotten() {
        let h = EngineHarness.starts { $0.apps[0].startMemberLifeMillis = 86_400_000 }
        h.joinStart(1)
        h.joinStart(2)
        h.leave(2)
        for _ in 0..<60 {
            h.advance(3_600_000)
            h.carryBus()
        }
        #expect(h.counters.membersHeld == 0 && h.counters.slots == 0)
        let live = Dictionary(h.stateLog.map { ($0.keyText, $0.isNull) }, uniquingKeysWith: { $1 })
        #expect(live.filter { !$0.value }.map(\.key) == ["m"], "nothing but the marker is left in state")
    }
}
