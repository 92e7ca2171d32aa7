import APNSProtocol
import ChannelKeeping
import PushModel
import Testing

@testable import PushEngine

/// Tests a keeper inside an engine, from an owner's wish for a channel to the last beacon. A beacon is a repeated
/// broadcast of an audience's end.
@Suite struct KeeperHostTests {
    /// A harness with one app and one partition. Requests about channels leave by route 3, broadcasts by route 2.
    static func harness(_ configure: (inout AppConfiguration) -> Void = { _ in }) -> EngineHarness {
        EngineHarness {
            $0.partitionCount = 1
            $0.apps[0].developmentRoute = nil
            $0.apps[0].productionBroadcastRoute = 2
            $0.apps[0].productionManageRoute = 3
            $0.apps[0].audienceChannel = .auto
            configure(&$0.apps[0])
        }
    }

    @Test func aWishBecomesAChannel() throws {
        let h = Self.harness()
        var apple = SimpleApple()
        h.wish(.open(.none))
        #expect(!h.isCommitted(topic: 1) || h.keptPhase() == .wanted, "the wish is durable before its offset is done")
        apple.serve(h)
        #expect(apple.asked == [.listChannels, .createChannel])
        #expect(h.keptPhase() == .open)
        #expect(h.isCommitted(topic: 1))
        let opened = try #require(h.outcomes.first { $0.outcome == "channel-opened" })
        #expect(
            opened.fields["audience"] as? String == "match" && opened.fields["channel"] as? String == "Y2hhbm5lbC0x")
        #expect(opened.fields["environment"] as? String == "production" && opened.number("life") == 5)
        #expect(opened.key == "channel/com.example.pizza/match/5/production")
        #expect(h.newsTold() == [.opened(id: Array("Y2hhbm5lbC0x".utf8))])
        #expect(h.counters.channelsCreated == 1 && h.counters.channelsKeptOpen == 1 && h.counters.channelKeepers == 1)
    }

    @Test func nothingIsKeptWhereNoChannelIsWanted() {
        let h = Self.harness { $0.audienceChannel = .none }
        h.advance(3_600_000)
        #expect(!h.hasReady(route: 3) && h.counters.channelKeepers == 0)
    }

    @Test func theIntentIsDurableBeforeTheRequestLeaves() throws {
        let h = Self.harness()
        h.wish(.open(.none))
        let list = try #require(h.take(route: 3))
        h.acknowledgesAtOnce = false
        h.answer(list, .channel(ChannelAnswer(status: 200, channelID: [], body: Array("{\"channels\":[]}".utf8))))
        #expect(h.take(route: 3) == nil)
        h.acknowledgeAll()
        #expect(h.take(route: 3)?.kind == .createChannel)
    }

    @Test func theIdIsDurableBeforeAnybodyIsTold() throws {
        let h = Self.harness()
        var apple = SimpleApple()
        h.wish(.open(.none))
        apple.serve(h, count: 1)
        let create = try #require(h.take(route: 3))
        h.acknowledgesAtOnce = false
        h.answer(create, apple.answer(create))
        #expect(h.newsTold().isEmpty && !h.outcomes.contains { $0.outcome == "channel-opened" })
        h.acknowledgeAll()
        #expect(h.newsTold().count == 1)
    }

    /// APNs has made a channel, but APNs' answer is lost. The next owner finds the channel in APNs' list. The owner
    /// adopts the channel if the app's channels are exclusive; otherwise the owner reports that channel and creates
    /// another.
    @Test(arguments: [false, true]) func aNewOwnerFindsWhatALostAnswerMade(isExclusive: Bool) throws {
        let h = Self.harness { $0.channelsExclusive = isExclusive }
        var apple = SimpleApple()
        h.wish(.open(.none))
        apple.serve(h, count: 1)
        let create = try #require(h.take(route: 3))
        _ = apple.answer(create)
        h.crash()
        #expect(!h.hasReady(route: 3), "the creation may be on its way still")
        h.advance(90_000)
        apple.serve(h)
        #expect(
            h.counters.channelsAdopted == (isExclusive ? 1 : 0) && h.counters.channelsShown == (isExclusive ? 0 : 1))
        #expect(apple.channels.count == (isExclusive ? 1 : 2))
        #expect(h.outcomes.contains { $0.outcome == "channel-opened" })
        let notices = h.actionsSoFar().compactMap {
            if case .warnOfKeeper(let notice) = $0 { notice.alarm } else { nil }
        }
        #expect(
            notices.contains {
                if case .possiblyOurs(Array("Y2hhbm5lbC0x".utf8), _) = $0 { true } else { false }
            } != isExclusive)
    }

    @Test func aPartitionThatLeavesWaitsForTheAnswerOfACreation() throws {
        let h = Self.harness()
        var apple = SimpleApple()
        h.wish(.open(.none))
        apple.serve(h, count: 1)
        let create = try #require(h.take(route: 3))
        h.engine.beginRelease(partition: 0, now: h.now)
        #expect(!h.isQuiet)
        h.answer(create, apple.answer(create))
        #expect(h.isQuiet)
        h.engine.finishRelease(partition: 0, now: h.now)
        h.step()
        #expect(h.isReleased && h.keptPhase() == .open)
        h.engine.forget(partition: 0)
        #expect(h.counters.channelKeepers == 0 && h.counters.channelsKeptOpen == 0 && h.counters.inFlight == 0)
        // The next owner reports that the channel is open.
        h.assignAgain()
        #expect(h.newsTold().count == 1)
    }

    @Test func anAnswerForALostPartitionChangesNothing() throws {
        let h = Self.harness()
        var apple = SimpleApple()
        h.wish(.open(.none))
        apple.serve(h, count: 1)
        let create = try #require(h.take(route: 3))
        h.engine.forget(partition: 0)
        h.answer(create, apple.answer(create))
        #expect(h.counters.channelsCreated == 0 && h.counters.inFlight == 0)
    }

    @Test func aRequestThatFindsNoConnectionIsGivenUp() {
        let h = Self.harness()
        h.wish(.open(.none))
        #expect(h.hasReady(route: 3))
        h.advance(ChannelErrands.waitMillisMax)
        #expect(!h.hasReady(route: 3))
        h.advance(5_000)
        #expect(h.hasReady(route: 3), "the list is asked for again")
    }

    @Test func anEndIsBroadcastAgainAndItsChannelDeleted() throws {
        let h = Self.harness { $0.channelLingerMillis = 3 * 3_600_000 }
        var apple = SimpleApple()
        h.wish(.open(.none))
        apple.serve(h)
        let end = #"{"aps":{"event":"end","timestamp":1700000100}}"#
        h.wish(.ended(content: Array(end.utf8)))
        #expect(h.isCommitted(topic: 1) && h.keptPhase() == .ended)
        h.advance(60_000)
        let beacon = try #require(h.deliver(route: 2))
        #expect(beacon.kind == .broadcast && beacon.token == "Y2hhbm5lbC0x" && beacon.body == end)
        #expect(beacon.expirationSeconds == 0 && beacon.priority == 5)
        for minute in 1...230 {
            h.advance(60_000)
            while h.hasReady(route: 2) { h.deliver(route: 2) }
            apple.serve(h)
            if minute == 120 { #expect(apple.channels.count == 1, "it lingers") }
        }
        #expect(apple.channels.isEmpty && h.counters.channelBeacons == 6)
        #expect(h.outcomes.last { $0.outcome == "channel-closed" }?.reason == "ended")
        #expect(h.newsTold().last == .closed(id: Array("Y2hhbm5lbC0x".utf8)))
        #expect(h.keptPhase() == nil, "nothing is left in state")
    }

    @Test func aBeaconForAChannelThatIsGoneEndsIt() throws {
        let h = Self.harness()
        var apple = SimpleApple()
        h.wish(.open(.none))
        apple.serve(h)
        h.wish(.ended(content: Array("{}".utf8)))
        h.advance(60_000)
        let beacon = try #require(h.take(route: 2))
        h.answer(beacon, .response(PushResponse(status: 400, reason: "ChannelNotRegistered")))
        #expect(h.counters.channelsVanished == 1 && h.keptPhase() == .deleted)
    }

    @Test func whoIsRefusedIsToldWhy() throws {
        let h = Self.harness()
        h.wish(.open(.none))
        let list = try #require(h.take(route: 3))
        h.answer(list, .response(PushResponse(status: 403, reason: "FeatureNotEnabled")))
        let refused = try #require(h.outcomes.first { $0.outcome == "channel-refused" })
        #expect(refused.reason?.contains("FeatureNotEnabled") ?? false)
        #expect(h.counters.channelWishesRefused == 1 && h.counters.channelAlarms == 1)
        #expect(h.isCommitted(topic: 1))
    }

    /// A worker that had lost the partition wrote over a keeper's record. The owner writes the record again.
    @Test func whatAStrangerWroteOverARecordIsMended() throws {
        let h = Self.harness()
        var apple = SimpleApple()
        h.wish(.open(.none))
        apple.serve(h)
        let own = try #require(h.stateLog.last { $0.keyText.hasPrefix("k/") })
        var foreign = own
        foreign.isNull = true
        h.writeState(foreign)
        h.wish(.open(.none), life: 5, audience: "other")
        let gap = try #require(h.takeStateGap())
        for offset in gap.offsets {
            let (key, value) = (h.stateLog[Int(offset)].key, h.stateLog[Int(offset)].value)
            #expect(
                h.engine.repair(partition: 0, key: key.span, value: value.span, offset: offset, now: h.now)
                    == .overwritten)
        }
        h.engine.stateGapRepaired(partition: 0, now: h.now)
        h.step()
        #expect(h.stateLog.last { $0.keyText == own.keyText }?.value == own.value)
    }
}

