import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests members that begin to listen just after a broadcast. The partition reads their joins before it reads the
/// version.
struct RecentListenerTests {
    private static let channel = AudienceChannelTests.channel

    /// An audience with a channel, on which member 2 has listened for a while.
    private static func harness() -> EngineHarness {
        let (h, _) = AudienceChannelTests.harness()
        h.join(2, channel: Self.channel)
        h.deliverAll()
        h.advance(20_000)
        return h
    }
    /// The owner makes and broadcasts a version that the partition has not read yet.
    private static func broadcastUnread(
        _ n: Int, at: Int64? = nil, alert: String? = nil, _ h: EngineHarness
    ) throws -> Push {
        h.consume(
            key: "match",
            value: EngineHarness.content(
                "update", n, at: at, priority: 10, alert: alert, padding: 0, more: [#""to":{"audience":"match"}"#]))
        h.engine.publishVersions(now: h.now)
        h.step()
        return try #require(h.deliver(route: 2))
    }
    private static func joinUnread(_ member: Int, _ h: EngineHarness) {
        h.consume(
            key: EngineHarness.memberToken(member),
            value: #"{"event":"register","audience":"match","channel":"\#(Self.channel)"}"#)
    }

    /// A member misses a broadcast and begins to listen just after it. The member gets the version and its alert by
    /// token. Earlier listeners get no push.
    @Test(arguments: [false, true]) func whoMissedTheBroadcastIsServedByToken(isTakenOver: Bool) throws {
        let h = Self.harness()
        let broadcast = try Self.broadcastUnread(2, alert: "goal", h)
        #expect(broadcast.n == 2 && broadcast.alert == "goal")
        h.advance(3_000)
        Self.joinUnread(3, h)
        if isTakenOver { h.crash() }
        h.carryBus()
        h.advance(2_000)
        let pushes = h.deliverAll().filter { $0.token != EngineHarness.memberToken(1) }
        #expect(pushes.map(\.token) == [EngineHarness.memberToken(3)])
        #expect(pushes.allSatisfy { $0.n == 2 && $0.alert == "goal" && $0.stamp == broadcast.stamp })
        #expect(h.counters.members.isConserved)
    }

    /// A member begins to listen at the record time of an alert's event, a millisecond earlier or a millisecond later.
    /// If the member may have missed the broadcast, it gets the alert by token. After that push, its phone ignores the
    /// broadcast of that version.
    @Test(arguments: [-1, 0, 1]) func theTimesInKafkaTell(millisAfter: Int64) throws {
        let h = Self.harness()
        if millisAfter < 0 { Self.joinUnread(3, h) }
        h.advance(max(0, -millisAfter))
        _ = try Self.broadcastUnread(2, alert: "goal", h)
        h.advance(max(0, millisAfter))
        if millisAfter >= 0 { Self.joinUnread(3, h) }
        h.carryBus()
        h.advance(2_000)
        let pushes = h.deliverAll().filter { $0.token == EngineHarness.memberToken(3) && $0.n == 2 }
        #expect(pushes.map(\.alert) == (millisAfter < 0 ? [] : ["goal"]))
    }

    /// The worker dies before it has sent a version to a recent listener that missed the broadcast. The next owner
    /// sends the version to that member.
    @Test func whatIsOwedIsOwedByTheNextOwner() throws {
        let h = Self.harness()
        _ = try Self.broadcastUnread(2, h)
        Self.joinUnread(3, h)
        h.carryBus()
        h.crash()
        h.carryBus()
        h.advance(2_000)
        let tokens = Set(h.deliverAll().map(\.token))
        #expect(tokens.contains(EngineHarness.memberToken(3)) && !tokens.contains(EngineHarness.memberToken(2)))
    }

    /// More members begin to listen than `RecentListeners` remembers and than fit into a progress record. The ring is
    /// searched for them, and each gets the version.
    @Test(arguments: [false, true]) func veryManyAreServedToo(isTakenOver: Bool) throws {
        let count = RecentListeners.countMax + RetrySet.countMax + 500
        let h = Self.harness()
        _ = try Self.broadcastUnread(2, h)
        for member in 0..<count { Self.joinUnread(10 + member, h) }
        h.carryBus()
        if isTakenOver {
            h.advance(2_000)
            h.crash()
            h.carryBus()
        }
        var tokens: Set<String> = []
        for _ in 0..<40 {
            h.advance(1_000)
            tokens.formUnion(h.deliverAll().filter { $0.n == 2 }.map(\.token))
        }
        #expect((0..<count).allSatisfy { tokens.contains(EngineHarness.memberToken(10 + $0)) })
        #expect(h.counters.members.isConserved)
    }

    /// Members that listened before the broadcast get no push. No listener gets a push for the next version.
    @Test func whoListenedBeforeIsLeftToTheChannel() throws {
        let h = Self.harness()
        _ = try Self.broadcastUnread(2, h)
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(1)])
        Self.joinUnread(3, h)
        h.carryBus()
        h.deliverAll()
        h.advance(20_000)
        h.audienceUpdate(3)
        #expect(h.deliver(route: 2)?.n == 3)
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(1)])
    }

