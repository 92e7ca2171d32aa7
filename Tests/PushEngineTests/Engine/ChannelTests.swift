import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests broadcast channels: their slots, whose token is the channel's id, the distance between broadcasts, and what a
/// channel stores for phones that are off.
@Suite struct ChannelTests {
    static let channel = "dHN0LXNyY2gtY2hubA=="
    /// An engine with these routes: 0 for pushes to production devices, 2 for broadcasts, 3 for questions. Routes 4 and
    /// 5 are for broadcasts and questions of development.
    static func harness(
        _ storage: ChannelStoragePolicy = .none, _ configure: (inout AppConfiguration) -> Void = { _ in }
    )
        -> EngineHarness
    {
        EngineHarness {
            $0.apps[0].productionBroadcastRoute = 2
            $0.apps[0].productionManageRoute = 3
            $0.apps[0].developmentBroadcastRoute = 4
            $0.apps[0].developmentManageRoute = 5
            $0.apps[0].channelStorage = storage
            configure(&$0.apps[0])
        }
    }

    static func settings(stores: Bool) -> PushAnswer.Result {
        .channel(
            ChannelAnswer(
                status: 200, channelID: [],
                body: Array("{\"message-storage-policy\":\(stores ? 1 : 0),\"push-type\":\"LiveActivity\"}".utf8)))
    }

    static func refusal(_ status: UInt16, _ reason: String) -> PushAnswer.Result {
        .response(PushResponse(status: status, reason: reason))
    }

    // MARK: What leaves

    @Test func aBroadcastNamesItsChannelAndGoesItsOwnWay() throws {
        let h = Self.harness()
        h.broadcast(n: 1)
        #expect(!h.hasReady(route: 0) && !h.hasReady(route: 3))
        let push = try #require(h.take(route: 2))
        #expect(push.kind == .broadcast && push.token == Self.channel && push.priority == 10)
        #expect(push.event == "update" && push.n == 1)
        #expect(push.expirationSeconds == 0, "a channel that keeps nothing takes nothing else")
        h.answer(push, .accepted)
        let outcome = try #require(h.outcomes(ofKey: Self.channel).last)
        #expect(outcome.outcome == "delivered" && outcome.key == Self.channel)
        #expect(outcome.fields["channel"] as? String == Self.channel && outcome.fields["activity"] == nil)
    }

    @Test(arguments: [(10, 10), (5, 5), (1, 1)])
    func thePriorityIsTheEvents(priority: Int, sent: Int) throws {
        let h = Self.harness()
        h.broadcast(n: 1, priority: priority)
        h.advance(1_000)
        #expect(try #require(h.take(route: 2)).priority == sent)
    }

    /// A merged broadcast has the highest priority of the events in it.
    @Test(arguments: [([1, 5], 5), ([5, 1], 5), ([1, 1], 1), ([10, 1], 10), ([1, 10], 10)])
    func prioritiesMerge(priorities: [Int], sent: Int) throws {
        let h = Self.harness()
        for (n, priority) in priorities.enumerated() { h.broadcast(n: n, priority: priority) }
        h.advance(1_000)
        let push = try #require(h.take(route: 2))
        #expect(push.priority == sent && push.n == priorities.count - 1)
    }

    @Test func theEnvironmentIsTheEventsOrTheOneThereIs() throws {
        let h = Self.harness()
        h.broadcast(n: 1, environment: "development")
        #expect(h.take(route: 2) == nil)
        #expect(h.take(route: 4)?.n == 1)
        let only = Self.harness {
            $0.productionRoute = nil; $0.productionBroadcastRoute = nil
        }
        only.broadcast(n: 1)
        #expect(only.take(route: 4)?.n == 1)
        only.broadcast(n: 2, environment: "production")
        #expect(only.written.last { $0.topic == .deadLetters }?.headers["mailboat-field"] == "environment")
    }

    @Test func anActivityWithTheSameIDIsAnother() throws {
        let h = Self.harness()
        h.register(of: Self.channel)
        h.broadcast(n: 1)
        h.update(2, of: Self.channel, priority: 10)
        #expect(h.take(route: 2)?.n == 1)
        #expect(h.take(route: 0)?.n == 2)
        #expect(h.counters.slots == 2 && h.counters.channels == 1)
    }

