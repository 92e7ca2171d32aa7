import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests versions that are pushed by token because APNs takes no broadcasts. The newest version is still broadcast when
/// APNs takes broadcasts again, for phones that listen and have no token.
@Suite struct BothWaysTests {
    /// An audience with a member that listens. For longer than `channel.fallback`, APNs has refused the broadcast of a
    /// version with an alert.
    private static func fallenBack(
        _ configure: (inout AppConfiguration) -> Void = { _ in }
    ) -> (h: EngineHarness, pushes: [Push]) {
        let (h, _) = AudienceChannelTests.harness(configure)
        h.join(2, channel: AudienceChannelTests.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceUpdate(2, alert: "goal")
        h.deliverAll()
        h.refuseBroadcasts(seconds: 62)
        return (h, h.deliverAll())
    }

    @Test func whatFellBackIsBroadcastWithItsAlertAndItsStamp() throws {
        let (h, pushes) = Self.fallenBack()
        let push = try #require(pushes.first)
        #expect(push.alert == "goal" && h.counters.channelFallbacks == 1)
        let broadcast = try #require(h.takeBroadcasts(seconds: 65).first)
        #expect(broadcast.body == push.body && broadcast.priority == 10)
        h.advance(600_000)
        #expect(h.take(route: 2) == nil && h.deliverAll().isEmpty, "once is enough")
    }

    /// The newest of several versions is broadcast, with the newest alert that the channel has not had.
    @Test func theNewestIsBroadcastWithTheAlertOfTheOneBefore() throws {
        let (h, _) = Self.fallenBack()
        h.advance(1_000)
        h.audienceUpdate(3)
        let pushes = h.deliverAll()
        #expect(pushes.count == 2 && pushes.allSatisfy { $0.alert == nil }, "they have had it")
        h.carryBus()
        let broadcast = try #require(h.takeBroadcasts(seconds: 65).first)
        #expect(broadcast.n == 3 && broadcast.alert == "goal" && broadcast.stamp == pushes.first?.stamp)
    }

    /// Members have got an alert by token, with an older version. A broadcast of the newest version repeats that alert,
    /// so the broadcast waits until every token has got the newest version. The members' phones then ignore the
    /// broadcast.
    @Test func anOlderAlertWaitsForTheTokens() throws {
        let (h, _) = Self.fallenBack()
        h.advance(1_000)
        h.audienceUpdate(3)
        let held = try #require(h.take())
        let other = try #require(h.take())
        h.answer(other, .accepted)
        #expect(h.takeBroadcasts(seconds: 20).isEmpty)
        h.answer(held, .accepted)
        #expect(h.takeBroadcasts(seconds: 120).first?.alert == "goal")
    }

    @Test func itDoesNotWaitForThemForEver() throws {
        let (h, _) = Self.fallenBack()
        h.audienceUpdate(3)
        _ = try #require(h.take())
        #expect(h.takeBroadcasts(seconds: 125).first?.alert == "goal")
    }

    /// A member is still owed an alert by token when the channel broadcasts that alert. The next version must not show
    /// the alert to the member a second time.
    @Test(arguments: [false, true]) func theNextVersionBringsTheAlertToNobodyAgain(isTakenOver: Bool) throws {
        let (h, _) = AudienceChannelTests.harness()
        h.join(2, channel: AudienceChannelTests.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceUpdate(2, alert: "goal")
        h.deliverAll()
        h.refuseBroadcasts(seconds: 61)
        let push = try #require(h.take())
        #expect(push.token == EngineHarness.memberToken(2) && push.alert == "goal")
        if !isTakenOver {
            // Without a takeover, APNs refuses the push for a while. With a takeover, the push has no answer when the
            // worker dies.
            h.answer(
                push,
                .response(PushResponse(status: 429, reason: "TooManyRequests", retryAfterSeconds: 600)))
        }
        #expect(h.takeBroadcasts(seconds: 65).first?.alert == "goal")
        h.advance(16_000)
        h.audienceUpdate(3)
        if isTakenOver {
            h.advance(2_000)
            h.crash()
            h.carryBus()
            h.advance(20_000)
        }
        #expect(h.deliver(route: 2)?.n == 3)
        let pushes = h.deliverAll(withinMillis: 700_000, stepMillis: 5_000)
        #expect(pushes.map(\.token) == [EngineHarness.memberToken(1)])
        #expect(h.counters.members.isConserved)
    }

    /// The newest version expires before APNs takes a broadcast, so the version before it is broadcast. The channel has
    /// then caught up, because nothing newer is left.
    @Test func aChannelHasCaughtUpWhenItHasWhatHasNotExpired() {
        let (h, _) = Self.fallenBack()
        h.audienceUpdate(3, more: #""expires":\#(h.wallSeconds + 60)"#)
        h.deliverAll()
        h.refuseBroadcasts(seconds: 61)
        let broadcasts = h.takeBroadcasts(seconds: 65)
        #expect(broadcasts.map(\.n) == [2] && broadcasts.first?.alert == "goal")
        h.audienceUpdate(4)
        #expect(h.takeBroadcasts(seconds: 20).map(\.n) == [4])
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(1)])
    }

    @Test func aMessageThatIsRefusedForGoodIsNotTriedAgain() throws {
        let (h, _) = AudienceChannelTests.harness()
        h.join(2, channel: AudienceChannelTests.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceUpdate(2)
        h.deliverAll()
        let broadcast = try #require(h.take(route: 2))
        h.answer(broadcast, .response(PushResponse(status: 413, reason: "PayloadTooLarge")))
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(2)])
        h.advance(120_000)
        #expect(h.take(route: 2) == nil)
        h.audienceUpdate(3)
        #expect(h.deliverAll().count == 1 && h.deliver(route: 2)?.n == 3)
    }

