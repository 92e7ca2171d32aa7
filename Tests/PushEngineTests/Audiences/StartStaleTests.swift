import PushEngine
import PushModel
import Testing

/// A phone shows no card that begins stale, so no start is sent with stale content. Updates of an audience may be
/// stale.
@Suite struct StartStaleTests {
    private static func stale(_ h: EngineHarness, in seconds: Int64) -> String {
        #""stale-date":\#(h.wallSeconds + seconds)"#
    }

    private static let reason = "the start was not sent before its stale-date: a phone shows no card that begins stale"

    @Test(arguments: [-60, 0] as [Int64])
    func aStartThatIsStaleWhenItComesIsExpired(seconds: Int64) {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.join(2)
        let start = h.audienceStart(1, more: Self.stale(h, in: seconds))
        #expect(h.deliverAll(withinMillis: 5_000).isEmpty)
        #expect(h.outcomes(of: start) == ["expired"])
        #expect(h.outcome(of: start)?.reason == Self.reason)
        #expect(h.isCommitted())

        let next = h.audienceStart(2, more: Self.stale(h, in: 600))
        #expect(h.deliverAll(withinMillis: 5_000).map(\.n) == [2, 2])
        #expect(h.outcomes(of: next) == ["fanned-out"])
    }

    /// Members that have not been served when the card is stale are not started. Neither are members that join later.
    @Test func aRoundEndsWhenItsCardWouldBeStale() {
        let h = EngineHarness.starts()
        for member in 1...10 { h.joinStart(member) }
        h.audienceStart(1, more: Self.stale(h, in: 30))
        for _ in 1...4 { h.deliver() }
        h.advance(31_000)
        #expect(h.deliverAll(withinMillis: 5_000).isEmpty)
        #expect(h.counters.startMembers.accepted == 4 && h.counters.startMembers.expired == 6)
        h.joinStart(11)
        #expect(h.deliverAll(withinMillis: 5_000).isEmpty)
    }

    /// A start is sent with the newest content. So a member that joins later may be started although the start's own
    /// content is stale.
    @Test func whoComesLaterIsStartedWithWhatIsNotStale() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.audienceStart(1, more: Self.stale(h, in: 30))
        #expect(h.deliverAll(withinMillis: 2_000).map(\.n) == [1])
        h.audienceUpdate(2, more: Self.stale(h, in: 300))
        _ = h.deliverAll(withinMillis: 2_000)
        h.advance(60_000)
        h.joinStart(3)
        #expect(h.deliverAll(withinMillis: 5_000).map(\.n) == [2])
    }

    /// A start waited when its worker died. It is stale when the next owner reads it, and is not sent.
    @Test func whoTakesOverSendsNoStartThatIsStaleByThen() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.acknowledgesAtOnce = false
        let start = h.audienceStart(1, more: Self.stale(h, in: 10))
        h.crash(afterMillis: 20_000)
        h.acknowledgesAtOnce = true
        h.acknowledgeAll()
        h.carryBus()
        #expect(h.deliverAll(withinMillis: 5_000).isEmpty)
        #expect(h.outcomes(of: start) == ["expired"])
    }

    @Test(arguments: [false, true])
    func anUpdateThatIsStaleIsSentUnlessTheAppTakesItForAnExpiry(expires: Bool) {
        let h = EngineHarness.starts { $0.apps[0].staleDateExpires = expires }
        h.join(1)
        let update = h.audienceUpdate(1, alert: "the source has died", more: Self.stale(h, in: 0))
        let pushes = h.deliverAll(withinMillis: 5_000)
        #expect(pushes.map(\.alert) == (expires ? [] : ["the source has died"]))
        #expect(h.outcomes(of: update) == [expires ? "expired" : "fanned-out"])
        if expires { #expect(h.outcome(of: update)?.reason == "was not sent before its stale-date") }
    }
}