    /// More members than `RecentListeners` remembers begin to listen just after a broadcast. These members had joined
    /// by token before the broadcast, and each gets the alert.
    @Test func veryManyThatWereMembersBeforeGetTheAlert() throws {
        let count = RecentListeners.countMax + 200
        let h = Self.harness()
        for member in 0..<count { h.join(10 + member) }
        h.deliverAll()
        h.advance(20_000)
        _ = try Self.broadcastUnread(2, alert: "goal", h)
        h.advance(3_000)
        for member in 0..<count { Self.joinUnread(10 + member, h) }
        h.carryBus()
        var alerts: Set<String> = []
        for _ in 0..<40 {
            h.advance(1_000)
            alerts.formUnion(h.deliverAll().filter { $0.alert == "goal" }.map(\.token))
        }
        #expect((0..<count).allSatisfy { alerts.contains(EngineHarness.memberToken(10 + $0)) })
    }
    /// The clock of the service that writes a join is an hour ahead. The member is served by token for the first
    /// minutes at most, not for a whole hour.
    @Test func joinsFromTheFutureAreJoinsOfSoon() throws {
        let h = Self.harness()
        h.consume(
            key: EngineHarness.memberToken(3),
            value: #"{"event":"register","audience":"match","channel":"\#(Self.channel)"}"#,
            recordMillis: h.now.wallMillis + 3_600_000)
        h.deliverAll()
        h.advance((EventRules.timestampAheadSecondsMax + 20) * 1_000)
        _ = try Self.broadcastUnread(2, h)
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(1)])
    }

    /// The event's timestamp is minutes old, and says nothing about when the version was broadcast. A member that
    /// listened before the broadcast gets no push.
    @Test func aTimestampOfThePastMakesNobodyLate() {
        let h = Self.harness()
        h.advance(300_000)
        h.join(3, channel: Self.channel)
        h.deliverAll()
        h.advance(20_000)
        h.consume(
            key: "match",
            value: EngineHarness.content(
                "update", 2, at: 60, priority: 10, alert: "goal", padding: 0, more: [#""to":{"audience":"match"}"#]))
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(1)])
        #expect(h.deliver(route: 2)?.alert == "goal")
    }

    /// A member with a token begins to listen after the alert was broadcast. It had joined before the alert, so it gets
    /// the alert by token.
    @Test(arguments: [false, true]) func whoWasAMemberBeforeGetsTheAlertByToken(isTakenOver: Bool) throws {
        let h = Self.harness()
        h.join(3)
        h.deliverAll()
        h.advance(20_000)
        _ = try Self.broadcastUnread(2, alert: "goal", h)
        h.advance(5_000)
        Self.joinUnread(3, h)
        if isTakenOver { h.crash() }
        h.carryBus()
        h.advance(2_000)
        let pushes = h.deliverAll().filter { $0.token == EngineHarness.memberToken(3) }
        #expect(pushes.map(\.alert) == ["goal"])
    }

    /// The next version arrives before the channel has had the alert of the version before. A member that begins to
    /// listen gets that alert by token, with the next version.
    @Test(arguments: [false, true]) func anAlertThatTheChannelHasNotHadComesWithTheNextVersion(isEnd: Bool) throws {
        let h = Self.harness()
        h.join(3)
        h.deliverAll()
        h.advance(20_000)
        h.audienceUpdate(2, alert: "goal")
        h.consume(
            key: "match",
            value: EngineHarness.content(
                isEnd ? "end" : "update", 3, at: nil, priority: 10, alert: nil, padding: 0,
                more: [#""to":{"audience":"match"}"#]))
        h.engine.publishVersions(now: h.now)
        h.step()
        Self.joinUnread(3, h)
        h.carryBus()
        h.advance(1_000)
        let push = try #require(h.deliverAll().first { $0.token == EngineHarness.memberToken(3) })
        #expect(push.n == 3 && push.alert == "goal")
        let broadcast = try #require(h.deliver(route: 2))
        #expect(broadcast.n == 3 && broadcast.alert == "goal" && broadcast.stamp == push.stamp)
        h.advance(2_000)
        #expect(h.deliverAll().isEmpty && h.counters.members.isConserved)
    }
    /// Clocks were set back between a member's first join and an event. The event still counts as the later one, so the
    /// member gets its alert.
    @Test func whoWasAMemberBeforeGetsTheAlertThoughClocksWereSetBack() throws {
        let h = Self.harness()
        h.join(3)
        h.deliverAll()
        h.advance(20_000)
        let seconds = h.wallSeconds - EngineHarness.seconds(0)
        h.stepWallClock(-60_000)
        _ = try Self.broadcastUnread(2, at: seconds, alert: "goal", h)
        h.advance(1_000)
        Self.joinUnread(3, h)
        h.carryBus()
        h.advance(2_000)
        let pushes = h.deliverAll().filter { $0.token == EngineHarness.memberToken(3) }
        #expect(pushes.map(\.alert) == ["goal"])
    }
    /// The record times of a join and an event are compared with each other. The result must not change if the worker's
    /// own clock is behind both.
    @Test func aWorkerWhoseClockIsBehindLeavesNobodyOut() throws {
        let h = Self.harness()
        _ = try Self.broadcastUnread(2, h)
        h.stepWallClock(-5_000)
        h.consume(
            key: EngineHarness.memberToken(3),
            value: #"{"event":"register","audience":"match","channel":"\#(Self.channel)"}"#,
            recordMillis: h.now.wallMillis + 5_001)
        h.carryBus()
        h.advance(2_000)
        #expect(h.deliverAll().contains { $0.token == EngineHarness.memberToken(3) && $0.n == 2 })
    }

    // MARK: Listeners that are remembered

    private static func join(_ number: Int, at millis: Int64) -> RecentListeners.Join {
        RecentListeners.Join(member: MemberID(rawValue: Int32(number)), recordMillis: millis, nowMillis: millis)
    }
    @Test func joinsAreKnownFromATimeOn() {
        var recent = RecentListeners()
        for number in 0..<5 { recent.remember(Self.join(number, at: 100 + Int64(number))) }
        #expect(recent.joined(sinceMillis: 102)?.map(\.member.rawValue) == [2, 3, 4])
        #expect(recent.joined(sinceMillis: 104)?.map(\.member.rawValue) == [4])
        #expect(recent.joined(sinceMillis: 101) == nil, "two of them were forgotten")
        #expect(recent.joined(sinceMillis: 105)?.isEmpty == true)
    }
    @Test func ofTooManyTheFirstAreForgotten() {
        var recent = RecentListeners()
        for number in 0...RecentListeners.countMax { recent.remember(Self.join(number, at: Int64(number))) }
        #expect(recent.joined(sinceMillis: 0) == nil)
        #expect(recent.joined(sinceMillis: 1)?.count == RecentListeners.countMax)
    }
}
