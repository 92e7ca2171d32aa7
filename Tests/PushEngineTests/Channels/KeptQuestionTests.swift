import APNSProtocol
import ChannelKeeping
import PushModel
import Testing

@testable import PushEngine

/// Tests events that are sent straight to a channel that is kept for an audience. The channel's slot asks the keeper,
/// and the events are rejected. Keeper and slot are in one partition here, and still talk over the bus.
@Suite struct KeptQuestionTests {
    private static let kept = AudienceChannelTests.channel
    private static let own = ChannelTests.channel

    private static func harness(_ configure: (inout AppConfiguration) -> Void = { _ in }) -> EngineHarness {
        let (h, _) = AudienceChannelTests.harness {
            $0.channelStorage = .none
            configure(&$0)
        }
        return h
    }

    @Test func whatIsSentToAKeptChannelIsRejected() throws {
        let h = Self.harness()
        let first = h.broadcast(n: 7, channel: Self.kept)
        let second = h.broadcast(n: 8, channel: Self.kept)
        #expect(!h.hasReady(route: 2), "nothing leaves before the answer")
        h.carryBus()
        h.advance(1_000)
        #expect(h.take(route: 2) == nil && !h.hasReady(route: 2))
        #expect(h.outcomes(of: first) == ["superseded"])
        let outcome = try #require(h.outcome(of: second))
        #expect(outcome.outcome == "rejected" && outcome.key == Self.kept)
        #expect(
            outcome.reason
                == #"to.channel names the channel that is kept for audience "match": expected "to": {"audience": "match"}"#
        )
        #expect(h.counters.channelKeeperQuestions == 1)
        // Later events cause no further question, even after a long time.
        for _ in 0..<3 {
            h.advance(ShardEngine.goneMillis)
            let later = h.consume(
                key: Self.kept, value: #"{"event":"end","to":{"channel":"\#(Self.kept)"}}"#)
            h.advance(1_000)
            #expect(h.outcomes(of: later) == ["rejected"])
        }
        #expect(h.counters.channelKeeperQuestions == 1 && h.counters.pending == 0 && h.isCommitted())
    }

    /// The audience can still broadcast on its channel.
    @Test func theAudienceKeepsItsChannel() throws {
        let h = Self.harness()
        h.broadcast(n: 7, channel: Self.kept)
        h.carryBus()
        h.join(2, channel: Self.kept)
        h.deliverAll()
        h.advance(15_000)
        h.audienceUpdate(2)
        h.deliverAll()
        let push = try #require(h.deliver(route: 2))
        #expect(push.token == Self.kept && push.n == 2)
    }

