import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests an audience with a channel: one event becomes a broadcast for members that listen, and pushes by token for the
/// others. Owner, keeper and members are in one partition here, and still talk over the bus.
@Suite struct AudienceChannelTests {
    /// A harness whose audience has an open channel and has sent its first version.
    static func harness(
        _ configure: (inout AppConfiguration) -> Void = { _ in }
    ) -> (h: EngineHarness, apple: SimpleApple) {
        let h = KeeperHostTests.harness(configure)
        var apple = SimpleApple()
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        apple.serve(h)
        h.carryBus()
        h.advance(1_000)
        h.carryBus()
        return (h, apple)
    }
    static let channel = "Y2hhbm5lbC0x"

    // MARK: One event

    @Test func theFirstEventOpensAChannel() {
        let (h, apple) = Self.harness()
        #expect(apple.channels == [Self.channel] && h.counters.channelsKeptOpen == 1)
        #expect(h.outcomes.contains { $0.outcome == "channel-opened" })
        #expect(h.take(route: 2) == nil, "the first version was brought by tokens, and nobody listens yet")
        #expect(h.isCommitted() && h.isCommitted(topic: 1))
    }

    @Test func openOpensOneBeforeAnyContent() {
        let h = KeeperHostTests.harness()
        var apple = SimpleApple()
        let offset = h.consume(key: "match", value: #"{"event":"open","to":{"audience":"match"}}"#)
        h.carryBus()
        apple.serve(h)
        h.carryBus()
        #expect(h.outcomes(of: offset) == ["applied"] && apple.channels.count == 1)
        h.join(1, channel: Self.channel)
        h.advance(3_000)
        h.audienceUpdate(1)
        #expect(h.deliverAll().isEmpty)
        #expect(h.deliver(route: 2)?.token == Self.channel)
    }

    /// Outcomes about an audience's channel and about its versions name the same life.
    @Test func aChannelAndItsVersionsAreOfOneLife() throws {
        let h = KeeperHostTests.harness()
        var apple = SimpleApple()
        h.consume(key: "match", value: #"{"event":"open","to":{"audience":"match"}}"#)
        h.carryBus()
        apple.serve(h)
        h.advance(5_000)
        h.join(1)
        h.advance(7_000)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(61_000)
        h.carryBus()
        let lives = h.outcomes.filter { ["channel-opened", "pass", "audience"].contains($0.outcome) }.compactMap {
            $0.number("life")
        }
        #expect(lives.count >= 3 && Set(lives).count == 1, "\(lives)")
    }

    @Test func openIsRefusedWhereNoChannelIsKept() {
        let h = KeeperHostTests.harness { $0.audienceChannel = .none }
        let offset = h.consume(key: "match", value: #"{"event":"open","to":{"audience":"match"}}"#)
        #expect(h.outcomes(of: offset) == ["dead-lettered"])
    }

    /// Members that have reported listening get a new version only by broadcast. All others get the version only by
    /// token.
    @Test func eachPhoneHasOneWay() throws {
        let (h, _) = Self.harness()
        h.join(2, channel: Self.channel)
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(2)], "it came late, and may have missed it")
        h.advance(3_000)
        h.audienceUpdate(2, alert: "goal")
        let pushes = h.deliverAll()
        #expect(pushes.map(\.token) == [EngineHarness.memberToken(1)])
        let broadcast = try #require(h.deliver(route: 2))
        #expect(broadcast.kind == .broadcast && broadcast.token == Self.channel && broadcast.alert == "goal")
        #expect(broadcast.stamp == pushes.first?.stamp && broadcast.n == 2 && broadcast.priority == 10)
        #expect(broadcast.expirationSeconds == 0)
        h.advance(120_000)
        h.carryBus()
        #expect(h.deliverAll().isEmpty && h.take(route: 2) == nil)
        #expect(h.counters.channelBroadcastsAccepted == 1 && h.counters.channelFallbacks == 0)
    }

    @Test func broadcastsKeepTheirDistanceAndTheNewestAlert() throws {
        let (h, _) = Self.harness()
        h.join(2, channel: Self.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceUpdate(2)
        #expect(h.deliver(route: 2)?.n == 2)
        h.advance(2_000)
        h.audienceUpdate(3, alert: "goal")
        h.advance(2_000)
        h.audienceUpdate(4)
        h.deliverAll()
        #expect(h.take(route: 2) == nil)
        h.advance(11_000)
        let next = try #require(h.deliver(route: 2))
        #expect(next.n == 4 && next.alert == "goal")
        h.advance(60_000)
        #expect(h.take(route: 2) == nil)
    }

    @Test func whoSaysThatItListensIsOwedNothingThatItHas() {
        let (h, _) = Self.harness()
        h.join(1, channel: Self.channel)
        h.advance(2_000)
        #expect(h.deliverAll().isEmpty)
        h.audienceUpdate(2)
        #expect(h.deliverAll().isEmpty && h.deliver(route: 2)?.n == 2)
    }

    @Test func whoSaysItNoMoreIsServedByItsToken() {
        let (h, _) = Self.harness()
        h.join(2, channel: Self.channel)
        h.advance(3_000)
        h.audienceUpdate(2)
        h.deliver(route: 2)
        h.deliverAll()
        h.advance(1_000)
        h.join(2)
        #expect(h.deliverAll().map(\.n) == [2], "the broadcast may not have come to it")
        h.advance(16_000)
        h.audienceUpdate(3)
        #expect(h.deliverAll().count == 2)
        h.deliver(route: 2)
    }

    /// A member is served by token if it names a channel that is not its audience's.
    @Test func aForeignChannelIsNoWay() {
        let (h, _) = Self.harness()
        for number in 2...20 { h.join(number, channel: "Zm9yZWlnbg\(number % 2 == 0 ? "A" : "B")=") }
        h.join(21, channel: Self.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceUpdate(2)
        #expect(Set(h.deliverAll().map(\.token)).count == 20)
        #expect(h.deliver(route: 2) != nil)
    }

    @Test func aPauseHoldsBroadcastsBack() throws {
        let (h, _) = Self.harness()
        h.join(2, channel: Self.channel)
        h.deliverAll()
        h.advance(3_000)
        func pause(_ isPaused: Bool) {
            let record = PauseRecord.make(bundleID: "com.example.pizza", audience: "match", isPaused: isPaused)
            h.consume(keyBytes: record.key, valueBytes: record.value, topic: 1, kind: .pause)
            h.carryBus()
        }
        pause(true)
        h.advance(1_000)
        h.audienceUpdate(2)
        h.advance(120_000)
        #expect(h.deliverAll().isEmpty && h.take(route: 2) == nil && h.counters.channelFallbacks == 0)
        pause(false)
        h.advance(2_000)
        #expect(h.deliverAll().count == 1 && h.deliver(route: 2)?.n == 2)
    }

    /// A member is still owed a version by token when the next version reaches it by broadcast. The member counts as
    /// superseded in the record of the older version.
    @Test func whatGivesWayToAChannelIsCountedWhereItWasDue() throws {
        let (h, _) = Self.harness()
        h.join(2, channel: Self.channel)
        let late = try #require(h.take())
        h.answer(late, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        h.audienceUpdate(2)
        h.deliverAll()
        #expect(h.deliver(route: 2)?.n == 2)
        for _ in 0..<3 {
            h.advance(61_000)
            h.carryBus()
        }
        let told = h.outcomes.filter { $0.outcome == "pass" || $0.outcome == "audience" }
        #expect(told.allSatisfy(PassRecordTests.isConserved))
        let versions = Set(told.compactMap { $0.number("version") }).sorted()
        let sums = versions.map { version in
            told.last { $0.outcome == "audience" && $0.number("version") == version }?.number("superseded")
        }
        #expect(sums == [1, 0])
        #expect(h.counters.members.isConserved)
    }

    // MARK: Failures

    @Test func listenersAreServedByTokenWhenABroadcastIsRefusedForTooLong() throws {
        let (h, _) = Self.harness()
        h.join(2, channel: Self.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceUpdate(2, alert: "goal")
        #expect(h.deliverAll().count == 1)
        h.refuseBroadcasts(seconds: 75)
        let pushes = h.deliverAll()
        #expect(pushes.map(\.token) == [EngineHarness.memberToken(2)])
        #expect(pushes.first?.alert == "goal" && pushes.first?.n == 2 && h.counters.channelFallbacks == 1)
        // The next version goes by token, too, because APNs has taken no broadcast since.
        h.refuseBroadcasts(seconds: 1)
        h.audienceUpdate(3)
        #expect(h.deliverAll().count == 2)
        h.refuseBroadcasts(seconds: 300)
        h.audienceUpdate(4)
        #expect(h.deliverAll().count == 2, "nobody waits for a channel that takes nothing")
        #expect(h.takeBroadcasts(seconds: 65).map(\.n) == [4])
        h.advance(16_000)
        h.audienceUpdate(5)
        #expect(h.deliverAll().count == 1 && h.deliver(route: 2)?.n == 5)
        #expect(h.counters.channelFallbacks == 1)
    }

    @Test func listenersOfADeadChannelAreServedByToken() throws {
        let (h, _) = Self.harness()
        h.join(2, channel: Self.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceUpdate(2)
        h.deliverAll()
        let broadcast = try #require(h.take(route: 2))
        h.answer(broadcast, .response(PushResponse(status: 400, reason: "ChannelNotRegistered")))
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(2)])
        h.advance(1_000)
        h.audienceUpdate(3)
        #expect(h.deliverAll().count == 2 && h.take(route: 2) == nil)
    }

    @Test func aBroadcastWithoutAnAnswerIsSentAgain() throws {
        let (h, _) = Self.harness()
        h.join(2, channel: Self.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceUpdate(2, alert: "goal")
        let first = try #require(h.take(route: 2))
        h.answer(first, .unknown(detail: "lost"))
        h.advance(20_000)
        let second = try #require(h.deliver(route: 2))
        #expect(second.body == first.body && second.priority == 5)
    }

    // MARK: Takeover

    @Test func aNewOwnerBroadcastsTheVerySame() throws {
        let (h, _) = Self.harness()
        h.join(2, channel: Self.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceUpdate(2, alert: "goal")
        h.deliverAll()
        let first = try #require(h.take(route: 2))
        h.crash()
        h.carryBus()
        h.advance(16_000)
        h.carryBus()
        let second = try #require(h.deliver(route: 2))
        #expect(second.body == first.body)
        #expect(h.deliverAll().allSatisfy { $0.token == EngineHarness.memberToken(1) })
        h.advance(100_000)
        #expect(h.take(route: 2) == nil && h.counters.channelFallbacks == 0)
        h.audienceUpdate(3)
        #expect(h.deliverAll().count == 1 && h.deliver(route: 2)?.n == 3, "who listens is known by the new owner")
    }

    /// The owner dies at the given step; 0: at no step. Every member still gets the newest version. The version after
    /// that reaches each member one way only.
    @Test(arguments: 0..<12) func nobodyIsLeftOutWhereverTheOwnerDies(step: Int) {
        let (h, apple) = Self.harness()
        var service = apple
        var shown: [String: Int] = [EngineHarness.memberToken(1): 1]
        var steps = 0
        func dies() -> Bool {
            steps += 1
            return steps == step
        }
        func act() {
            if dies() {
                h.crash()
                h.carryBus()
            }
            for push in h.deliverAll() { shown[push.token] = push.n }
            while let broadcast = h.take(route: 2) {
                h.answer(broadcast, .accepted)
                shown["channel"] = broadcast.n
            }
            service.serve(h)
            h.carryBus()
        }
        h.join(2, channel: Self.channel)
        act()
        for n in 2...4 {
            h.audienceUpdate(n, alert: "goal")
            act()
            h.advance(8_000)
            act()
        }
        for _ in 0..<9 {
            h.advance(10_000)
            act()
        }
        #expect(shown[EngineHarness.memberToken(1)] == 4)
        #expect(shown["channel"] == 4 || shown[EngineHarness.memberToken(2)] == 4)
        h.audienceUpdate(5)
        shown = [:]
        act()
        for _ in 0..<3 {
            h.advance(8_000)
            act()
        }
        #expect(shown == [EngineHarness.memberToken(1): 5, "channel": 5])
    }

    // MARK: Start and end

    @Test func phonesAreStartedWithTheChannelOnceItIsOpen() throws {
        let (h, _) = Self.harness()
        h.joinStart(11, isCapable: true)
        h.joinStart(12)
        h.audienceEnd(2)
        h.deliverAll()
        h.advance(1_000)
        h.audienceStart(3)
        h.advance(1_000)
        let starts = h.deliverAll(withinMillis: 3_000).filter { $0.event == "start" }
        let capable = try #require(starts.first { $0.token == EngineHarness.memberToken(11) })
        let old = try #require(starts.first { $0.token == EngineHarness.memberToken(12) })
        // The push does not name the channel of the life before.
        #expect(capable.aps["input-push-token"] as? Int == 1 && capable.aps["input-push-channel"] == nil)
        #expect(old.aps["input-push-token"] == nil && old.aps["input-push-channel"] == nil)
    }

    @Test func aLateStartMemberIsToldToListen() throws {
        let h = KeeperHostTests.harness()
        var apple = SimpleApple()
        h.consume(key: "match", value: #"{"event":"open","to":{"audience":"match"}}"#)
        h.carryBus()
        apple.serve(h)
        h.carryBus()
        h.joinStart(11, isCapable: true)
        h.joinStart(12)
        h.audienceStart(1)
        let starts = h.deliverAll(withinMillis: 3_000)
        let capable = try #require(starts.first { $0.token == EngineHarness.memberToken(11) })
        #expect(capable.aps["input-push-channel"] as? String == Self.channel)
        #expect(capable.aps["input-push-token"] == nil)
        #expect(starts.first { $0.token == EngineHarness.memberToken(12) }?.aps["input-push-channel"] == nil)
    }

    @Test func theEndIsBroadcastAndThenAgain() throws {
        let (h, apple) = Self.harness { $0.channelLingerMillis = 3_600_000 }
        var service = apple
        h.join(2, channel: Self.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceEnd(2)
        #expect(h.deliverAll().map(\.event) == ["end"])
        let end = try #require(h.deliver(route: 2))
        #expect(end.event == "end" && end.n == 2)
        h.carryBus()
        h.advance(65_000)
        h.carryBus()
        let beacon = try #require(h.deliver(route: 2))
        #expect(beacon.body == end.body && beacon.priority == 5)
        for _ in 0..<120 {
            h.advance(60_000)
            h.carryBus()
            while h.take(route: 2).map({ h.answer($0, .accepted) }) != nil {}
            service.serve(h)
            h.carryBus()
        }
        #expect(service.channels.isEmpty && h.outcomes.contains { $0.outcome == "channel-closed" })
    }

    @Test func theNextLifeHasAChannelOfItsOwn() throws {
        let (h, apple) = Self.harness()
        var service = apple
        h.audienceEnd(2)
        h.deliverAll()
        h.deliver(route: 2)
        h.advance(1_000)
        h.joinStart(11, isCapable: true)
        h.audienceStart(3)
        _ = h.deliverAll(withinMillis: 2_000)
        service.serve(h)
        h.carryBus()
        #expect(service.channels.count == 2)
        h.advance(1_000)
        h.audienceUpdate(4)
        h.deliverAll()
        #expect(h.deliver(route: 2)?.token == service.channels.last)
    }

    /// A former owner's wish for a channel reaches the keeper after the audience's life has ended. The keeper no longer
    /// knows that life and opens a channel, which must be deleted again.
    @Test(arguments: [false, true]) func aWishThatComesBehindTheEndLeavesNoChannel(isForgotten: Bool) throws {
        let h = KeeperHostTests.harness { $0.channelLingerMillis = 3_600_000 }
        var apple = SimpleApple()
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(2_000)
        h.audienceEnd(2)
        h.deliverAll()
        h.advance(2_000)
        h.carryBus()
        let wish = try #require(
            h.written.first { $0.topic == .routed && $0.headers[RecordHeader.kind.text] == "channel-wish" })
        if isForgotten {
            for _ in 0..<800 {
                h.advance(60_000)
                h.carryBus()
                apple.serve(h)
            }
            #expect(h.counters.slots == 0)
        }
        #expect(apple.channels.isEmpty && h.keptPhase() == nil)
        h.consume(
            keyBytes: wish.key, valueBytes: wish.value, topic: 1,
            kind: RoutedKind(named: Array("channel-wish".utf8).span))
        h.carryBus()
        apple.serve(h)
        #expect(apple.channels.count == 1)
        for _ in 0..<120 {
            h.advance(60_000)
            h.carryBus()
            while h.take(route: 2).map({ h.answer($0, .accepted) }) != nil {}
            apple.serve(h)
        }
        #expect(apple.channels.isEmpty && h.isCommitted(topic: 1))
    }

    /// The channel of an audience is deleted if the audience is forgotten without an end.
    @Test func whatIsForgottenGivesItsChannelUp() {
        let (h, apple) = Self.harness()
        var service = apple
        h.leave(1)
        for _ in 0..<800 {
            h.advance(60_000)
            h.carryBus()
            service.serve(h)
            h.carryBus()
        }
        #expect(service.channels.isEmpty && h.counters.slots == 0)
        let live = Dictionary(h.stateLog.map { ($0.keyText, $0.isNull) }, uniquingKeysWith: { $1 })
        #expect(live.filter { !$0.value }.map(\.key) == ["m"], "nothing but the marker is left in state")
    }
}

extension EngineHarness {
    @discardableResult
    func join(_ member: Int, channel: String) -> Int64 {
        let offset = self.consume(
            key: Self.memberToken(member),
            value: #"{"event":"register","audience":"match","channel":"\#(channel)"}"#)
        self.carryBus()
        return offset
    }
}
