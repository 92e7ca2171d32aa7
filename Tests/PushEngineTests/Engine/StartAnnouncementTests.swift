import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests that the engine first writes to `state` that a start may have left, and then sends the start. So no crash
/// leads to a second card (contract: Unknown answers).
@Suite struct StartAnnouncementTests {
    @Test func itLeavesOnlyAfterStateSaysSo() {
        let h = EngineHarness()
        h.acknowledgesAtOnce = false
        h.start(1)
        #expect(h.take() == nil)
        #expect(h.outstanding.map(\.topic) == [.state])
        h.advance(5_000)
        #expect(h.take() == nil)
        h.acknowledgeAll()
        #expect(h.take()?.event == "start")
    }

    @Test func whereTheAppWantsItSentAgainNothingIsAnnounced() {
        let h = EngineHarness { $0.apps[0].startOnUnknown = .resend }
        h.acknowledgesAtOnce = false
        h.start(1)
        #expect(h.take()?.event == "start")
    }

    /// The start was accepted, and the worker crashed before writing that down. No second start leaves, and updates
    /// go to the first card.
    @Test func aCrashAfterItLeftSendsNoSecond() {
        let h = EngineHarness()
        let start = h.start(1, at: 0)
        let push = h.take()!
        h.acknowledgesAtOnce = false
        h.answer(push, .accepted)
        let update = h.update(2, at: 0)
        h.crash()
        h.advance(60_000)
        #expect(h.take() == nil)
        #expect(h.outcomes(of: start).last == "unknown")
        h.register()
        let next = h.deliver()
        #expect(next?.event == "update")
        #expect(next?.n == 2)
        #expect(next!.stamp > push.stamp)
        #expect(h.outcomes(of: update) == ["delivered"])
    }

    @Test func aCrashBeforeItWasAnnouncedLosesNothing() {
        let h = EngineHarness()
        h.acknowledgesAtOnce = false
        h.start(1)
        #expect(h.take() == nil)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.event == "start")
    }

    /// The partition is released when the announcement is written and the start has not left. The next owner sends
    /// the start.
    @Test func aReleaseTakesTheAnnouncementBack() {
        let h = EngineHarness()
        h.acknowledgesAtOnce = false
        h.start(1)
        #expect(h.take() == nil)
        h.acknowledgeAll()
        h.acknowledgesAtOnce = true
        h.engine.beginRelease(partition: 0, now: h.now)
        #expect(h.take() == nil)
        h.engine.finishRelease(partition: 0, now: h.now)
        h.step()
        #expect(h.isReleased)
        h.engine.forget(partition: 0)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.event == "start")
    }

    @Test(arguments: [true, false])
    func aStartThatDidNotArriveIsWithdrawn(isRefused: Bool) {
        let h = EngineHarness()
        h.start(1)
        let refusal = PushAnswer.Result.response(PushResponse(status: 503, reason: "ServiceUnavailable"))
        h.answer(h.take()!, isRefused ? refusal : .notProcessed)
        h.advance(100)
        h.crash()
        h.advance(5_000)
        #expect(h.deliver()?.event == "start")
    }

    /// A start got no answer. Its content may be on the phone, so nothing older follows it.
    @Test func anUnansweredStartsContentCountsAsShown() {
        let h = EngineHarness()
        h.start(1, at: 5)
        h.answer(h.take()!, .unknown(detail: "timed out"))
        h.register()
        #expect(h.outcomes(of: h.update(2, at: 4)) == ["superseded"])
        h.update(3, at: 5, priority: 10)
        h.advance(2_000)
        #expect(h.deliver()?.n == 3)
    }
}