    /// A broadcast may have 5,120 bytes, while a push to a phone may have only 4,096.
    @Test func aBroadcastMayBeLarger() throws {
        let h = Self.harness()
        let title = String(repeating: "t", count: 1_500)
        h.broadcast(n: 1, alert: title)
        h.broadcast(n: 2, padding: 3_000)
        let push = try #require(h.take(route: 2))
        #expect(push.n == 2 && push.alert == title && (4_097...5_120).contains(push.byteCount))
    }

    // MARK: What it keeps

    @Test(arguments: [true, false])
    func apnsIsAskedOnce(stores: Bool) throws {
        let h = Self.harness(.ask)
        h.broadcast(n: 1)
        #expect(!h.hasReady(route: 2))
        let question = try #require(h.take(route: 3))
        #expect(question.kind == .readChannel && question.token == Self.channel && question.body.isEmpty)
        h.broadcast(n: 2)
        #expect(!h.hasReady(route: 3), "one question at a time")
        h.answer(question, Self.settings(stores: stores))
        let push = try #require(h.deliver(route: 2))
        #expect(push.n == 2)
        #expect(push.expirationSeconds == (stores ? h.wallSeconds + 900 : 0))
        h.advance(15_000)
        h.broadcast(n: 3)
        #expect(!h.hasReady(route: 3), "it is known")
        h.deliver(route: 2)
        #expect(h.counters.channelQuestions == 1)
        h.advance(1_000)
        h.crash()
        h.advance(15_000)
        h.broadcast(n: 4)
        #expect(!h.hasReady(route: 3), "state remembers")
        #expect(try #require(h.deliver(route: 2)).expirationSeconds == (stores ? h.wallSeconds + 900 : 0))
    }

    @Test func anEndOnAStoringChannelIsKeptForEightHoursAndNothingLonger() throws {
        let h = Self.harness(.mostRecent)
        h.broadcast(n: 1, more: "\"expires\":\(h.wallSeconds + 100_000)")
        #expect(try #require(h.deliver(route: 2)).expirationSeconds == h.wallSeconds + 8 * 3_600 - 300)
        h.advance(15_000)
        h.consume(key: Self.channel, value: "{\"event\":\"end\",\"to\":{\"channel\":\"\(Self.channel)\"}}")
        let end = try #require(h.deliver(route: 2))
        #expect(end.event == "end" && end.expirationSeconds == h.wallSeconds + 8 * 3_600 - 300)
    }

    /// APNs does not say what the channel stores. After five seconds the broadcast leaves anyway, and is not stored for
    /// phones that are off.
    @Test func aBroadcastDoesNotWaitForAnAnswerForEver() throws {
        let h = Self.harness(.ask)
        h.broadcast(n: 1)
        h.advance(4_999)
        #expect(!h.hasReady(route: 2))
        h.advance(1)
        let push = try #require(h.deliver(route: 2))
        #expect(push.expirationSeconds == 0)
        h.advance(15_000)
        h.broadcast(n: 2)
        #expect(h.deliver(route: 2)?.n == 2, "nobody is asked again for a while")
        h.advance(290_000)
        h.broadcast(n: 3)
        #expect(h.take(route: 3)?.kind == .readChannel)
    }

    @Test func withoutARouteNobodyIsAsked() throws {
        let h = Self.harness(.ask) { $0.productionManageRoute = nil }
        h.broadcast(n: 1)
        #expect(try #require(h.deliver(route: 2)).expirationSeconds == 0)
    }

