import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests what an answer to a `start` means, and what a missing answer means. A second card is worse than a missing one
/// (contract: Unknown answers).
@Suite struct StartAnswerTests {
    // MARK: Refused

    @Test(arguments: [
        (UInt16(400), "BadDeviceToken", "rejected"), (410, "ExpiredToken", "rejected"),
        (413, "PayloadTooLarge", "dead-lettered"),
    ])
    func aRefusedStartIsOver(status: UInt16, reason: String, outcome: String) {
        let h = EngineHarness()
        let start = h.start(1)
        let push = h.take()!
        let update = h.update(2)
        h.answer(push, .response(PushResponse(status: status, reason: reason)))
        let said = h.outcome(of: start)
        #expect(said?.outcome == outcome)
        #expect(said?.status == Int64(status))
        #expect(said?.reason == reason)
        h.advance(10_000)
        #expect(h.take() == nil, "there is no card and no token")
        h.advance(300_000)
        #expect(h.outcomes(of: update) == ["unregistered"])
        #expect(h.outcomes(of: h.start(3)).isEmpty, "another may be tried")
        #expect(h.deliver()?.n == 3)
    }

    @Test func aStartThatWasNotProcessedIsSentAgainWithItsContent() {
        let h = EngineHarness()
        h.start(1, at: 0)
        let push = h.take()!
        h.update(2, at: 1)
        h.answer(push, .notProcessed)
        let again = h.deliver()
        #expect(again?.event == "start")
        #expect(again?.n == 2)
        #expect(again?.priority == 10)
    }

    // MARK: Unknown answers

    @Test func anUnansweredStartIsNotSentAgain() {
        let h = EngineHarness()
        let start = h.start(1)
        let push = h.take()!
        h.answer(push, .unknown(detail: "timed out"))
        let said = h.outcome(of: start)
        #expect(said?.outcome == "unknown")
        #expect(said?.reason == "timed out")
        #expect(said?.status == nil)
        h.advance(120_000)
        #expect(h.take() == nil)
        #expect(h.outcomes(of: h.start(2)) == ["duplicate"], "a second card is worse than none")
        // The card may be there. Its token may arrive until the activity's life ends.
        let update = h.update(3)
        h.advance(3_600_000)
        #expect(h.outcomes(of: update).isEmpty)
        h.register()
        #expect(h.deliver()?.n == 3)
    }

    @Test func anUnansweredStartIsSentAgainWhereTheAppWantsIt() {
        let h = EngineHarness { $0.apps[0].startOnUnknown = .resend }
        let start = h.start(1)
        let push = h.take()!
        h.answer(push, .unknown(detail: "timed out"))
        h.advance(5_000)
        let again = h.deliver()
        #expect(again?.event == "start")
        #expect(again?.stamp == push.stamp, "unchanged content keeps its stamp")
        #expect(h.outcomes(of: start) == ["delivered"])
    }

    /// The worker crashes with a start in flight. The next owner finds the start in `state`, because a registration
    /// caused a record.
    @Test(arguments: [AppConfiguration.UnknownAnswerPolicy.drop, .resend])
    func aStartInFlightAtACrashIsUnknown(policy: AppConfiguration.UnknownAnswerPolicy) {
        let h = EngineHarness { $0.apps[0].startOnUnknown = policy }
        let start = h.start(1)
        _ = h.take()
        h.register()
        h.advance(1_000)
        #expect(h.isCommitted())
        h.crash()
        h.advance(2_000)
        switch policy {
        case .drop:
            #expect(h.outcomes(of: start) == ["unknown"])
            #expect(h.take() == nil)
        case .resend:
            #expect(h.deliver()?.event == "start")
            #expect(h.outcomes(of: start) == ["delivered"])
        }
    }

    /// `state` has a record that was written while the start was in flight, and a later record that says that the start
    /// was accepted. Only the later record counts.
    @Test func aRestoreJudgesByTheLastRecordOnly() {
        let h = EngineHarness()
        let start = h.start(1)
        let push = h.take()!
        h.register()
        h.advance(1_000)
        h.answer(push, .accepted)
        h.advance(1_000)
        #expect(h.stateLog.count { $0.keyText.hasSuffix("/a") } > 1)
        h.crash()
        h.advance(1_000)
        #expect(h.outcomes(of: start) == ["delivered"])
        #expect(h.outcomes(of: h.start(2)) == ["duplicate"])
    }

    /// The activity is unregistered while a push is in flight. A start that arrives then makes another card.
    @Test(arguments: ["accepted", "unknown", "410"])
    func aStartBesideAnOrphanInFlightIsSent(answer: String) {
        let h = EngineHarness()
        h.register()
        let update = h.update(1, at: 0, priority: 10)
        let orphan = h.take()!
        h.unregister()
        let start = h.start(2, at: 1)
        switch answer {
        case "accepted": h.answer(orphan, .accepted)
        case "unknown": h.answer(orphan, .unknown(detail: "reset"))
        default:
            h.answer(
                orphan, .response(PushResponse(status: 410, reason: "Unregistered")))
        }
        h.advance(5_000)
        let push = h.deliver()
        #expect(push?.event == "start")
        #expect(push?.n == 2)
        #expect(h.outcomes(of: update) == [answer == "accepted" ? "delivered" : "superseded"])
        #expect(h.outcomes(of: start) == ["delivered"])
    }
}
