import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests that a `start` leaves once, with the newest content, before anything else (contract: Life cycle).
@Suite struct StartTests {
    @Test func aStartCarriesWhatAppleWants() {
        let h = EngineHarness()
        let offset = h.start(1, alert: "go", token: "AABB", attributes: #"{"size":3}"#, more: #""input-push-token":1"#)
        let push = h.deliver()
        #expect(push?.event == "start")
        #expect(push?.token == "aabb")
        #expect(push?.priority == 10)
        #expect(push?.alert == "go")
        #expect(push?.aps["attributes-type"] as? String == "Pizza")
        #expect((push?.aps["attributes"] as? [String: Any])?["size"] as? Int == 3)
        #expect(push?.aps["input-push-token"] as? Int == 1)
        #expect(push?.expirationSeconds == h.wallSeconds + 900)
        #expect(h.outcomes(of: offset) == ["delivered"])
    }

    @Test(arguments: [(nil, 0), ("production", 0), ("development", 1)] as [(String?, UInt16)])
    func aStartGoesToTheEnvironmentOfItsToken(environment: String?, route: UInt16) {
        let h = EngineHarness()
        h.start(1, environment: environment)
        #expect(h.take(route: 1 - route) == nil)
        #expect(h.deliver(route: route)?.event == "start")
    }

    // MARK: Updates before it was sent

    @Test func updatesBeforeItWasSentMergeIntoOneStart() {
        let h = EngineHarness()
        let start = h.start(1, at: 0, alert: "go")
        let second = h.update(2, at: 1)
        let third = h.update(3, at: 2)
        let push = h.deliver()
        #expect(push?.event == "start")
        #expect(push?.n == 3)
        #expect(push?.alert == "go")
        #expect(h.outcomes(of: start) == ["superseded"])
        #expect(h.outcome(of: start)?.into == second)
        #expect(h.outcome(of: start)?.kept == ["alert", "priority"])
        #expect(h.outcome(of: third)?.merged == 3)
        #expect(h.take() == nil)
    }

    /// A start takes along the updates that wait for a token.
    @Test(arguments: [(0, 1, 9), (1, 0, 1)] as [(Int64, Int64, Int)])
    func aStartTakesWaitingUpdatesAlong(updateAt: Int64, startAt: Int64, shown: Int) {
        let h = EngineHarness()
        let update = h.update(1, at: updateAt)
        let start = h.start(9, at: startAt, alert: "go")
        let push = h.deliver()
        #expect(push?.event == "start")
        #expect(push?.n == shown)
        #expect(push?.alert == "go")
        #expect(h.outcomes(of: shown == 9 ? start : update) == ["delivered"])
        #expect(h.outcomes(of: shown == 9 ? update : start) == ["superseded"])
        #expect(h.take() == nil)
    }

    /// Two updates wait, and both are newer than a start. The newest expires before the start leaves, so the card shows
    /// the other update.
    @Test func anUpdateThatOutlivesTheNewestIsShownByALateStart() {
        let h = EngineHarness()
        let update = h.update(1, at: 1)
        let newest = h.update(2, at: 2, more: #""expires":\#(EngineHarness.seconds(10))"#)
        let start = h.start(9, at: 0, alert: "go")
        h.advance(10_000)
        #expect(h.outcomes(of: newest) == ["expired"])
        let push = h.deliver()
        #expect(push?.event == "start" && push?.n == 1 && push?.alert == "go")
        #expect(h.outcomes(of: update) == ["delivered"])
        #expect(h.outcomes(of: start) == ["superseded"])
    }

    /// A start arrives that is older than all waiting updates. As many updates wait as a slot can hold, and the next
    /// owner can read them from `state`.
    @Test func aStartOlderThanManyUpdatesIsReadByTheNextOwner() {
        let h = EngineHarness()
        for n in 1...5 {
            h.update(n, at: Int64(n), more: #""expires":\#(EngineHarness.seconds(600 - 100 * Int64(n)))"#)
        }
        let start = h.start(9, at: 0)
        h.advance(2_000)
        #expect(h.isCommitted())
        h.crash()
        #expect(h.restoreResults.contains(.restored))
        h.advance(2_000)
        #expect(h.outcomes(of: start).isEmpty)
        let push = h.deliver()
        #expect(push?.event == "start" && push?.n == 5 && push?.alert == "start")
    }

    @Test func anUpdateTooLargeBesideTheAttributesFollowsTheStart() {
        let h = EngineHarness()
        let start = h.start(1, at: 0, padding: 1_800, attributes: #"{"a":"\#(String(repeating: "y", count: 1_800))"}"#)
        let update = h.update(2, at: 1, padding: 3_500)
        let push = h.deliver()
        #expect(push?.event == "start")
        #expect(push?.n == 1)
        h.register()
        h.advance(2_000)
        let second = h.deliver()
        #expect(second?.event == "update")
        #expect(second?.n == 2)
        #expect(h.outcomes(of: start) == ["delivered"])
        #expect(h.outcomes(of: update) == ["delivered"])
    }

    // MARK: Expiry

    @Test func aStartIsNotSentLaterThanFifteenMinutes() {
        let h = EngineHarness()
        let start = h.start(1)
        h.advance(900_000 - 1)
        #expect(h.outcomes(of: start).isEmpty)
        h.advance(1)
        #expect(h.outcomes(of: start) == ["expired"])
        #expect(h.take() == nil)
        // The expired start was never sent, so another start may come.
        #expect(h.outcomes(of: h.start(2)).isEmpty)
        #expect(h.deliver()?.n == 2)
    }

    @Test func aStartsOwnExpiryHolds() {
        let h = EngineHarness()
        let start = h.start(1, more: #""expires":\#(EngineHarness.seconds(3_600))"#)
        h.advance(1_800_000)
        #expect(h.outcomes(of: start).isEmpty)
        let push = h.take()
        #expect(push?.expirationSeconds == EngineHarness.seconds(3_600))
    }

    /// A producer's clock that runs ahead does not keep a start alive for longer.
    @Test func aRecordTimeAheadOfTheClockCountsAsNow() {
        let h = EngineHarness()
        let start = h.start(1, recordMillis: h.now.wallMillis + 86_400_000)
        h.advance(900_000)
        #expect(h.outcomes(of: start) == ["expired"])
    }

    @Test func updatesMergedIntoAnExpiredStartWaitForAToken() {
        let h = EngineHarness()
        let start = h.start(1)
        let update = h.update(2, alert: "two")
        h.advance(900_000)
        #expect(h.outcomes(of: start) == ["superseded"])
        #expect(h.outcomes(of: update) == ["unregistered"], "it waited longer than for a registration")
        #expect(h.take() == nil)
    }

    // MARK: Then an end

    @Test func anEndBehindAnUnsentStartFollowsIt() {
        let h = EngineHarness()
        let start = h.start(1)
        let end = h.end(2)
        let push = h.deliver()
        #expect(push?.event == "start")
        #expect(push?.n == 1)
        h.advance(2_000)
        #expect(h.take() == nil, "the card's token has not come")
        h.register()
        let second = h.deliver()
        #expect(second?.event == "end")
        #expect(second?.n == 2)
        #expect(h.outcomes(of: start) == ["delivered"])
        #expect(h.outcomes(of: end) == ["delivered"])
    }

    @Test func anEndBehindAFailedStartKeepsItsPlace() {
        let h = EngineHarness()
        h.start(1)
        let push = h.take()!
        h.end(2)
        h.answer(
            push, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        h.advance(5_000)
        #expect(h.deliver()?.event == "start")
        h.register()
        h.advance(2_000)
        #expect(h.deliver()?.event == "end")
    }

    /// After an accepted start the token may arrive until the activity's life ends.
    @Test(arguments: ["update", "end"])
    func afterAnAcceptedStartTheTokenMayComeLate(kind: String) {
        let h = EngineHarness()
        h.start(1)
        h.deliver()
        let offset = kind == "end" ? h.end(2) : h.update(2)
        h.advance(8 * 3_600_000)
        #expect(h.outcomes(of: offset).isEmpty)
        h.crash()
        h.register()
        h.advance(2_000)
        let push = h.deliver()
        #expect(push?.event == kind)
        #expect(push?.n == 2)
    }

    @Test(arguments: ["update", "end"])
    func withoutATokenTheLifesEndMakesItUnregistered(kind: String) {
        let h = EngineHarness()
        h.start(1)
        h.deliver()
        let offset = kind == "end" ? h.end(2) : h.update(2)
        h.advance(12 * 3_600_000 + 1_000)
        #expect(h.outcomes(of: offset) == ["unregistered"])
        #expect(h.counters.slots == 0)
    }
}