    @Test(
        arguments: [
            .channel(ChannelAnswer(status: 200, channelID: [], body: [])), Self.refusal(404, "BadPath"),
            Self.refusal(400, "ChannelNotRegistered"),
        ] as [PushAnswer.Result])
    func anAnswerThatSaysNothingLetsTheBroadcastGo(answer: PushAnswer.Result) throws {
        let h = Self.harness(.ask)
        h.broadcast(n: 1)
        h.answer(try #require(h.take(route: 3)), answer)
        #expect(try #require(h.deliver(route: 2)).expirationSeconds == 0)
    }

    @Test(
        arguments: [
            .notProcessed, .unknown(detail: "reset"), Self.refusal(503, "ServiceUnavailable"),
            Self.refusal(429, "TooManyRequests"),
        ] as [PushAnswer.Result])
    func aFailedQuestionIsAskedAgain(answer: PushAnswer.Result) throws {
        let h = Self.harness(.ask)
        h.broadcast(n: 1)
        h.answer(try #require(h.take(route: 3)), answer)
        h.advance(2_000)
        h.answer(try #require(h.take(route: 3)), Self.settings(stores: true))
        #expect(try #require(h.deliver(route: 2)).expirationSeconds == h.wallSeconds + 900)
    }

    @Test func anAnswerThatComesLateIsStillOfUse() throws {
        let h = Self.harness(.ask)
        h.broadcast(n: 1)
        let question = try #require(h.take(route: 3))
        h.advance(5_000)
        h.deliver(route: 2)
        h.answer(question, Self.settings(stores: true))
        h.advance(15_000)
        h.broadcast(n: 2)
        #expect(!h.hasReady(route: 3))
        #expect(try #require(h.deliver(route: 2)).expirationSeconds == h.wallSeconds + 900)
    }

    /// The wait for APNs' answer begins when the broadcast could leave. A low-priority window does not use it up.
    @Test func whatCannotLeaveAnywayDoesNotWaitForAnAnswer() throws {
        let h = Self.harness(.ask) { $0.lowPriorityWindowMillis = 60_000 }
        h.broadcast(n: 1, priority: 5)
        h.advance(59_000)
        #expect(!h.hasReady(route: 2) && !h.hasReady(route: 3))
        h.advance(1_000)
        h.answer(try #require(h.take(route: 3)), Self.settings(stores: true))
        #expect(try #require(h.deliver(route: 2)).expirationSeconds == h.wallSeconds + 900)
    }

    /// The engine knows a channel in one environment. An answer about that environment says nothing about the other.
    @Test func anotherEnvironmentIsAnotherChannel() throws {
        let h = Self.harness(.ask)
        h.broadcast(n: 1)
        h.answer(try #require(h.take(route: 3)), Self.settings(stores: true))
        let push = try #require(h.take(route: 2))
        h.broadcast(n: 2, environment: "development")
        h.answer(push, Self.refusal(400, "ChannelNotRegistered"))
        h.advance(15_000)
        h.answer(try #require(h.take(route: 5)), Self.settings(stores: false))
        #expect(try #require(h.deliver(route: 4)).n == 2)
        #expect(h.outcomes(ofKey: Self.channel).map(\.outcome) == ["superseded", "delivered"])
    }

    @Test func aRefusedExpirationSaysThatTheChannelKeepsNothing() throws {
        let h = Self.harness(.mostRecent)
        h.broadcast(n: 1)
        h.answer(try #require(h.take(route: 2)), Self.refusal(400, "BadExpirationDate"))
        // The broadcast leaves again after its state record, without the minimum distance, because nothing has reached
        // the channel.
        h.advance(1_000)
        let push = try #require(h.deliver(route: 2))
        #expect(push.n == 1 && push.expirationSeconds == 0)
    }

    // MARK: Pace

    @Test func broadcastsKeepTheirDistance() throws {
        let h = Self.harness()
        h.broadcast(n: 1)
        h.deliver(route: 2)
        h.broadcast(n: 2)
        h.advance(14_999)
        #expect(!h.hasReady(route: 2))
        h.broadcast(n: 3)
        h.advance(1)
        #expect(h.deliver(route: 2)?.n == 3)
        #expect(h.counters.pushesDowngraded == 0)
    }

    @Test(
        arguments: [(503, "ServiceUnavailable"), (403, "ExpiredProviderToken"), (400, "IdleTimeout")]
            as [(UInt16, String)])
    func aFaultThatIsNotTheChannelsCostsNoDistance(status: UInt16, reason: String) throws {
        let h = Self.harness()
        h.broadcast(n: 1)
        h.answer(try #require(h.take(route: 2)), Self.refusal(status, reason))
        h.advance(2_000)
        #expect(h.take(route: 2)?.n == 1)
    }

    /// Each 429 doubles the distance between broadcasts, up to sixteen times the setting. Every four accepted
    /// broadcasts halve it again.
    @Test func throttlingStretchesTheDistance() throws {
        let h = Self.harness { $0.channelMinimumDistanceMillis = 1_000 }
        func distance() -> Int64 {
            h.broadcast(n: 0)
            var waited: Int64 = 0
            while !h.hasReady(route: 2), waited < 100_000 {
                h.advance(500)
                waited += 500
            }
            return waited
        }
        _ = distance()
        h.answer(try #require(h.take(route: 2)), Self.refusal(429, "TooManyRequests"))
        #expect(distance() == 2_000)
        for _ in 0..<4 {
            h.deliver(route: 2)
            #expect(distance() == 2_000)
        }
        h.deliver(route: 2)
        #expect(distance() == 1_000)
        for doubled in [2_000, 4_000, 8_000, 16_000, 16_000] as [Int64] {
            h.answer(try #require(h.take(route: 2)), Self.refusal(429, "TooManyRequests"))
            // The wait before a retry grows, too, and may be longer than the distance.
            #expect(distance() >= doubled)
        }
    }

    @Test func theStretchedDistanceSurvivesARestart() throws {
        let h = Self.harness()
        h.broadcast(n: 1)
        h.answer(try #require(h.take(route: 2)), Self.refusal(429, "TooManyRequests"))
        h.advance(1_000)
        h.crash(afterMillis: 1_000)
        h.advance(27_900)
        #expect(!h.hasReady(route: 2))
        h.advance(2_100)
        #expect(h.hasReady(route: 2))
    }

    @Test func aBudgetHoldsOnlyWhereOneIsSet() throws {
        for limit in [0, 2] {
            let h = Self.harness {
                $0.channelMinimumDistanceMillis = 1_000
                $0.channelBudgetPerHour = limit
            }
            var sent: [Int] = []
            for n in 1...20 {
                h.broadcast(n: n)
                sent.append(try #require(h.deliver(route: 2)).priority)
                h.advance(1_000)
            }
            #expect(sent.count { $0 == 10 } == (limit == 0 ? 20 : limit))
        }
    }

    /// `state` has spent units of a channel, but the channel's budget has been removed from the settings. Broadcasts
    /// keep priority 10, whatever APNs answers to the first.
    @Test func aBudgetThatWasTakenAwayIsForgotten() throws {
        let before = Self.harness { $0.channelBudgetPerHour = 5 }
        before.broadcast(n: 1)
        before.deliver(route: 2)
        before.advance(2_000)
        let record = try #require(before.stateLog.last { $0.keyText.hasPrefix("c/") })
        for answer in [PushAnswer.Result.accepted, Self.refusal(503, "ServiceUnavailable"), .notProcessed] {
            let h = Self.harness()
            h.writeState(record)
            h.crash(replays: false)
            #expect(h.counters.channels == 1)
            h.advance(60_000)
            h.broadcast(n: 2)
            let push = try #require(h.take(route: 2))
            #expect(push.priority == 10)
            h.answer(push, answer)
            for n in 3...10 {
                h.advance(60_000)
                h.broadcast(n: n)
                #expect(h.deliver(route: 2)?.priority == 10)
            }
        }
    }

    // MARK: Channels that are gone

    @Test(arguments: ["ChannelNotRegistered", "BadChannelId"])
    func aChannelThatIsGoneEndsWhatWaits(reason: String) throws {
        let h = Self.harness { $0.channelMinimumDistanceMillis = 1_000 }
        // Other channels work, so this one is really gone.
        for number in 0..<8 {
            h.broadcast(n: number, channel: "b3RoZXI\(number)")
            h.deliver(route: 2)
        }
        h.broadcast(n: 1)
        let push = try #require(h.take(route: 2))
        h.broadcast(n: 2)
        h.answer(push, Self.refusal(400, reason))
        h.advance(0)
        let outcomes = h.outcomes(ofKey: Self.channel)
        #expect(outcomes.map(\.outcome) == ["rejected", "rejected"])
        #expect(outcomes.first?.reason == reason && outcomes.first?.status == 400)
        // The reason of an event that was never sent does not mention a token, because nobody registers a token for a
        // channel.
        #expect(outcomes.last?.reason == "APNs has said that the channel does not exist")
        h.advance(30_000)
        h.broadcast(n: 3)
        h.advance(0)
        #expect(!h.hasReady(route: 2), "ids are not used twice")
        #expect(h.outcomes(ofKey: Self.channel).last?.outcome == "rejected")
        h.crash()
        h.broadcast(n: 4)
        h.advance(0)
        #expect(!h.hasReady(route: 2) && h.outcomes(ofKey: Self.channel).last?.outcome == "rejected")
    }

    /// APNs may not know a new channel on all its servers at once. So a channel that APNs calls unknown is tried again
    /// after a minute.
    @Test func aChannelThatWasGoneIsTriedAgainAfterAMinute() throws {
        let h = Self.harness { $0.channelMinimumDistanceMillis = 1_000 }
        for number in 0..<8 {
            h.broadcast(n: number, channel: "b3RoZXI\(number)")
            h.deliver(route: 2)
        }
        h.broadcast(n: 1)
        h.answer(try #require(h.take(route: 2)), Self.refusal(400, "ChannelNotRegistered"))
        h.advance(60_000)
        h.broadcast(n: 2)
        #expect(h.deliver(route: 2)?.n == 2)
    }

    /// If APNs calls every channel unknown, our environment may be wrong. So the next event is still broadcast.
    @Test func aDoubtedRefusalIsTriedAgain() throws {
        let h = Self.harness()
        h.broadcast(n: 1)
        h.answer(try #require(h.take(route: 2)), Self.refusal(400, "ChannelNotRegistered"))
        #expect(h.outcomes(ofKey: Self.channel).last?.outcome == "rejected")
        h.advance(15_000)
        h.broadcast(n: 2)
        h.advance(0)
        #expect(h.take(route: 2)?.n == 2)
    }

    @Test func aRefusedBroadcastIsDeadLetteredSoThatItCanBePublishedAgain() throws {
        let h = Self.harness()
        h.broadcast(n: 1)
        h.answer(try #require(h.take(route: 2)), Self.refusal(400, "BadMessageId"))
        let letter = try #require(h.written.last { $0.topic == .deadLetters })
        #expect(letter.keyText == Self.channel)
        #expect(letter.valueText.contains("\"to\":{\"channel\":\"\(Self.channel)\",\"environment\":\"production\"}"))
        h.advance(15_000)
        h.consume(key: Self.channel, value: letter.valueText)
        h.advance(1_000)
        #expect(h.deliver(route: 2)?.n == 1)
    }

    // MARK: Lives of channels

    @Test func anEndIsTheLastUntilItIsForgotten() throws {
        let h = Self.harness { $0.retentionAfterEndMillis = 60_000 }
        h.broadcast(n: 1)
        h.consume(key: Self.channel, value: "{\"event\":\"end\",\"to\":{\"channel\":\"\(Self.channel)\"}}")
        let end = try #require(h.deliver(route: 2))
        #expect(end.event == "end" && end.n == 1, "an end brings along what it replaces")
        h.broadcast(n: 2)
        #expect(h.outcomes(ofKey: Self.channel).last?.outcome == "late")
        h.advance(61_000)
        #expect(h.counters.channels == 0 && h.counters.slots == 0)
        h.broadcast(n: 3)
        #expect(h.take(route: 2)?.n == 3)
    }

    @Test func pushesStillWaitingGoOnAfterARestart() throws {
        let h = Self.harness(.mostRecent)
        h.broadcast(n: 1, priority: 1)
        h.crash()
        h.advance(30_000)
        let push = try #require(h.deliver(route: 2))
        #expect(push.n == 1 && push.priority == 1 && push.kind == .broadcast)
    }
}

extension EngineHarness {
    @discardableResult
    func broadcast(
        n: Int, priority: Int? = 10, channel: String = ChannelTests.channel, environment: String? = nil,
        alert: String? = nil, padding: Int = 0, more: String...
    ) -> Int64 {
        let place = environment.map { #","environment":"\#($0)""# } ?? ""
        return self.consume(
            key: channel,
            value: Self.content(
                "update", n, at: nil, priority: priority, alert: alert, padding: padding,
                more: more + [#""to":{"channel":"\#(channel)"\#(place)}"#]))
    }

    /// Outcomes of a key, in order.
    func outcomes(ofKey key: String) -> [OutcomeRecord] {
        self.written.filter { $0.topic == .outcomes && $0.keyText == key }.map { OutcomeRecord($0) }
    }
}
