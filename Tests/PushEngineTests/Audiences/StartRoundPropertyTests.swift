import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Compares start members with a plain loop, in random orders of events. Nobody gets two cards of one start. Each
/// member that stays gets one, unless a worker has died.
@Suite struct StartRoundPropertyTests {
    /// What the test knows: who is a member, which start is the current one, and who was sent it.
    private struct Model {
        var members: Set<Int> = []
        var start = 0
        /// Members whose push left and was not refused, by start.
        var sent: [Int: Set<Int>] = [:]
        var isEnded = true
        /// Members that may be left without a card, because a worker died.
        var excused: Set<Int> = []
    }

    @Test(arguments: Array(UInt64(1)...60) + [512, 776, 916]) func nobodyGetsTwoAndAllGetOne(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let h = EngineHarness.starts {
            $0.apps[0].startsPerHour = 16
            if seed % 4 == 0 { $0.apps[0].audienceSpreadMillis = 10_000 }
        }
        var model = Model()
        let crashes = seed % 3 != 0
        for _ in 0..<120 {
            self.step(h, &model, &random, crashes: crashes)
        }
        h.acknowledgesAtOnce = true
        h.acknowledgeAll()
        for _ in 0..<60 {
            h.advance(1_000)
            h.carryBus()
            while let push = h.take() { self.take(push, h, &model, .accepted) }
        }
        guard !model.isEnded else { return }
        let missing = model.members.subtracting(model.sent[model.start] ?? []).subtracting(model.excused)
        #expect(missing.isEmpty, "seed \(seed): \(missing.sorted()) have no card")
        #expect(h.counters.startMembers.waiting == 0)
    }

    private func step(_ h: EngineHarness, _ model: inout Model, _ random: inout SplitMix64, crashes: Bool) {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<5:
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let member = Int.random(in: 1...60, using: &random)
                h.joinStart(member, isCapable: Bool.random(using: &random))
                model.members.insert(member)
            }
        case 5, 6:
            guard let member = model.members.sorted().randomElement(using: &random) else { return }
            h.leave(member, of: Bool.random(using: &random) ? "match" : nil)
            model.members.remove(member)
        case 7:
            guard model.isEnded else { return }
            model.start += 1
            model.isEnded = false
            model.excused = []
            h.audienceStart(model.start * 1_000)
        case 8:
            guard !model.isEnded else { return }
            h.audienceUpdate(model.start * 1_000 + Int.random(in: 1...900, using: &random))
        case 9:
            guard !model.isEnded, Int.random(in: 0..<3, using: &random) == 0 else { return }
            // The owner must know of the start before the start ends and another comes.
            h.acknowledgesAtOnce = true
            h.acknowledgeAll()
            h.audienceEnd(model.start * 1_000 + 999)
            for _ in 1...4 {
                h.advance(1_000)
                h.carryBus()
            }
            model.isEnded = true
        case 10..<16:
            h.carryBus()
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                guard let push = h.take() else { return }
                self.take(push, h, &model, self.result(&random))
            }
        case 16, 17: h.advance(Int64.random(in: 1...1_500, using: &random))
        case 18:
            h.acknowledgesAtOnce.toggle()
            if h.acknowledgesAtOnce { h.acknowledgeAll() }
        default:
            guard crashes, Int.random(in: 0..<2, using: &random) == 0 else { return }
            h.crash(afterMillis: Int64.random(in: 1_000...5_000, using: &random))
            h.carryBus()
            // Members that were announced before the crash do not get the start from the next owner.
            if !model.isEnded { model.excused = Set(1...60) }
        }
    }
    private func result(_ random: inout SplitMix64) -> PushAnswer.Result {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: .response(PushResponse(status: 429, reason: "TooManyRequests"))
        case 1: .notProcessed
        case 2: .response(PushResponse(status: 503, reason: "ServiceUnavailable"))
        default: .accepted
        }
    }
    private func take(_ push: Push, _ h: EngineHarness, _ model: inout Model, _ result: PushAnswer.Result) {
        if push.event == "start", let n = push.n {
            let start = n / 1_000
            let member = (1...60).first { EngineHarness.memberToken($0) == push.token } ?? 0
            #expect(!(model.sent[start] ?? []).contains(member), "a second card of start \(start) for \(member)")
            if result == .accepted { model.sent[start, default: []].insert(member) }
        }
        h.answer(push, result)
    }
}