    /// The keeper answers that a channel that it knows is kept, unless the channel's phase is `possiblyOurs`.
    @Test(arguments: KeptChannel.Phase.allCases)
    func theKeeperAnswersByWhatStateSays(phase: KeptChannel.Phase) throws {
        let h = KeeperHostTests.harness { $0.channelStorage = .none }
        let key = KeptChannelKey(bundleID: "com.example.pizza", environment: .production, number: 3)
        var channel = KeptChannel(
            owner: KeptOwner(audience: Array("match".utf8), life: 5), policy: .none, phase: phase, sinceMillis: 1)
        channel.id = Array(Self.own.utf8)
        let partition = try #require(h.engine.core.memory.partitions.index(of: 0))
        h.engine.keeperHost.kept[key, partition] = channel
        let offset = h.broadcast(n: 1, channel: Self.own)
        h.carryBus()
        h.advance(100)
        let isKept = phase != .possiblyOurs
        #expect(h.outcomes(of: offset) == (isKept ? ["rejected"] : []))
        #expect(h.hasReady(route: 2) == !isKept)
        h.engine.keeperHost.kept[key, partition] = nil
        #expect(
            h.engine.keeperHost.kept.channel(
                id: channel.id, of: partition, bundleID: "com.example.pizza", environment: .production) == nil)
    }

    @Test func aWarmChannelIsKeptForNobodyYet() throws {
        let h = KeeperHostTests.harness {
            $0.channelsWarm = 1
            $0.channelStorage = .none
        }
        var apple = SimpleApple()
        apple.serve(h)
        #expect(apple.channels == [Self.kept])
        let offset = h.broadcast(n: 1, channel: Self.kept)
        h.carryBus()
        h.advance(100)
        #expect(try #require(h.outcome(of: offset)).outcome == "rejected")
        #expect(h.outcome(of: offset)?.reason?.hasSuffix("expected to.audience") == true)
    }

    @Test func whatIsNotKeptIsSentAndAskedForOnce() throws {
        let h = Self.harness()
        h.broadcast(n: 1, channel: Self.own)
        h.carryBus()
        #expect(h.deliver(route: 2)?.n == 1)
        h.advance(15_000)
        h.broadcast(n: 2, channel: Self.own)
        #expect(h.deliver(route: 2)?.n == 2)
        h.advance(1_000)
        #expect(h.isCommitted())
        let last = try #require(h.stateLog.last { $0.keyText.hasPrefix("c/") })
        var reader = StateReader(last.value.span)
        _ = try StateCodec.readKind(&reader)
        let read = try SlotRecord.Whole(&reader, kind: .channel, topicHashes: [1], now: h.now)
        #expect(read.channel?.isUnkept == true && !read.slot.awaitsTokenOfStart)
        h.crash()
        h.advance(15_000)
        h.broadcast(n: 3, channel: Self.own)
        #expect(h.deliver(route: 2)?.n == 3, "state remembers")
        #expect(h.counters.channelKeeperQuestions == 0, "the new owner has not asked")
    }

    /// An older record does not say whether its channel is kept, because the record's writer did not ask. So the next
    /// owner asks.
    @Test func anOlderRecordAsksAgain() throws {
        let former = ChannelTests.harness()
        former.broadcast(n: 1, channel: Self.own)
        former.deliver(route: 2)
        former.advance(1_000)
        let h = Self.harness()
        let record = try #require(former.stateLog.last { $0.keyText.hasPrefix("c/") })
        h.writeState(record)
        h.crash(replays: false)
        #expect(h.counters.channels == 1)
        h.advance(15_000)
        h.broadcast(n: 2, channel: Self.own)
        h.advance(1)
        #expect(!h.hasReady(route: 2) && h.counters.channelKeeperQuestions == 1)
        h.carryBus()
        #expect(h.deliver(route: 2)?.n == 2)
    }

    /// A question to the keeper is lost. It is asked again about once a minute, and the event waits.
    @Test func aLostQuestionIsAskedAgain() throws {
        let h = Self.harness()
        let offset = h.broadcast(n: 1, channel: Self.own)
        h.advance(3_600_000)
        let asked = h.counters.channelKeeperQuestions
        #expect((60...130).contains(asked), "about once a minute: \(asked)")
        #expect(h.outcomes(of: offset).isEmpty && h.counters.pending == 1)
        #expect(h.isCommitted(), "what waits lies in state")
        h.carryBus()
        #expect(h.deliver(route: 2)?.n == 1)
        h.advance(120_000)
        #expect(h.counters.channelKeeperQuestions == asked)
    }

    @Test func whatExpiresMeanwhileIsExpired() {
        let h = Self.harness()
        let offset = h.broadcast(n: 1, channel: Self.own, more: "\"expires\":\(h.wallSeconds + 60)")
        h.advance(61_000)
        #expect(h.outcomes(of: offset) == ["expired"])
        h.carryBus()
        #expect(!h.hasReady(route: 2))
    }

    /// The owner dies before the keeper's answer. The next owner asks again, and rejects the event because the channel
    /// is kept. The outcome is not `unknown`, because an owner sends nothing before the answer.
    @Test(arguments: [false, true]) func aNewOwnerAsks(isDurable: Bool) {
        let h = Self.harness()
        let offset = h.broadcast(n: 1, channel: Self.kept)
        if isDurable { h.advance(2_000) }
        #expect(h.outcomes(of: offset).isEmpty)
        h.crash()
        h.advance(1_000)
        h.carryBus()
        h.advance(1_000)
        #expect(h.outcomes(of: offset) == ["rejected"])
        #expect(h.take(route: 2) == nil && h.counters.pending == 0)
    }

    @Test func nobodyIsAskedWhereNoChannelIsKept() {
        let h = ChannelTests.harness()
        h.broadcast(n: 1)
        #expect(h.deliver(route: 2)?.n == 1)
        #expect(h.counters.channelKeeperQuestions == 0)
        #expect(!h.written.contains { $0.topic == .routed })
    }

    /// After the keeper's answer the slot asks APNs what the channel stores, as for any other channel.
    @Test func theStorageIsAskedForAfterwards() throws {
        let h = Self.harness { $0.channelStorage = .ask }
        h.broadcast(n: 1, channel: Self.own)
        #expect(h.take(route: 3) == nil)
        h.carryBus()
        let question = try #require(h.take(route: 3))
        #expect(question.kind == .readChannel)
        h.answer(question, ChannelTests.settings(stores: false))
        #expect(h.deliver(route: 2)?.n == 1)
    }

    /// A channel with the same id in the other environment is another channel.
    @Test func anotherEnvironmentIsAskedForAnew() {
        let h = Self.harness {
            $0.developmentRoute = 1
            $0.developmentBroadcastRoute = 4
        }
        h.broadcast(n: 1, channel: Self.own)
        h.carryBus()
        h.deliver(route: 2)
        h.advance(15_000)
        h.broadcast(n: 2, channel: Self.own, environment: "development")
        #expect(!h.hasReady(route: 4))
        h.carryBus()
        #expect(h.deliver(route: 4)?.n == 2 && h.counters.channelKeeperQuestions == 2)
    }

    // MARK: Answers

    private static func answer(isKept: Bool, environment: PushEnvironment = .production) -> [UInt8] {
        let answer = BusRecord.KeptAnswer(
            bundleID: Array("com.example.pizza".utf8), environment: environment, isKept: isKept)
        var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
        bytes.append(using: &scratch) { answer.write(to: &$0) }
        return bytes
    }

    /// An answer of the keeper changes nothing if nobody waits for it, if it comes twice, or if it is about another
    /// environment.
    @Test func answersThatNobodyWaitsForChangeNothing() {
        let h = Self.harness()
        func tell(_ value: [UInt8]) {
            h.consume(keyBytes: Array(Self.own.utf8), valueBytes: value, topic: 1, kind: .keptAnswer)
        }
        tell(Self.answer(isKept: true))
        #expect(h.counters.channels == 0 && h.isCommitted(topic: 1))
        h.broadcast(n: 1, channel: Self.own)
        tell(Self.answer(isKept: true, environment: .development))
        tell(Self.answer(isKept: false, environment: .development))
        h.advance(100)
        #expect(!h.hasReady(route: 2) && h.counters.pending == 1)
        tell(Self.answer(isKept: false))
        tell(Self.answer(isKept: false))
        tell(Self.answer(isKept: true))
        #expect(h.deliver(route: 2)?.n == 1)
    }

    /// Only the keeper's partition answers a question, and only if the asking partition exists.
    @Test func questionsThatGoAstrayAreNotAnswered() {
        let h = EngineHarness {
            $0.partitionCount = 64
            $0.apps[0].audienceChannel = .auto
        }
        func ask(_ bundleID: String, partition: Int32) {
            let question = BusRecord.KeptQuestion(
                bundleID: Array(bundleID.utf8), environment: .production, partition: partition)
            var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
            bytes.append(using: &scratch) {
                question.write(to: &$0)
            }
            h.consume(keyBytes: Array(Self.own.utf8), valueBytes: bytes, topic: 1, kind: .keptQuestion)
        }
        func isHome(_ bundleID: String) -> Bool {
            KeptChannelKey.keeperPartition(bundleID: bundleID, environment: .production, partitionCount: 64) == 0
        }
        let names = (0..<1_000).map { "com.example.app\($0)" }
        ask(names.first { !isHome($0) }!, partition: 5)
        ask(names.first(where: isHome)!, partition: 64)
        #expect(!h.written.contains { $0.topic == .routed } && h.isCommitted(topic: 1))
        ask(names.first(where: isHome)!, partition: 5)
        let answers = h.written.filter { $0.headers[RecordHeader.kind.text] == "kept-answer" }
        #expect(answers.map(\.partition) == [5] && h.isCommitted(topic: 1))
    }

    // MARK: Limits

    /// While `pendingMax` slots are pending, no records are read. Channels that wait for the keeper do not count,
    /// because the keeper's answer must be read.
    @Test func whatWaitsForTheKeeperHoldsNoReadingUp() {
        let h = EngineHarness {
            $0.partitionCount = 1
            $0.settings.pendingMax = 2
            $0.settings.channelsAskingMax = 3
            $0.apps[0].pendingShare = 0.9
            $0.apps[0].channelStorage = .none
            $0.apps[0].productionBroadcastRoute = 2
            $0.apps[0].productionManageRoute = 3
            $0.apps[0].audienceChannel = .auto
        }
        let ids = (0..<4).map { String(decoding: Base64ID.of("made-up-\($0)"), as: UTF8.self) }
        let offsets = ids.map { h.broadcast(n: 1, channel: $0) }
        #expect(h.wantsRecords && h.counters.slotsPending == 3)
        #expect(h.outcomes(of: offsets[3]) == ["dead-lettered"])
        #expect(h.written.last { $0.topic == .deadLetters }?.headers["mailboat-field"] == "to.channel")
        h.broadcast(n: 2, channel: ids[0])
        #expect(h.counters.pending == 3, "one that waits already takes what is newer")
        h.carryBus()
        #expect(!h.wantsRecords, "now they are pending like any other")
        for _ in 0..<3 { h.deliver(route: 2) }
        #expect(h.wantsRecords && h.counters.slotsPending == 0)
        h.broadcast(n: 1, channel: ids[3])
        h.carryBus()
        #expect(h.deliver(route: 2)?.n == 1)
    }
}
