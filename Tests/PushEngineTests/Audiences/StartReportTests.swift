import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests what is reported of a start, in `start-pass` records and in its version's `audience` record.
@Suite struct StartReportTests {
    private static func numbers(_ record: OutcomeRecord?, _ names: [String]) -> [Int64?] {
        names.map { record?.number($0) }
    }
    private static func starts(_ h: EngineHarness) -> [String: Any]? {
        h.outcomes.last { $0.outcome == "audience" && $0.fields["starts"] != nil }?.fields["starts"] as? [String: Any]
    }
    private static let names = ["members", "accepted", "gone", "unknown", "left", "waiting", "returned"]

    @Test func itSaysWhatBecameOfEachMember() throws {
        let h = EngineHarness.starts()
        for member in 1...10 { h.joinStart(member) }
        h.join(20)
        h.audienceStart(1)
        var answers: [PushAnswer.Result] = [
            .response(PushResponse(status: 410, reason: "Unregistered")), .unknown(detail: "connection lost"),
        ]
        while let push = h.take() { h.answer(push, push.event == "start" ? answers.popLast() ?? .accepted : .accepted) }
        h.join(21)
        h.leave(20)
        h.joinStart(11)
        _ = h.deliverAll(withinMillis: 3_000)
        h.carryBus()
        let pass = try #require(h.outcomes.last { $0.outcome == "start-pass" })
        #expect(pass.key.hasPrefix("start-pass/com.example.pizza/match/") && pass.key.hasSuffix("/0"))
        h.advance(60_000)
        _ = h.deliverAll(withinMillis: 2_000)
        let last = h.outcomes.last { $0.outcome == "start-pass" }
        #expect(Self.numbers(last, Self.names) == [11, 9, 1, 1, 0, 0, 1])
        #expect(last?.key == pass.key, "a later one replaces it")
        #expect(h.counters.startTokensReturned == 1)
        h.advance(120_000)
        h.carryBus()
        let sum = try #require(Self.starts(h))
        #expect(sum["members"] as? Int == 11 && sum["accepted"] as? Int == 9 && sum["returned"] as? Int == 1)
        #expect(sum["partitions"] as? Int == 1)
    }

    /// The summary of a start is kept while the start goes round, however many versions follow.
    @Test(arguments: [1, 4, 5, 12]) func theSumOutlivesTheVersionsThatFollow(updates: Int) throws {
        let h = EngineHarness.starts()
        for member in 1...10 { h.joinStart(member) }
        h.join(20)
        h.audienceStart(1)
        var held: [Push] = []
        for n in 0..<updates {
            for _ in 1...40 {
                guard let push = h.take() else { break }
                if push.event == "start" { held.append(push) } else { h.answer(push, .accepted) }
            }
            h.audienceUpdate(n + 2)
            h.advance(1_500)
            h.carryBus()
        }
        #expect(held.count == 10)
        for push in held { h.answer(push, .accepted) }
        for _ in 1...4 {
            _ = h.deliverAll(withinMillis: 2_000)
            h.advance(60_000)
            h.carryBus()
        }
        let sum = try #require(Self.starts(h))
        #expect(sum["members"] as? Int == 10 && sum["accepted"] as? Int == 10 && sum["waiting"] as? Int == 0)
    }

    /// A record names only a few reasons, however many different ones APNs gives, even after a takeover.
    @Test func itNamesTheReasonsOfThoseNotStarted() throws {
        let h = EngineHarness.starts()
        for member in 1...30 { h.joinStart(member) }
        h.audienceStart(1)
        h.advance(500)
        for index in 1...12 {
            let push = try #require(h.take())
            let reason = index <= 10 ? "Reason\(index)" : "Unregistered"
            h.answer(push, .response(PushResponse(status: index <= 10 ? 400 : 410, reason: reason)))
        }
        h.advance(2_000)
        h.crash()
        h.carryBus()
        h.joinStart(31)
        h.advance(500)
        let push = try #require(h.take())
        h.answer(push, .response(PushResponse(status: 410, reason: "Unregistered")))
        for _ in 1...6 {
            h.advance(61_000)
            h.carryBus()
        }
        let pass = try #require(h.outcomes.last { $0.outcome == "start-pass" })
        let refused = try #require(pass.fields["refused"] as? [String: Int])
        #expect(refused.count == 8 && refused["Reason1"] == 1 && refused["other"] == 6)
        #expect(refused.values.reduce(0, +) == 13)
        let sum = try #require(Self.starts(h)?["refused"] as? [String: Int])
        #expect(sum == refused)
    }

    @Test func whatIsCalledOffIsTold() throws {
        let h = EngineHarness.starts()
        for member in 1...10 { h.joinStart(member) }
        h.audienceStart(1)
        for _ in 1...4 { h.deliver() }
        h.advance(1_000)
        h.audienceEnd(2)
        _ = h.deliverAll(withinMillis: 3_000)
        let pass = try #require(h.outcomes.last { $0.outcome == "start-pass" })
        #expect(Self.numbers(pass, ["members", "accepted", "superseded", "waiting"]) == [10, 4, 6, 0])
    }

    /// The record that is written when a start ends counts a push without an answer as waiting. Another record follows
    /// the answer within a second, because the worker may be gone a minute later.
    @Test(arguments: [false, true]) func anAnswerAfterTheEndIsTold(hasEndedBefore: Bool) throws {
        let h = EngineHarness.starts()
        for member in 1...3 { h.joinStart(member) }
        h.audienceStart(1)
        for _ in 1...(hasEndedBefore ? 3 : 2) { h.deliver() }
        h.advance(2_000)
        if hasEndedBefore { h.joinStart(4) }
        h.advance(2_000)
        let push = try #require(h.take())
        #expect(push.event == "start")
        h.audienceEnd(2)
        h.advance(300)
        let names = ["members", "accepted", "waiting"]
        let count: Int64 = hasEndedBefore ? 4 : 3
        func last() -> OutcomeRecord? { h.outcomes.last { $0.outcome == "start-pass" } }
        #expect(Self.numbers(last(), names) == [count, count - 1, 1])
        h.answer(push, .accepted)
        h.advance(1_000)
        h.carryBus()
        #expect(Self.numbers(last(), names) == [count, count, 0])
        h.advance(60_000)
        h.carryBus()
        #expect(Self.starts(h)?["accepted"] as? Int == Int(count))
    }

    @Test func aNewOwnerGoesOnCounting() throws {
        let h = EngineHarness.starts()
        for member in 1...10 { h.joinStart(member) }
        h.audienceStart(1)
        for _ in 1...4 { h.deliver() }
        h.advance(2_000)
        h.crash()
        h.carryBus()
        _ = h.deliverAll(withinMillis: 3_000)
        let pass = try #require(h.outcomes.last { $0.outcome == "start-pass" })
        let counts = Self.numbers(pass, ["members", "accepted", "unknown", "waiting"])
        #expect(counts == [10, 4, 6, 0])
    }

    @Test func whoWantsFailuresAloneIsToldNothing() {
        let h = EngineHarness.starts { $0.settings.outcomePublication = .failures }
        h.joinStart(1)
        h.audienceStart(1)
        _ = h.deliverAll(withinMillis: 3_000)
        #expect(!h.outcomes.contains { $0.outcome == "start-pass" })
    }
}
