import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests what becomes of an alert when members begin to listen, or stop, before the alert has reached them.
struct ListenerAlertTests {
    /// Members that begin to listen before an alert has reached them still get it by token.
    @Test func whoSaysThatItListensBeforeTheAlertHasComeGetsIt() {
        let h = Self.harnessOwingAlerts()
        let pushes = h.deliverAll()
        #expect(Set(pushes.map(\.token)).count == 4 && pushes.allSatisfy { $0.alert == "goal" })
    }
    /// A harness whose members begin to listen after an alert was broadcast and before it has reached them by token.
    private static func harnessOwingAlerts() -> EngineHarness {
        let (h, _) = AudienceChannelTests.harness()
        for member in 2...4 { h.join(member) }
        h.deliverAll()
        h.advance(1_000)
        h.audienceUpdate(2, alert: "goal")
        h.deliver(route: 2)
        for member in 1...4 { h.join(member, channel: AudienceChannelTests.channel) }
        return h
    }
    /// The worker dies before its progress record says which members are owed the alert. The next owner still sends the
    /// alert to these members.
    @Test func itIsOwedTheAlertByTheNextOwner() {
        let h = Self.harnessOwingAlerts()
        h.crash()
        h.carryBus()
        h.advance(2_000)
        let pushes = h.deliverAll()
        #expect(Set(pushes.map(\.token)).count == 4 && pushes.allSatisfy { $0.alert == "goal" })
        // The progress record now says that the members have the alert.
        h.advance(2_000)
        h.crash()
        h.carryBus()
        h.advance(2_000)
        #expect(h.deliverAll().allSatisfy { $0.alert == nil })
    }
    /// Members that are owed an alert join again with another setting, and the worker dies. The next owner still sends
    /// them the alert.
    @Test func aFurtherJoinSaysThatTheAlertIsOwed() {
        let h = Self.harnessOwingAlerts()
        for member in 1...4 {
            h.consume(
                key: EngineHarness.memberToken(member),
                value:
                    #"{"event":"register","audience":"match","channel":"\#(AudienceChannelTests.channel)","frequent-updates":true}"#
            )
        }
        h.crash()
        h.carryBus()
        h.advance(2_000)
        let pushes = h.deliverAll()
        #expect(Set(pushes.map(\.token)).count == 4 && pushes.allSatisfy { $0.alert == "goal" })
    }
    /// The channel has had the alert, so the next broadcast does not repeat it. Members that are owed the alert get it
    /// by token with the next version.
    @Test func itIsOwedTheAlertWhenTheNextVersionIsBroadcast() {
        let h = Self.harnessOwingAlerts()
        h.advance(16_000)
        h.audienceUpdate(3)
        let broadcast = h.deliver(route: 2)
        #expect(broadcast?.n == 3 && broadcast?.alert == nil)
        let pushes = h.deliverAll()
        #expect(Set(pushes.map(\.token)).count == 4 && pushes.allSatisfy { $0.alert == "goal" && $0.n == 3 })
        h.advance(2_000)
        #expect(h.deliverAll().isEmpty && h.counters.members.isConserved)
    }
    /// A member begins to listen while the push with the alert is in flight. The alert is sent again if APNs refuses
    /// that push.
    @Test(arguments: [false, true]) func anAlertOnItsWayIsOwedUntilItHasCome(isRefused: Bool) throws {
        let (h, _) = AudienceChannelTests.harness()
        h.advance(1_000)
        h.audienceUpdate(2, alert: "goal")
        h.deliver(route: 2)
        let push = try #require(h.take())
        #expect(push.alert == "goal")
        h.join(1, channel: AudienceChannelTests.channel)
        h.answer(push, isRefused ? .response(PushResponse(status: 503, reason: "ServiceUnavailable")) : .accepted)
        h.advance(60_000)
        #expect(h.deliverAll().map(\.alert) == [isRefused ? "goal" : nil])
        #expect(h.counters.members.isConserved)
    }
    /// Members have got an alert by token when APNs reports the channel as gone. The alert's version is not pushed to
    /// them again.
    @Test(arguments: [false, true]) func whoHasAnAlertByItsTokenIsNotServedAgainWhenTheChannelDies(isTakenOver: Bool)
        throws
    {
        let (h, _) = AudienceChannelTests.harness()
        for member in 2...4 { h.join(member) }
        h.deliverAll()
        h.advance(1_000)
        h.audienceUpdate(2, alert: "goal")
        var broadcast = try #require(h.take(route: 2))
        for member in 1...4 { h.join(member, channel: AudienceChannelTests.channel) }
        #expect(h.deliverAll().map(\.alert) == Array(repeating: "goal", count: 4))
        h.advance(2_000)
        if isTakenOver {
            h.crash()
            h.carryBus()
            h.advance(20_000)
            broadcast = try #require(h.take(route: 2))
        }
        h.answer(broadcast, .response(PushResponse(status: 400, reason: "ChannelNotRegistered")))
        h.carryBus()
        h.advance(2_000)
        #expect(h.deliverAll().isEmpty)
    }

