import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests that expired updates are not sent, and what is shown instead (contract: Expiry).
@Suite struct ExpiryTests {
    private static func alive() -> EngineHarness {
        let h = EngineHarness()
        h.register()
        return h
    }
    private static func expires(_ at: Int64) -> String { #""expires":\#(EngineHarness.seconds(at))"# }
    private static func stale(_ at: Int64) -> String { #""stale-date":\#(EngineHarness.seconds(at))"# }

    @Test func anUpdateNotSentByThenIsExpired() {
        let h = Self.alive()
        let offset = h.update(1, priority: 10, more: Self.expires(30))
        h.advance(29_999)
        #expect(h.outcomes(of: offset).isEmpty)
        h.advance(1)
        #expect(h.outcome(of: offset)?.outcome == "expired")
        #expect(h.outcome(of: offset)?.reason == "was not sent before its expires")
        #expect(h.take() == nil)
        h.advance(200)
        #expect(h.isCommitted())
    }

    /// An update expires while no stream is free and no timer runs. It is not sent.
    @Test func itIsNotSentThoughNobodyNoticed() {
        let h = Self.alive()
        let offset = h.update(1, priority: 10, more: Self.expires(30))
        h.stepWallClock(30_000)
        #expect(h.take() == nil)
        #expect(h.outcomes(of: offset) == ["expired"])
    }

    @Test func onArrivalItMayBeTooLateAlready() {
        let h = Self.alive()
        h.advance(60_000)
        let offset = h.update(1, priority: 10, more: Self.expires(30))
        #expect(h.take() == nil)
        h.advance(1)
        #expect(h.outcomes(of: offset) == ["expired"])
    }

    @Test func expiresComesBeforeStaleDate() {
        let h = Self.alive()
        let offset = h.update(1, priority: 10, more: Self.expires(60), Self.stale(30))
        h.advance(45_000)
        #expect(h.deliver()?.n == 1)
        #expect(h.outcomes(of: offset) == ["delivered"])
    }

    @Test func withoutEitherNothingIsDroppedByAge() {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.advance(11 * 3_600_000)
        #expect(h.deliver()?.n == 1)
    }

    @Test func anEndsStaleDateIsNoExpiry() {
        let h = Self.alive()
        h.end(1, more: Self.stale(30))
        h.advance(60_000)
        #expect(h.deliver()?.event == "end")
    }

    @Test func anExpiredEndLetsTheActivityLiveOn() {
        let h = Self.alive()
        let end = h.end(1, more: Self.expires(30))
        h.advance(30_000)
        #expect(h.outcomes(of: end) == ["expired"])
        h.update(2, priority: 10)
        #expect(h.deliver()?.n == 2)
    }

    @Test(arguments: ["update", "end"])
    func theDefaultHeaderIsAQuarterOfAnHourAndForAnEndEightHours(kind: String) {
        let h = Self.alive()
        if kind == "end" { h.end() } else { h.update(1, priority: 10) }
        h.advance(60_000)
        #expect(h.deliver()?.expirationSeconds == h.wallSeconds + (kind == "end" ? 8 * 3_600 : 900))
    }

    // MARK: An older event that outlives a newer one

    @Test func theOlderOneShowsWhenTheNewerExpires() {
        let h = Self.alive()
        let older = h.update(1, at: 1, alert: "one")
        let newer = h.update(2, at: 2, more: Self.expires(1))
        #expect(h.outcomes(of: older).isEmpty, "it may be needed")
        h.advance(1_000)
        let push = h.deliver()
        #expect(push?.n == 1)
        #expect(push?.alert == "one")
        #expect(h.outcomes(of: newer) == ["expired"])
        #expect(h.outcomes(of: older) == ["delivered"])
    }

    @Test func theOlderOneIsSupersededWhenTheNewerIsSent() {
        let h = Self.alive()
        let older = h.update(1, at: 1, priority: 10, alert: "one")
        let newer = h.update(2, at: 2, more: Self.expires(10))
        let push = h.deliver()
        #expect(push?.n == 2)
        #expect(push?.alert == "one")
        #expect(h.outcome(of: older)?.into == newer)
        h.advance(20_000)
        #expect(h.take() == nil)
    }

    @Test func oneThatDoesNotOutliveTheNewerIsGone() {
        let h = Self.alive()
        let older = h.update(1, at: 1, more: Self.expires(10))
        let newer = h.update(2, at: 2, more: Self.expires(10))
        #expect(h.outcome(of: older)?.into == newer)
    }

    /// An older event arrives after a newer one. The older event is shown only because the newer one expires.
    @Test func anOlderOneThatArrivesLaterMayOutliveTheNewerToo() {
        let h = Self.alive()
        let newer = h.update(2, at: 2, more: Self.expires(1))
        let older = h.update(1, at: 1)
        h.advance(1_000)
        #expect(h.deliver()?.n == 1)
        #expect(h.outcomes(of: newer) == ["expired"])
        #expect(h.outcomes(of: older) == ["delivered"])
    }

    @Test func theNewestOfThoseThatOutliveShows() {
        let h = Self.alive()
        h.update(1, at: 1)
        h.update(2, at: 2, more: Self.expires(40))
        h.update(3, at: 3, more: Self.expires(30))
        h.update(4, at: 4, more: Self.expires(20))
        h.advance(35_000)
        let push = h.deliver()
        #expect(push?.n == 2)
        #expect(h.counters.count(.expired) == 2)
        #expect(h.counters.count(.superseded) == 1)
    }

    /// The number of events kept beneath an update is bounded. Beyond the bound the oldest gives way.
    @Test func onlySoManyAreKept() {
        let h = Self.alive()
        for n in 0..<20 { h.update(n, at: Int64(n), more: Self.expires(1_000 - Int64(n))) }
        #expect(h.counters.pending == 5)
        h.advance(1_000)
        #expect(h.deliver()?.n == 19)
        #expect(h.counters.count(.superseded) == 19)
    }

    @Test func theyComeBackThroughARestart() {
        let h = Self.alive()
        h.update(1, at: 1, alert: "one")
        h.update(2, at: 2, more: Self.expires(20))
        h.advance(2_000)
        #expect(h.isCommitted())
        h.crash(afterMillis: 30_000)
        #expect(h.counters.restored == 2)
        h.advance(2_000)
        let push = h.deliver()
        #expect(push?.n == 1)
        #expect(push?.alert == "one")
    }

    @Test func anEventInFlightThatExpiresIsNotSentAgain() {
        let h = Self.alive()
        let older = h.update(1, at: 1, priority: 10)
        let newer = h.update(2, at: 2, priority: 10, more: Self.expires(5))
        let push = h.take()!
        h.advance(10_000)
        #expect(h.outcomes(of: newer).isEmpty, "nobody knows yet")
        h.answer(push, .notProcessed)
        h.advance(5_000)
        #expect(h.outcomes(of: newer) == ["expired"])
        #expect(h.deliver()?.n == 1)
        #expect(h.outcomes(of: older) == ["delivered"])
    }

    @Test func aClockThatStepsBackExpiresNothingEarly() {
        let h = Self.alive()
        let offset = h.update(1, priority: 10, more: Self.expires(30))
        h.stepWallClock(-20_000)
        h.advance(40_000)
        #expect(h.outcomes(of: offset).isEmpty)
        h.advance(10_000)
        #expect(h.outcomes(of: offset) == ["expired"])
    }

    /// An update has expired when the engine reads it, as in a catch-up after a restart. The end that follows takes
    /// over nothing of the update.
    @Test func whatHasExpiredOnArrivalIsTakenOverByNothing() {
        let h = Self.alive()
        h.advance(60_000)
        let update = h.update(1, priority: 10, alert: "late", more: Self.expires(30))
        let end = h.end()
        #expect(h.outcomes(of: update) == ["expired"])
        let push = h.deliver()
        #expect(push?.event == "end" && push?.n == nil && push?.alert == nil)
        #expect(h.outcomes(of: end) == ["delivered"])
    }

    /// An update expires while it waits, and no timer runs before an end arrives. The update ends as `expired`, not
    /// as `superseded`.
    @Test func whatExpiredUnnoticedIsTakenOverByNothing() {
        let h = Self.alive()
        let update = h.update(1, priority: 10, more: Self.expires(30))
        h.stepWallClock(30_000)
        h.end()
        #expect(h.outcomes(of: update) == ["expired"])
        #expect(h.deliver()?.n == nil)
    }

    @Test func anEndThatHasExpiredOnArrivalEndsNothing() {
        let h = Self.alive()
        h.advance(60_000)
        let end = h.end(1, more: Self.expires(30))
        #expect(h.outcomes(of: end) == ["expired"])
        let update = h.update(2, priority: 10)
        #expect(h.deliver()?.n == 2)
        #expect(h.outcomes(of: update) == ["delivered"])
    }

    /// Events after an expired end are not `late`, even if no timer has run since it expired. Owners read the log in
    /// batches of different sizes, and all must report the same outcomes.
    @Test(arguments: ["update", "end"]) func nothingIsLateForAnEndThatExpiredUnnoticed(kind: String) {
        let h = Self.alive()
        let end = h.end(1, more: Self.expires(30))
        h.stepWallClock(30_000)
        let next = kind == "end" ? h.end(2) : h.update(2, priority: 10)
        #expect(h.outcomes(of: end) == ["expired"])
        #expect(h.deliver()?.n == 2)
        #expect(h.outcomes(of: next) == ["delivered"])
    }

    /// An update that may be on the phone is beneath a newer one that expires sooner. The newer one never left, so it
    /// ends as `expired`.
    @Test func onlyTheOneThatLeftIsUnknown() {
        let h = Self.alive()
        let older = h.update(1, priority: 10)
        let push = h.take()
        let newer = h.update(2, priority: 10, more: Self.expires(30))
        if let push { h.answer(push, .unknown(detail: "reset")) }
        h.stepWallClock(31_000)
        h.advance(100)
        #expect(h.outcomes(of: newer) == ["expired"])
        h.advance(120_000)
        #expect(h.deliver()?.n == 1)
        #expect(h.outcomes(of: older) == ["delivered"])
    }

    /// An end that takes along an older event's content may be on the phone, and that content with it. So the older
    /// event ends as `unknown`, not as `expired`.
    @Test func whatWentWithOneThatMayBeOnThePhoneIsUnknownToo() {
        let h = Self.alive()
        let older = h.update(1, priority: 10, more: Self.expires(60))
        let end = h.end(more: Self.expires(30))
        let push = h.take()
        #expect(push?.event == "end" && push?.n == 1)
        if let push { h.answer(push, .unknown(detail: "reset")) }
        h.stepWallClock(61_000)
        h.advance(100)
        #expect(h.outcomes(of: end) == ["unknown"])
        #expect(h.outcomes(of: older) == ["unknown"])
    }

    /// An end with its own content takes nothing of an older update along. So that update is not on the phone, and ends
    /// as `expired`.
    @Test func whatDidNotGoAlongHasExpired() {
        let h = Self.alive()
        let older = h.update(1, priority: 10, more: Self.expires(60))
        h.end(2, more: Self.expires(30))
        if let push = h.take() { h.answer(push, .unknown(detail: "reset")) }
        h.stepWallClock(61_000)
        h.advance(100)
        #expect(h.outcomes(of: older) == ["expired"])
    }

    /// A newer update took an older one's alert along, and the alert may have sounded. With `alert.on-unknown: drop`
    /// the older update is then shown without its alert.
    @Test(arguments: [AppConfiguration.UnknownAnswerPolicy.resend, .drop])
    func anAlertThatMayHaveSoundedGoesByThePolicy(policy: AppConfiguration.UnknownAnswerPolicy) {
        let h = EngineHarness { $0.apps[0].alertOnUnknown = policy }
        h.register()
        let older = h.update(1, priority: 10, alert: "goal", more: Self.expires(600))
        h.update(2, priority: 10, more: Self.expires(30))
        let push = h.take()
        #expect(push?.n == 2 && push?.alert == "goal")
        if let push { h.answer(push, .unknown(detail: "reset")) }
        h.stepWallClock(31_000)
        h.advance(100_000)
        let next = h.deliver()
        #expect(next?.n == 1 && next?.alert == (policy == .resend ? "goal" : nil))
        #expect(h.outcomes(of: older) == ["delivered"])
    }

    /// An update that may be on the phone is beneath a newer one, then gives way to a third that expires later. Whether
    /// the phone has the first is unknown, so the third ends as `unknown`, too.
    @Test func whatGaveWayFromBeneathIsNotForgotten() {
        let h = Self.alive()
        let first = h.update(1, priority: 10, more: Self.expires(600))
        let push = h.take()
        let second = h.update(2, priority: 10, more: Self.expires(300))
        if let push { h.answer(push, .unknown(detail: "reset")) }
        let third = h.update(3, priority: 10, more: Self.expires(700))
        #expect(h.outcomes(of: first) == ["superseded"] && h.outcomes(of: second) == ["superseded"])
        h.stepWallClock(701_000)
        h.advance(100)
        #expect(h.outcomes(of: third) == ["unknown"])
    }

    /// An update that may be on the phone gives way to an older one that arrives later. The older one then ends as
    /// `unknown`, too.
    @Test func whatGaveWayToAnOlderOneIsNotForgotten() {
        let h = Self.alive()
        let first = h.update(1, at: 1, priority: 10, more: Self.expires(400))
        let push = h.take()
        h.update(2, at: 9, priority: 10, more: Self.expires(300))
        if let push { h.answer(push, .unknown(detail: "reset")) }
        let between = h.update(3, at: 5, priority: 10, more: Self.expires(500))
        #expect(h.outcomes(of: first) == ["superseded"])
        h.stepWallClock(501_000)
        h.advance(100)
        #expect(h.outcomes(of: between) == ["unknown"])
    }

    /// An alert that is older than the pending update stays beneath it, in case everything newer expires. A phone that
    /// shows the newer update would ignore that alert. When the attempt in flight fails, the end must not take the
    /// alert along.
    @Test func whatWasIgnoredWhenItCameIsNotTakenAlong() {
        let h = Self.alive()
        h.update(1, at: 0, priority: 10)
        let push = h.take()
        h.update(2, at: 24, priority: 10, more: Self.expires(300))
        h.update(3, at: 1, priority: 10, alert: "ignored")
        h.end(at: 1, more: Self.expires(200))
        if let push { h.answer(push, .notProcessed) }
        let end = h.deliver()
        #expect(end?.event == "end" && end?.n == 2 && end?.alert == nil)
    }

    /// An update is sent, gets no answer, and expires. The update that it replaced is still valid and is sent after it,
    /// although the phone may show the newer one. README's limits name this as “Older content after newer”. Found by
    /// the simulation.
    @Test func whatOutlivesOneThatWasGivenUpUnheardGoesAfterIt() throws {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        h.update(1, at: 10)
        let given = h.update(2, at: 10, priority: 10, alert: "goal", more: #""expires":\#(EngineHarness.seconds(30))"#)
        let push = try #require(h.take())
        h.advance(40_000)
        h.answer(push, .unknown(detail: "timeout"))
        h.advance(2_000)
        #expect(h.outcome(of: given)?.outcome == "unknown")
        let next = try #require(h.deliver())
        #expect(next.body.contains(#""n":1"#) && !next.body.contains("goal"))
    }

    /// A large update is older than the pending update and expires later. Beneath the large update is an alert that
    /// does not fit beside the large content. When everything newer has expired, the alert goes first with its own
    /// content, and the large update follows.
    @Test(arguments: [false, true])
    func anAlertBeneathThatDoesNotFitGoesFirst(hasFollower: Bool) throws {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        h.update(0, at: 0, priority: 10)
        let first = try #require(h.take())
        let alert = String(repeating: "a", count: 2_000)
        let withAlert = h.update(1, at: 10, priority: 10, alert: alert)
        let newest = h.update(3, at: 30, priority: 10, more: #""expires":\#(EngineHarness.seconds(30))"#)
        let large = h.update(2, at: 20, priority: 10, padding: 2_500)
        // The follower does not fit beside the alert either. It waits as `behind`, and expires.
        let follower =
            hasFollower
            ? h.update(4, at: 40, priority: 10, padding: 2_500, more: #""expires":\#(EngineHarness.seconds(40))"#) : nil
        h.advance(35_000)
        h.answer(first, .accepted)
        h.advance(15_000)
        let one = try #require(h.deliver())
        #expect(one.body.contains(#""n":1"#) && one.body.contains(alert))
        h.advance(2_000)
        let two = try #require(h.deliver())
        #expect(two.body.contains(#""n":2"#) && !two.body.contains("alert"))
        #expect(h.outcome(of: newest)?.outcome == "expired")
        for offset in [withAlert, large] { #expect(h.outcome(of: offset)?.outcome == "delivered") }
        if let follower { #expect(h.outcome(of: follower)?.outcome == "expired") }
    }

    /// A large update is older than the pending update and expires later. Beneath the large update is an alert that
    /// does not fit beside the large content. All of them wait for a token when the owner crashes. The next owner also
    /// sends the alert first.
    @Test func anAlertBeneathThatDoesNotFitGoesFirstAfterACrash() throws {
        let h = EngineHarness()
        h.advance(1_000)
        let alert = String(repeating: "a", count: 2_000)
        h.update(1, at: 10, priority: 10, alert: alert)
        h.update(3, at: 30, priority: 10, more: Self.expires(30))
        h.update(2, at: 20, priority: 10, padding: 2_500)
        h.advance(2_000)
        #expect(h.isCommitted())
        h.crash()
        h.advance(35_000)
        h.register()
        let one = try #require(h.deliver())
        #expect(one.n == 1 && one.alert == alert)
        h.advance(2_000)
        let two = try #require(h.deliver())
        #expect(two.n == 2 && two.alert == nil)
    }

    /// A push with an alert fails. Meanwhile content arrived that is too large for that alert, then an update that
    /// expires soon. The content is kept and sent when that update has expired. Found by the simulation.
    @Test func whatOutlivesTheNewestWaitsBehindAFailedAlert() throws {
        let h = Self.alive()
        let first = h.update(1, at: 1, priority: 10, alert: String(repeating: "a", count: 1_000))
        let push = try #require(h.take())
        let large = h.update(2, at: 2, padding: 3_500)
        let soon = h.update(3, at: 3, more: Self.expires(30))
        h.answer(push, .notProcessed)
        h.advance(5_000)
        #expect(h.outcomes(of: large).isEmpty)
        h.stepWallClock(40_000)
        #expect(h.deliver()?.n == 1)
        h.advance(2_000)
        #expect(h.deliver()?.n == 2)
        #expect(h.outcomes(of: soon) == ["expired"])
        for offset in [first, large] { #expect(h.outcomes(of: offset) == ["delivered"]) }
    }
}
