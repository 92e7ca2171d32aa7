import APNSProtocol
import PushEngine
import PushModel
import Testing

/// The choice of published outcomes must not change what is pushed or counted. If no outcome of a replaced event is
/// published, replacing takes a shorter path through the code.
@Suite struct PublicationTests {
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func whatIsPublishedChangesNothingElse(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let all = EngineHarness { $0.settings.outcomePublication = .all }
        let few = EngineHarness { $0.settings.outcomePublication = .pushes }
        for activity in 0..<3 {
            for h in [all, few] {
                h.consume(key: "order-\(activity)", value: #"{"event":"register","token":"a\#(activity)"}"#)
            }
        }
        var seconds = all.wallSeconds
        for n in 0..<120 {
            let activity = random.below(3)
            seconds += Int64(random.below(3)) - (random.below(8) == 0 ? 5 : 0)
            var fields = [
                #""timestamp":\#(min(seconds, all.wallSeconds + 100))"#,
                #""priority":\#(random.below(2) == 0 ? 5 : 10)"#,
            ]
            let isEnd = random.below(30) == 0
            if !isEnd || random.below(2) == 0 {
                let filler = random.below(6) == 0 ? String(repeating: "x", count: 2_000) : ""
                fields.append(#""content-state":{"n":\#(n),"f":"\#(filler)"}"#)
            }
            if random.below(5) == 0 {
                let filler = random.below(3) == 0 ? String(repeating: "y", count: 1_900) : ""
                fields.append(#""alert":{"title":"t\#(n)","body":"\#(filler)"}"#)
            }
            if random.below(4) == 0 { fields.append(#""expires":\#(all.wallSeconds + Int64(1 + random.below(20)))"#) }
            if random.below(6) == 0 { fields.append(#""relevance-score":\#(n)"#) }
            let value = "{\"event\":\"\(isEnd ? "end" : "update")\",\(fields.joined(separator: ","))}"
            for h in [all, few] { h.consume(key: "order-\(activity)", value: value) }
            let pass = Int64([0, 5, 300, 1_500][random.below(4)])
            let answers = random.below(3)
            let result: PushAnswer.Result = random.below(4) == 0 ? .notProcessed : .accepted
            for h in [all, few] { h.advance(pass) }
            for _ in 0..<answers { Self.push(all, few, result: result, seed: seed) }
        }
        for _ in 0..<60 {
            for h in [all, few] { h.advance(2_000) }
            Self.push(all, few, result: .accepted, seed: seed)
        }
        #expect(all.counters.outcomes == few.counters.outcomes, "seed \(seed)")
        #expect(
            all.counters.pushesAccepted == few.counters.pushesAccepted && all.counters.pending == few.counters.pending)
        #expect(all.counters.count(.superseded) > 0)
    }

    private static func push(_ all: EngineHarness, _ few: EngineHarness, result: PushAnswer.Result, seed: UInt64) {
        let (first, second) = (all.take(), few.take())
        #expect(first?.token == second?.token, "seed \(seed)")
        #expect(first?.body == second?.body, "seed \(seed)")
        #expect(first?.priority == second?.priority, "seed \(seed)")
        if let first { all.answer(first, result) }
        if let second { few.answer(second, result) }
    }

    private struct SplitMix {
        private var random: SplitMix64
        init(seed: UInt64) { self.random = SplitMix64(seed: seed) }
        mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self.random) }
    }
}