/// A stand-in for Apple's channel service. It answers at once, and refuses only to delete a channel that it does not
/// have.
struct SimpleApple {
    var channels: [String] = []
    var asked: [RequestKind] = []
    private var made = 0
    private static let ids = (1...9).map { String(decoding: Base64ID.of("channel-\($0)"), as: UTF8.self) }

    /// Answers the requests on the management route, at most `count` of them.
    mutating func serve(_ h: EngineHarness, count: Int = 100) {
        for _ in 0..<count {
            guard let request = h.take(route: 3) else { return }
            h.answer(request, self.answer(request))
        }
    }
    mutating func answer(_ request: Push) -> PushAnswer.Result {
        self.asked.append(request.kind)
        switch request.kind {
        case .listChannels:
            let body = "{\"channels\":[\(self.channels.map { "\"\($0)\"" }.joined(separator: ","))]}"
            return .channel(ChannelAnswer(status: 200, channelID: [], body: Array(body.utf8)))
        case .createChannel:
            let id = Self.ids[self.made]
            self.made += 1
            self.channels.append(id)
            return .channel(ChannelAnswer(status: 201, channelID: Array(id.utf8), body: []))
        case .deleteChannel:
            guard self.channels.contains(request.token) else {
                return .response(PushResponse(status: 400, reason: "ChannelNotRegistered"))
            }
            self.channels.removeAll { $0 == request.token }
            return .channel(ChannelAnswer(status: 204, channelID: [], body: []))
        case .device, .broadcast, .readChannel: return .unknown(detail: "not asked here")
        }
    }
}

