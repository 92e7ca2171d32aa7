import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests that an app rests while APNs refuses its topic, and that the other apps of its route still send.
@Suite struct LaneGateTests {
    private static let disallowed = PushAnswer.Result.response(PushResponse(status: 400, reason: "TopicDisallowed"))

    private static func harness() -> EngineHarness {
        EngineHarness {
            var other = AppConfiguration(bundleID: "com.example.other")
            other.productionRoute = 0
            $0.apps.append(other)
        }
    }

    private static func feed(_ h: EngineHarness, _ app: String, _ number: Int, n: Int) {
        let app = #""app":"\#(app)""#
        if n == 1 { h.consume(key: "\(number)", value: #"{"event":"register","token":"aa\#(10 + number)",\#(app)}"#) }
        h.consume(
            key: "\(number)", value: #"{"event":"update","content-state":{"n":\#(n)},"priority":10,\#(app)}"#)
    }

    @Test func anAppWithAWrongTopicRestsAloneAndComesBack() {
        let h = Self.harness()
        for number in 1...5 { Self.feed(h, "com.example.other", number, n: 1) }
        for _ in 0..<3 { h.answer(h.take()!, Self.disallowed) }
        #expect(!h.hasReady(), "three refusals in a row: the app rests")
        #expect(h.counters.appsRefused == 1)
        #expect(h.counters.appsHeldBack == 1)
        #expect(h.engine.appsHeldBack.map(\.app) == [1])
        Self.feed(h, "com.example.pizza", 9, n: 1)
        #expect(h.deliver()?.app == 0, "the other app's push leaves at once")
        #expect(!h.hasReady())
        // The rest ends. One probe leaves, and nothing else until it is answered.
        h.advance(30_000)
        let probe = h.take()
        #expect(probe?.app == 1)
        #expect(!h.hasReady())
        h.answer(probe!, Self.disallowed)
        #expect(!h.hasReady())
        h.advance(60_000)
        h.answer(h.take()!, .accepted)
        #expect(h.counters.appsHeldBack == 0)
        h.advance(60_000)
        var count = 0
        while let push = h.take() {
            h.answer(push, .accepted)
            count += 1
        }
        #expect(count == 4)
    }

    @Test func aLostProbeIsFollowedByAnother() {
        let h = Self.harness()
        for number in 1...5 { Self.feed(h, "com.example.other", number, n: 1) }
        for _ in 0..<3 { h.answer(h.take()!, Self.disallowed) }
        h.advance(30_000)
        h.answer(h.take()!, .unknown(detail: "connection lost"))
        #expect(h.take() != nil, "it said nothing about the topic")
        #expect(!h.hasReady())
        h.advance(LaneGate.probeMillis)
        #expect(h.hasReady(), "no answer for a minute")
    }

    @Test func refusalsBetweenAcceptedPushesCloseNothing() {
        let h = Self.harness()
        for number in 1...9 { Self.feed(h, "com.example.other", number, n: 1) }
        for number in 1...9 {
            h.answer(h.take()!, number.isMultiple(of: 3) ? .accepted : Self.disallowed)
        }
        #expect(h.counters.appsHeldBack == 0)
    }

    private static func at(_ millis: Int64) -> EngineTime { EngineTime(steadyMillis: millis, wallMillis: millis) }

    enum Event: CaseIterable { case left, refused, accepted, answeredOtherwise, advanceEarly, advanceLate }
    enum State: CaseIterable { case flowing, doubted, resting, probing, probeOut }

    private static func gate(_ state: State, _ random: inout SplitMix64) -> LaneGate {
        var gate = LaneGate()
        if state == .flowing { return gate }
        _ = gate.refused(now: Self.at(0), using: &random)
        if state == .doubted { return gate }
        for _ in 0..<2 { _ = gate.refused(now: Self.at(0), using: &random) }
        if state == .resting { return gate }
        _ = gate.advance(now: Self.at(30_000))
        if state == .probeOut { gate.left(now: Self.at(30_000)) }
        return gate
    }

    /// Whether the gate is closed after each event, for each state before it: flowing, doubted, resting, probing,
    /// probe out.
    static let table: [(Event, [Bool])] = [
        (.left, [false, false, true, true, true]),
        (.refused, [false, false, true, true, true]),
        (.accepted, [false, false, true, false, false]),
        (.answeredOtherwise, [false, false, true, false, false]),
        (.advanceEarly, [false, false, true, false, true]),
        (.advanceLate, [false, false, false, false, false]),
    ]

    @Test func eachEventInEachState() {
        #expect(Set(Self.table.map(\.0)).count == Event.allCases.count)
        for (event, expected) in Self.table {
            #expect(expected.count == State.allCases.count)
            for (state, isClosed) in zip(State.allCases, expected) {
                var random = SplitMix64(seed: 1)
                var gate = Self.gate(state, &random)
                switch event {
                case .left: gate.left(now: Self.at(30_000))
                case .refused: _ = gate.refused(now: Self.at(30_000), using: &random)
                case .accepted: gate.accepted()
                case .answeredOtherwise: gate.answeredOtherwise()
                case .advanceEarly: _ = gate.advance(now: Self.at(10_000))
                case .advanceLate: _ = gate.advance(now: Self.at(400_000))
                }
                #expect(gate.isClosed == isClosed, "\(event) while \(state)")
            }
        }
    }
}