    /// A version that goes both ways may reach a phone twice at priority 10, so it takes two units of the budget.
    /// Without a second unit the broadcast has priority 5.
    @Test(arguments: [1, 2]) func whatGoesBothWaysHasAUnitForEach(units: Int) throws {
        let (h, pushes) = Self.fallenBack {
            $0.budgetReserve = 0
            $0.budgetAudiencePerHour = 1 + units
        }
        #expect(pushes.count == 1)
        #expect(h.takeBroadcasts(seconds: 65).first?.priority == (units == 2 ? 10 : 5))
    }

    @Test func aNewOwnerGoesOnTrying() throws {
        let (h, pushes) = Self.fallenBack()
        h.crash()
        h.carryBus()
        h.refuseBroadcasts(seconds: 20)
        let broadcast = try #require(h.takeBroadcasts(seconds: 65).first)
        #expect(broadcast.body == pushes.first?.body && broadcast.priority == 5)
        h.deliverAll()
        h.advance(16_000)
        h.audienceUpdate(3)
        #expect(h.deliverAll().count == 1 && h.deliver(route: 2)?.n == 3)
    }

    /// The `audience` record of a version that went both ways says that APNs took its broadcast.
    @Test func theRecordOfAVersionThatWentBothWaysNamesItsChannel() throws {
        let (h, _) = Self.fallenBack()
        h.audienceUpdate(3, alert: "another")
        h.deliverAll()
        h.refuseBroadcasts(seconds: 10)
        let broadcast = try #require(h.takeBroadcasts(seconds: 65).first)
        for _ in 0..<3 {
            h.advance(61_000)
            h.carryBus()
        }
        #expect(broadcast.n == 3)
        let record = try #require(
            h.outcomes.filter { $0.outcome == "audience" }.max {
                ($0.number("version") ?? 0) < ($1.number("version") ?? 0)
            })
        let broadcasts = try #require(record.fields["broadcasts"] as? [[String: Any]])
        #expect(broadcasts.count == 1 && broadcasts.first?["accepted"] as? Bool == true)
    }

    // MARK: The end

    /// An end is broadcast until APNs takes it, whatever the channel stores. If the channel stores nothing, the keeper
    /// then broadcasts the end again.
    @Test(arguments: [AudienceChannelStorage.none, .mostRecent]) func anEndIsBroadcastUntilItIsTaken(
        storage: AudienceChannelStorage
    ) throws {
        let (h, _) = AudienceChannelTests.harness { $0.audienceChannelStorage = storage }
        h.join(2, channel: AudienceChannelTests.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceEnd(2)
        h.refuseBroadcasts(seconds: 900)
        #expect(h.deliverAll().map(\.event) == ["end", "end"], "by their tokens")
        let broadcasts = h.takeBroadcasts(seconds: 150)
        let end = try #require(broadcasts.first)
        #expect(end.event == "end" && end.n == 2)
        #expect((end.expirationSeconds > 0) == (storage == .mostRecent))
        #expect(broadcasts.map(\.event) == (storage == .none ? ["end", "end"] : ["end"]))
    }

    /// An audience is forgotten before APNs has taken its end. The keeper broadcasts the end until APNs takes it. If
    /// the channel stores nothing, the keeper repeats the broadcast afterwards.
    @Test(arguments: [AudienceChannelStorage.none, .mostRecent]) func aForgottenAudiencesEndIsBroadcastByTheKeeper(
        storage: AudienceChannelStorage
    ) throws {
        let (h, _) = AudienceChannelTests.harness {
            $0.audienceChannelStorage = storage
            $0.retentionAfterEndMillis = 600_000
        }
        h.advance(3_000)
        h.audienceEnd(2)
        h.deliverAll()
        h.refuseBroadcasts(seconds: 1_500, stepMillis: 5_000)
        #expect(h.counters.slots == 0)
        h.refuseBroadcasts(seconds: 300, stepMillis: 5_000)
        let end = try #require(h.takeBroadcasts(seconds: 120).first)
        #expect(end.event == "end" && end.n == 2 && end.priority == 5)
        #expect((end.expirationSeconds > 0) == (storage == .mostRecent))
        let later = h.takeBroadcasts(seconds: 2_400)
        #expect(later.isEmpty == (storage == .mostRecent), "APNs keeps the one that it has taken")
    }

    // MARK: Reasons of late events

    @Test func whatIsLateForAnAudienceOrAChannelDoesNotSpeakOfAnActivity() {
        let h = EngineHarness {
            $0.apps[0].channelStorage = .none
            $0.apps[0].productionBroadcastRoute = 2
        }
        h.join(1)
        h.audienceEnd(1)
        h.deliverAll()
        h.audienceUpdate(2)
        h.consume(
            key: AudienceChannelTests.channel,
            value: #"{"event":"end","to":{"channel":"\#(AudienceChannelTests.channel)"},"content-state":{}}"#)
        h.deliver(route: 2)
        h.consume(
            key: AudienceChannelTests.channel,
            value: #"{"event":"update","to":{"channel":"\#(AudienceChannelTests.channel)"},"content-state":{}}"#)
        let reasons = h.outcomes.filter { $0.outcome == "late" }.compactMap { $0.fields["reason"] as? String }
        #expect(reasons == ["the audience has ended", "an end was broadcast on the channel"])
    }
}

extension EngineHarness {
    /// Accepts every broadcast for the given number of seconds, and returns the broadcasts.
    func takeBroadcasts(seconds: Int64) -> [Push] {
        var broadcasts: [Push] = []
        for _ in 0..<(seconds / 5) {
            self.advance(5_000)
            self.carryBus()
            while let broadcast = self.take(route: 2) {
                self.answer(broadcast, .accepted)
                broadcasts.append(broadcast)
            }
        }
        return broadcasts
    }
    /// Refuses every broadcast for the given number of seconds.
    func refuseBroadcasts(seconds: Int64, stepMillis: Int64 = 1_000) {
        for _ in 0..<(seconds * 1_000 / stepMillis) {
            while let broadcast = self.take(route: 2) {
                self.answer(broadcast, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
            }
            self.advance(stepMillis)
            self.carryBus()
        }
        while let broadcast = self.take(route: 2) {
            self.answer(broadcast, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        }
    }
}