enum Base64ID {
    static func of(_ text: String) -> [UInt8] {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var result: [UInt8] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var number = group.reduce(0) { $0 << 8 | Int($1) }
            number <<= 8 * (3 - group.count)
            for index in 0..<4 {
                result.append(index <= group.count ? digits[number >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
            }
        }
        return result
    }
}

extension EngineHarness {
    /// Consumes an owner's wish.
    func wish(_ demand: BusRecord.ChannelWish.Demand, life: Int64 = 5, audience: String = "match") {
        let wish = BusRecord.ChannelWish(
            bundleID: Array("com.example.pizza".utf8), environment: .production, life: life, demand: demand)
        var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
        bytes.append(using: &scratch) { wish.write(to: &$0) }
        self.consume(keyBytes: Array(audience.utf8), valueBytes: bytes, topic: 1, kind: .channelWish)
    }
    /// Phase in the newest record of a kept channel; `nil` if there is no record or the newest is a tombstone.
    func keptPhase() -> KeptChannel.Phase? {
        guard let record = self.stateLog.last(where: { $0.keyText.hasPrefix("k/") }), !record.isNull else { return nil }
        var reader = StateReader(record.value.span)
        _ = try? StateCodec.readKind(&reader)
        return try? KeptChannelCodec.read(&reader).channel.phase
    }
    /// News that the keeper has sent to owners over the bus, in order.
    func newsTold() -> [KeeperNews] {
        self.written.filter { $0.headers[RecordHeader.kind.text] == "channel-news" }.compactMap {
            try? BusRecord.ChannelNews($0.value.span).news
        }
    }
}
