import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests pushes whose connection was lost or whose answer never came. Nobody knows whether APNs has such a push
/// (contract: Unknown answers).
@Suite struct UnknownAnswerTests {
    private static func alive(_ policy: AppConfiguration.UnknownAnswerPolicy = .resend) -> EngineHarness {
        let h = EngineHarness { $0.apps[0].alertOnUnknown = policy }
        h.register()
        return h
    }
    private static let lost: PushAnswer.Result = .unknown(detail: "connection lost")

    @Test(arguments: [AppConfiguration.UnknownAnswerPolicy.resend, .drop], ["update", "end"])
    func updateAndEndAreSentAgain(policy: AppConfiguration.UnknownAnswerPolicy, kind: String) {
        let h = Self.alive(policy)
        let offset = kind == "end" ? h.end(1, alert: "!") : h.update(1, alert: "!")
        h.answer(h.take()!, Self.lost)
        #expect(h.outcomes(of: offset).isEmpty)
        h.advance(5_000)
        let push = h.deliver()
        #expect(push?.event == kind)
        #expect(push?.n == 1)
        #expect(push?.alert == (policy == .resend ? "!" : nil))
        #expect(push?.stamp == 0)
        #expect(h.outcomes(of: offset) == ["delivered"])
    }

    @Test func anAlertThatCameMeanwhileIsNotDropped() {
        let h = Self.alive(.drop)
        h.update(1, alert: "first")
        let push = h.take()!
        h.update(2, alert: "second")
        h.answer(push, Self.lost)
        h.advance(5_000)
        #expect(h.deliver()?.alert == "second")
    }

    @Test func aRefusalIsNotUnknownAndKeepsTheAlert() {
        let h = Self.alive(.drop)
        h.update(1, alert: "!")
        h.answer(h.take()!, .notProcessed)
        let push = h.take()
        #expect(push?.alert == "!")
        h.answer(
            push!, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        h.advance(5_000)
        #expect(h.deliver()?.alert == "!")
    }

    @Test func theOutcomeComesWithTheLastAttempt() {
        let h = Self.alive()
        let offset = h.update(1, priority: 10)
        for _ in 0..<4 {
            h.answer(h.take()!, Self.lost)
            h.advance(70_000)
        }
        h.deliver()
        #expect(h.outcomes(of: offset) == ["delivered"])
        #expect(h.counters.pushesUnknown == 4)
        #expect(h.counters.pushesSent == 5)
    }
}