    /// APNs takes no broadcasts, so members get an alert and later versions by their tokens. Later versions do not
    /// repeat the alert to them. When APNs takes broadcasts again, the channel gets the newest version with the
    /// alert, under the stamp that members have.
    @Test(arguments: [false, true]) func anAlertThatTokensHaveBroughtIsNotBroughtAgain(isTakenOver: Bool) {
        let (h, _) = AudienceChannelTests.harness()
        h.join(2, channel: AudienceChannelTests.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceUpdate(2, alert: "goal")
        var pushes = h.deliverAll()
        pushes += Self.refuseBroadcasts(h)
        #expect(pushes.map(\.alert) == ["goal", "goal"])
        h.advance(300_000)
        h.audienceUpdate(3)
        if isTakenOver {
            h.advance(2_000)
            h.crash()
            h.carryBus()
        }
        pushes = h.deliverAll()
        pushes += Self.refuseBroadcasts(h)
        #expect(Set(pushes.map(\.token)).count == 2 && pushes.allSatisfy { $0.n == 3 && $0.alert == nil })
        h.advance(2_000)
        h.audienceUpdate(4)
        pushes = h.deliverAll()
        #expect(pushes.count == 2 && pushes.allSatisfy { $0.n == 4 && $0.alert == nil })
        let broadcasts = h.takeBroadcasts(seconds: 130)
        #expect(broadcasts.map(\.n) == [4] && broadcasts.first?.alert == "goal")
        #expect(broadcasts.first?.stamp == pushes.first?.stamp)
        h.audienceUpdate(5)
        #expect(h.takeBroadcasts(seconds: 20).map(\.alert) == [nil])
        #expect(h.deliverAll().allSatisfy { $0.n == 5 && $0.alert == nil })
    }
    /// Refuses broadcasts for more than a minute, so that members get by token what the channel does not bring.
    private static func refuseBroadcasts(_ h: EngineHarness) -> [Push] {
        for _ in 0..<75 {
            while let broadcast = h.take(route: 2) {
                h.answer(broadcast, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
            }
            h.advance(1_000)
        }
        return h.deliverAll()
    }
    /// A member joins after an alert, listens for a while and then stops. The member does not get the alert, although
    /// the version with that alert does not say yet that the channel has broadcast it.
    @Test(arguments: [false, true]) func whoCameAfterTheAlertIsNotOwedItWhenItListensNoMore(isTakenOver: Bool) {
        let (h, _) = AudienceChannelTests.harness()
        h.join(2, channel: AudienceChannelTests.channel)
        h.deliverAll()
        h.advance(2_000)
        h.audienceUpdate(2, alert: "goal")
        h.deliver(route: 2)
        h.deliverAll()
        h.join(3)
        #expect(h.deliverAll().map(\.alert) == [nil])
        h.advance(2_000)
        h.join(3, channel: AudienceChannelTests.channel)
        h.advance(2_000)
        if isTakenOver {
            h.crash()
            h.carryBus()
            h.advance(2_000)
        }
        h.join(3)
        h.advance(2_000)
        #expect(h.deliverAll().allSatisfy { $0.alert == nil })
    }

    /// A member that stops listening before an alert is broadcast gets the alert by token.
    @Test(arguments: [false, true]) func whoListensNoMoreGetsAnAlertThatTheChannelHasNotHad(isTakenOver: Bool) {
        let (h, _) = AudienceChannelTests.harness()
        h.join(2, channel: AudienceChannelTests.channel)
        h.deliverAll()
        h.advance(2_000)
        h.audienceUpdate(2, alert: "goal")
        if isTakenOver {
            h.crash()
            h.carryBus()
            h.advance(2_000)
        }
        h.join(2)
        #expect(h.deliverAll().first { $0.token == EngineHarness.memberToken(2) }?.alert == "goal")
        // A member that joins later does not get the alert.
        h.advance(2_000)
        h.join(3, channel: AudienceChannelTests.channel)
        let late = h.deliverAll()
        h.advance(2_000)
        h.join(3)
        #expect((late + h.deliverAll()).allSatisfy { $0.alert == nil } && late.count == 1)
        #expect(h.counters.members.isConserved)
    }

    /// The next version goes to the tokens before the channel has had the alert. Listeners get the alert with that
    /// version, except one that joined after the alert.
    @Test func whoCameAfterTheAlertDoesNotGetItWithTheNextVersion() throws {
        let (h, _) = AudienceChannelTests.harness()
        h.join(2, channel: AudienceChannelTests.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceUpdate(2, alert: "goal")
        h.deliverAll()
        h.advance(2_000)
        h.join(3)
        h.deliverAll()
        h.join(3, channel: AudienceChannelTests.channel)
        h.advance(2_000)
        // APNs reports the channel as gone in answer to the broadcast. The next version arrives before the tokens have
        // got the alert.
        let broadcast = try #require(h.take(route: 2))
        h.consume(
            key: "match",
            value: EngineHarness.content(
                "update", 3, at: nil, priority: 10, alert: nil, padding: 0, more: [#""to":{"audience":"match"}"#]))
        h.answer(broadcast, .response(PushResponse(status: 400, reason: "ChannelNotRegistered")))
        h.engine.publishVersions(now: h.now)
        h.step()
        var pushes: [Push] = []
        for _ in 0..<10 {
            h.advance(1_000)
            pushes += h.deliverAll()
        }
        let alerts = Dictionary(grouping: pushes, by: \.token).mapValues { $0.compactMap(\.alert) }
        #expect(alerts[EngineHarness.memberToken(2)] == ["goal"])
        #expect(alerts[EngineHarness.memberToken(3)] == [])
    }

    /// A push with an alert that a listener is owed fails while the next version is broadcast. The member is still owed
    /// the alert.
    @Test(arguments: [false, true]) func anOwedAlertThatComesBackIsOwedAlthoughTheNextVersionIsBroadcast(
        isTakenOver: Bool
    ) throws {
        let h = Self.harnessOwingAlerts()
        h.advance(16_000)
        let push = try #require(h.take())
        h.audienceUpdate(3)
        if isTakenOver {
            h.crash()
            h.carryBus()
            h.advance(20_000)
        } else {
            h.answer(push, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        }
        #expect(h.deliver(route: 2)?.n == 3)
        h.advance(60_000)
        let pushes = h.deliverAll()
        #expect(Set(pushes.map(\.token)).count == 4 && pushes.allSatisfy { $0.alert == "goal" })
        #expect(h.counters.members.isConserved)
    }

    /// A member has the alert by its token, and a newer version is in flight to it when it begins to listen. The
    /// broadcasts fail, and the alert goes round by tokens. That member must not get it again, even if another
    /// version follows.
    @Test(arguments: [false, true], [false, true]) func whoWaitsForAnAnswerAsItBeginsToListenHearsNoAlertTwice(
        fits: Bool, isFollowed: Bool
    ) throws {
        let (h, _) = AudienceChannelTests.harness()
        h.join(2, channel: AudienceChannelTests.channel)
        h.join(3)
        h.deliverAll()
        h.advance(16_000)
        h.audienceUpdate(2, alert: String(repeating: "g", count: 2_000))
        let heard = h.deliverAll().filter { $0.alert != nil }.map(\.token)
        #expect(heard.contains(EngineHarness.memberToken(3)) && !heard.contains(EngineHarness.memberToken(2)))
        h.refuseBroadcasts(seconds: 2)
        h.audienceUpdate(3, padding: fits ? 0 : 2_500)
        var under: [Push] = []
        while let push = h.take() {
            if push.token == EngineHarness.memberToken(3) { under.append(push) } else { h.answer(push, .accepted) }
        }
        let push = try #require(under.first)
        #expect(push.n == 3 && push.alert == nil)
        h.join(3, channel: AudienceChannelTests.channel)
        h.refuseBroadcasts(seconds: 2)
        if isFollowed { h.audienceUpdate(4, padding: fits ? 0 : 2_500) }
        h.refuseBroadcasts(seconds: 65)
        h.answer(push, .accepted)
        h.advance(2_000)
        let pushes = h.deliverAll()
        let alerts = pushes.filter { $0.alert != nil }.map(\.token)
        #expect(alerts == [EngineHarness.memberToken(2)])
        #expect(h.counters.members.isConserved)
    }

    /// An older version is in flight to a member that listens. The newest version is left to the channel and sent to no
    /// token. A push of the newest version by token would have no alert, and the phone would then ignore the broadcast
    /// with the same stamp.
    @Test(arguments: [false, true]) func whatIsOnItsWayWhenTheNextVersionIsBroadcastIsNotFollowedByToken(
        isTakenOver: Bool
    ) throws {
        let (h, _) = AudienceChannelTests.harness()
        h.join(2, channel: AudienceChannelTests.channel)
        let push = try #require(h.take())
        #expect(push.token == EngineHarness.memberToken(2) && push.n == 1)
        h.advance(3_000)
        h.audienceUpdate(2, alert: "goal")
        h.advance(2_000)
        if isTakenOver {
            h.crash()
            h.carryBus()
            h.advance(20_000)
        } else {
            h.answer(push, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        }
        h.advance(10_000)
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(1)])
        guard !isTakenOver else { return }
        let broadcast = try #require(h.deliver(route: 2))
        #expect(broadcast.n == 2 && broadcast.alert == "goal")
        h.advance(2_000)
        #expect(h.deliverAll().isEmpty && h.counters.members.isConserved)
    }
}
