import APNSProtocol
import PushEngine
import PushModel
import Testing

/// By default a stale date says when a card looks outdated, and drops no update. With `updates.stale-date-expires`, it
/// is also the expiry of an update that has none. A start that would begin stale is always dropped, because no phone
/// shows its card.
@Suite struct StaleDateTests {
    private static func alive(expires: Bool = false) -> EngineHarness {
        let h = EngineHarness { $0.apps[0].staleDateExpires = expires }
        h.register()
        h.advance(2_000)
        return h
    }
    private static func expires(_ at: Int64) -> String { #""expires":\#(EngineHarness.seconds(at))"# }
    private static func stale(_ at: Int64) -> String { #""stale-date":\#(EngineHarness.seconds(at))"# }

    /// A publisher whose source has died sends an update that is already stale, which greys the card. The update is
    /// sent, and its alert sounds.
    @Test(arguments: [0, 2, 1_000]) func anUpdateIsSentHoweverStale(at seconds: Int64) {
        let h = Self.alive()
        let offset = h.update(1, priority: 10, alert: "the source has died", more: Self.stale(seconds))
        let push = h.deliver()
        #expect(push?.n == 1 && push?.alert == "the source has died")
        #expect(push?.body.contains(Self.stale(seconds)) == true)
        #expect(push?.expirationSeconds == h.wallSeconds + 900)
        #expect(h.outcomes(of: offset) == ["delivered"])
    }

    @Test func whatWaitedForItsTokenIsSentThoughItIsStaleByThen() {
        let h = EngineHarness()
        let offset = h.update(1, priority: 10, more: Self.stale(2))
        h.advance(5_000)
        h.register()
        #expect(h.deliver()?.n == 1)
        #expect(h.outcomes(of: offset) == ["delivered"])
    }

    /// The newest update is sent even if it is stale, and not the one that it replaced.
    @Test func aWaitingUpdateGivesWayToOneThatIsStale() {
        let h = EngineHarness()
        let good = h.update(6, priority: 10)
        let stale = h.update(7, priority: 10, more: Self.stale(0))
        h.advance(1_000)
        h.register()
        #expect(h.deliver()?.n == 7)
        h.advance(5_000)
        #expect(h.take() == nil)
        #expect(h.outcome(of: good)?.into == stale)
    }

    // MARK: The former rule

    @Test func anAppMayTakeItForAnExpiry() {
        let h = Self.alive(expires: true)
        let offset = h.update(1, priority: 10, more: Self.stale(30))
        h.advance(28_000)
        #expect(h.outcome(of: offset)?.outcome == "expired")
        #expect(h.outcome(of: offset)?.reason == "was not sent before its stale-date")
        let late = h.update(2, priority: 10, more: Self.stale(30))
        #expect(h.outcome(of: late)?.reason == "was not sent before its stale-date")
        let kept = h.update(3, priority: 10, more: Self.stale(30), Self.expires(60))
        #expect(h.deliver()?.n == 3)
        #expect(h.outcomes(of: kept) == ["delivered"])
    }

    // MARK: Starts

    @Test(arguments: [-60, 0]) func aStartThatIsStaleIsExpired(at seconds: Int64) {
        let h = EngineHarness()
        let offset = h.start(1, more: Self.stale(seconds))
        #expect(h.take() == nil)
        h.advance(1)
        #expect(h.outcome(of: offset)?.outcome == "expired")
        #expect(h.outcome(of: offset)?.reason?.contains("stale-date") == true)
        // The expired start does not block another.
        h.start(2)
        #expect(h.deliver()?.n == 2)
    }

    @Test func aStartThatIsStaleWhenItWouldLeaveIsExpired() {
        let h = EngineHarness()
        let offset = h.start(1, more: Self.stale(30))
        h.advance(29_000)
        #expect(h.outcomes(of: offset).isEmpty)
        h.advance(1_000)
        #expect(h.outcomes(of: offset) == ["expired"])
        #expect(h.take() == nil)
    }

    /// The content with which a card would begin decides whether its start is stale.
    @Test func aWaitingStartTakesTheStaleDateOfNewerContent() {
        let h = EngineHarness()
        let start = h.start(1, more: Self.stale(30))
        h.update(2, more: Self.stale(120))
        h.advance(60_000)
        let push = h.deliver()
        #expect(push?.event == "start" && push?.n == 2)
        #expect(h.outcome(of: start)?.outcome == "superseded")
    }
}
