import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests the life cycle of an activity: one test for each line of the contract's table, and what follows from the lines
/// (contract: Life cycle).
@Suite struct LifeCycleTests {
    /// A harness whose activity has a token and shows an update.
    private static func alive() -> EngineHarness {
        let h = EngineHarness()
        h.register()
        h.update(1, at: 100, priority: 10)
        h.deliver()
        h.advance(2_000)
        return h
    }

    // MARK: `end` while the activity lives

    @Test(arguments: [-1_000, 99, 100, 200] as [Int64])
    func endIsTerminalWhateverItsTimestamp(at: Int64) {
        let h = Self.alive()
        let offset = h.end(9, at: at)
        let push = h.deliver()
        #expect(push?.event == "end")
        #expect(push?.n == 9)
        #expect(push!.stamp > 100)
        #expect(h.outcomes(of: offset) == ["delivered"])
    }

    @Test func endBringsThePendingContentAlongWhenItHasNone() {
        let h = Self.alive()
        let update = h.update(2, at: 110, alert: "two", more: #""relevance-score":7"#)
        let end = h.end(at: 50)
        let push = h.deliver()
        #expect(push?.event == "end")
        #expect(push?.n == 2)
        #expect(push?.alert == "two")
        #expect(push?.relevanceScore == 7)
        #expect(h.outcome(of: update)?.into == end)
        #expect(h.outcome(of: end)?.merged == 2)
    }

    @Test func endKeepsItsOwnContent() {
        let h = Self.alive()
        h.update(2, at: 110, more: #""relevance-score":7"#)
        h.end(3, at: 50)
        let push = h.deliver()
        #expect(push?.n == 3)
        #expect(push?.relevanceScore == nil)
    }

    @Test func endWithoutContentAndNothingPendingSendsNone() {
        let h = Self.alive()
        h.end()
        let push = h.deliver()
        #expect(push?.event == "end")
        #expect(push?.aps["content-state"] == nil)
    }

    /// An end must not bring back the content of an update that the device would ignore.
    @Test func endDoesNotBringContentOlderThanWhatIsInFlight() {
        let h = Self.alive()
        h.update(2, at: 200, priority: 10)
        let inFlight = h.take()!
        let older = h.update(3, at: 150, more: #""relevance-score":7"#)
        h.end()
        h.answer(inFlight, .accepted)
        h.advance(2_000)
        let push = h.deliver()
        #expect(push?.event == "end")
        #expect(push?.n == nil)
        #expect(push?.relevanceScore == nil)
        #expect(h.outcomes(of: older) == ["superseded"])
    }

    @Test func endBringsWhatWasInFlightWhenThatFailed() {
        let h = Self.alive()
        h.update(2, at: 200, priority: 10)
        let inFlight = h.take()!
        h.update(3, at: 150)
        h.end()
        h.answer(inFlight, .unknown(detail: "connection lost"))
        h.advance(5_000)
        #expect(h.deliver()?.n == 2)
    }

    // MARK: After an `end` was taken

    @Test(arguments: [true, false])
    func updateAndEndAfterAnEndAreLate(endIsAccepted: Bool) {
        let h = Self.alive()
        h.end()
        if endIsAccepted { h.deliver() }
        let update = h.update(5, at: 250, alert: "late")
        let end = h.end(6, at: 251)
        h.advance(2_000)
        #expect(h.outcomes(of: update) == ["late"])
        #expect(h.outcomes(of: end) == ["late"])
        if !endIsAccepted {
            let push = h.deliver()
            #expect(push?.event == "end")
            #expect(push?.n == nil)
        }
        h.advance(2_000)
        #expect(h.take() == nil)
    }

    @Test func registerBeforeTheEndIsAcceptedTakesTheEndToThatToken() {
        let h = Self.alive()
        h.end()
        let first = h.take()!
        #expect(first.token == EngineHarness.token)
        let register = h.register(token: "bb02")
        h.answer(
            first,
            .response(PushResponse(status: 410, reason: "Unregistered", timestampMillis: h.now.wallMillis)))
        h.advance(5_000)
        let second = h.deliver()
        #expect(second?.event == "end")
        #expect(second?.token == "bb02")
        #expect(h.outcomes(of: register) == ["applied"])
    }

    @Test func registerOfAnotherTokenAfterAnAcceptedEndIsANewLife() {
        let h = Self.alive()
        h.end()
        h.deliver()
        h.advance(1_000)
        let register = h.register(token: "bb02")
        #expect(h.outcomes(of: register) == ["applied"])
        // The new life has a card of its own, so it also takes an update that is older than what the former card
        // showed.
        let update = h.update(7, at: 50, priority: 10)
        h.advance(2_000)
        let push = h.deliver()
        #expect(push?.token == "bb02")
        #expect(push?.n == 7)
        #expect(push?.stamp == 50)
        #expect(h.outcomes(of: update) == ["delivered"])
    }

    @Test func registerOfTheSameTokenAfterAnAcceptedEndIsLate() {
        let h = Self.alive()
        h.end()
        h.deliver()
        h.advance(1_000)
        let register = h.register(token: EngineHarness.token.uppercased())
        #expect(h.outcomes(of: register) == ["late"])
        #expect(h.outcomes(of: h.update(2)) == ["late"])
    }

    /// A registration begins a new life only if its record comes after the end. A registration from before the end,
    /// read again, begins none.
    @Test func aReplayedRegistrationFromBeforeTheEndBeginsNoNewLife() {
        let h = EngineHarness()
        h.acknowledgesAtOnce = true
        h.register()
        let other = h.register(token: "bb02")
        h.register(token: "cc03")
        h.end()
        h.deliver()
        h.advance(100)
        h.crash(replays: false)
        // Everything is read again, as if the commit had been lost.
        for offset in 0..<4 {
            let (record, key, value) = h.consumed[0]![offset]
            h.engine.consume(record, key: key.span, value: value.span, traceparent: [UInt8]().span, now: h.now)
            h.step()
        }
        #expect(h.outcomes(of: other) == ["applied", "duplicate"])
        #expect(h.outcomes(of: h.update(1)) == ["late"])
    }

    // MARK: `start`

    @Test func startWhileStartedOrAliveIsADuplicate() {
        let h = EngineHarness()
        h.start(1)
        let pending = h.start(2)
        let push = h.take()!
        let inFlight = h.start(3)
        h.answer(push, .accepted)
        let started = h.start(4)
        h.register()
        let alive = h.start(5)
        h.end()
        let ending = h.start(6)
        for offset in [pending, inFlight, started, alive, ending] { #expect(h.outcomes(of: offset) == ["duplicate"]) }
        #expect(push.n == 1)
        h.advance(2_000)
        #expect(h.deliver()?.event == "end")
        #expect(h.take() == nil)
    }

    @Test func startAfterAnAcceptedEndIsANewLife() {
        let h = Self.alive()
        h.end()
        h.deliver()
        h.advance(1_000)
        let start = h.start(1, at: 1)
        let push = h.deliver()
        #expect(push?.event == "start")
        #expect(push?.stamp == 1)
        #expect(push?.token == EngineHarness.startToken)
        #expect(h.outcomes(of: start) == ["delivered"])
        // The old card's token is forgotten.
        h.update(2, priority: 10)
        h.advance(2_000)
        #expect(h.take() == nil)
        h.register(token: "dd04")
        #expect(h.deliver()?.token == "dd04")
    }

    // MARK: The slot leaves memory and the changelog

    @Test func itLeavesTwelveHoursAfterTheLastUpdate() {
        let h = Self.alive()
        let hours12: Int64 = 12 * 3_600_000
        h.advance(6 * 3_600_000)
        h.update(2, priority: 10)
        h.deliver()
        h.advance(hours12 - 1_000)
        #expect(h.counters.slots == 1)
        h.advance(2_000)
        #expect(h.counters.slots == 0)
        let last = h.stateLog.last
        #expect(last?.isNull == true)
        #expect(last?.keyText == "a/com.example.pizza/a")
    }

    @Test func itLeavesAfterTheEndAndItsRetention() {
        let h = Self.alive()
        h.end()
        h.deliver()
        h.advance(3_600_000 - 1_000)
        #expect(h.counters.slots == 1)
        h.advance(2_000)
        #expect(h.counters.slots == 0)
        #expect(h.stateLog.last?.isNull == true)
    }

    /// A registration arrives when the life is over and its tombstone is not written yet. The tombstone must not remove
    /// the registration.
    @Test func aRegistrationBeforeTheTombstoneIsWrittenLives() {
        let h = Self.alive()
        h.advance(12 * 3_600_000 - 2_000 - 10)
        let left = h.engine.nextDeadlineMillis! - h.now.steadyMillis
        h.advance(left)  // The life is over, and its tombstone waits for up to 50 ms
        #expect(h.counters.slots == 1)
        let register = h.register(token: "bb02")
        h.advance(1_000)
        #expect(h.counters.slots == 1)
        #expect(h.outcomes(of: register) == ["applied"])
        h.crash()
        h.update(2, priority: 10)
        h.advance(1_000)
        #expect(h.deliver()?.token == "bb02")
    }
}
