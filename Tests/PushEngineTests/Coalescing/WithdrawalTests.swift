import APNSProtocol
import PushEngine
import PushModel
import Testing

/// An event with `"alert": null` withdraws earlier alerts that have not been sent, such as a goal that did not count
/// (contract: Withdrawn alerts).
@Suite struct WithdrawalTests {
    private static let null = #""alert":null"#
    private static let withdrawn = "its alert was withdrawn"

    private static func alive(_ configure: (inout EngineConfiguration) -> Void = { _ in }) -> EngineHarness {
        let h = EngineHarness(configure)
        h.register()
        return h
    }

    // MARK: What waits

    @Test func anAlertThatWaitsIsNotSent() {
        let h = Self.alive()
        let goal = h.update(1, at: 1, priority: 5, alert: "goal")
        let none = h.update(2, at: 2, more: Self.null)
        h.advance(1_000)
        let push = h.deliver()
        #expect(push?.n == 2 && push?.alert == nil)
        let said = h.outcome(of: goal)
        #expect(said?.outcome == "superseded" && said?.into == none)
        #expect(said?.reason == Self.withdrawn)
        #expect(said?.kept.isEmpty == true)
        #expect(h.outcomes(of: none) == ["delivered"])
    }

    /// Content may wait behind an update whose alert is too large for it. Beneath the content is another alert, which
    /// arrived after the content but is older. When the alert in front is withdrawn, the two updates are merged and no
    /// event is lost. The other alert does not sound, because a phone would have ignored it after the content.
    @Test(arguments: [3_600, 100])
    func whatWaitedBehindAWithdrawnAlertIsAllThere(padding: Int) {
        let h = Self.alive()
        h.update(0, at: 0, priority: 10)
        h.deliver()
        h.update(1, at: 10, priority: 10, alert: String(repeating: "a", count: 1_000), padding: 2_000)
        let content = h.update(2, at: 30, padding: padding, more: #""stale-date":1700000900"#)
        h.update(3, at: 20, alert: String(repeating: "b", count: 500))
        h.update(4, at: 15, more: Self.null)
        h.advance(1_000)
        let push = h.deliver()
        #expect(push?.n == 2 && push?.alert == nil)
        h.advance(20_000)
        while let more = h.take() { h.answer(more, .accepted) }
        #expect(h.outcomes(of: content) == ["delivered"])
        #expect(h.counters.pending == 0 && h.counters.isConserved)
    }

    /// An alert is withdrawn after a newer update has taken it over. It is not sent with any update.
    @Test func anAlertThatWasTakenOverIsNotSent() {
        let h = Self.alive()
        let goal = h.update(1, at: 1, priority: 5, alert: "goal")
        let other = h.update(2, at: 2)
        h.update(3, at: 3, more: Self.null)
        h.advance(1_000)
        #expect(h.deliver()?.alert == nil)
        #expect(h.outcome(of: goal)?.kept == ["alert"], "as was so then")
        #expect(h.outcome(of: other)?.reason == Self.withdrawn)
        #expect(h.outcome(of: other)?.kept.isEmpty == true)
    }

    struct Order: Sendable, CustomTestStringConvertible {
        var goal, withdrawal: Int64
        var isEnd = false
        var rings: Bool
        var testDescription: String {
            "\(self.isEnd ? "an end" : "an update")@\(self.withdrawal) after @\(self.goal)"
        }
    }

    /// A withdrawal removes every alert that is not newer than the withdrawal. The timestamp decides first, then the
    /// order of arrival. An end counts as newest, whatever its timestamp.
    @Test(arguments: [
        Order(goal: 5, withdrawal: 6, rings: false), Order(goal: 5, withdrawal: 5, rings: false),
        Order(goal: 5, withdrawal: 4, rings: true), Order(goal: 5, withdrawal: 6, isEnd: true, rings: false),
        Order(goal: 5, withdrawal: 4, isEnd: true, rings: false),
    ])
    func itWithdrawsWhatIsNotNewer(_ order: Order) {
        let h = Self.alive()
        h.update(1, at: order.goal, alert: "goal")
        if order.isEnd {
            h.end(2, at: order.withdrawal, more: Self.null)
        } else {
            h.update(2, at: order.withdrawal, more: Self.null)
        }
        h.advance(1_000)
        let push = h.deliver()
        #expect(push?.alert == (order.rings ? "goal" : nil))
        #expect(push?.n == (order.rings ? 1 : 2))
    }

    @Test(arguments: [6, 7] as [Int64])
    func anAlertThatComesLaterRings(at seconds: Int64) {
        let h = Self.alive()
        h.update(1, at: 5, priority: 5, alert: "no goal")
        h.update(2, at: 6, more: Self.null)
        h.update(3, at: seconds, priority: 5, alert: "goal")
        h.advance(1_000)
        #expect(h.deliver()?.alert == "goal")
    }

    @Test func aWithdrawalThatIsOlderThanTheNewestTakesTheAlertThatOneCarries() {
        let h = Self.alive()
        h.update(1, at: 5, priority: 5, alert: "goal")
        let newest = h.update(2, at: 9)
        let none = h.update(3, at: 7, more: Self.null)
        #expect(h.outcome(of: none)?.into == newest)
        h.advance(1_000)
        let push = h.deliver()
        #expect(push?.n == 2 && push?.alert == nil)
    }

    @Test func aWithdrawalOlderThanWhatWasAcceptedIsSuperseded() {
        let h = Self.alive()
        h.update(1, at: 10, priority: 10)
        h.deliver()
        h.update(2, at: 11, priority: 5, alert: "goal")
        let none = h.update(3, at: 9, more: Self.null)
        #expect(h.outcome(of: none)?.reason?.hasPrefix("older than an event that was already accepted: ") == true)
        h.advance(2_000)
        #expect(h.deliver()?.alert == "goal")
    }

    @Test func thePriorityStays() {
        let h = Self.alive { $0.apps[0].lowPriorityWindowMillis = 60_000 }
        h.update(1, at: 1, priority: 10)
        h.deliver()
        h.update(2, at: 2, alert: "goal")
        h.update(3, at: 3, more: Self.null)
        h.advance(1_000)
        #expect(h.deliver()?.priority == 10)
    }

    /// The budget's reserve is for alerts. An update whose alert is withdrawn waits for a unit, or goes at low
    /// priority.
    @Test(arguments: [AppConfiguration.BudgetPolicy.defer, .downgrade])
    func theReserveIsNotForAnAlertThatWasWithdrawn(policy: AppConfiguration.BudgetPolicy) {
        let h = Self.alive {
            $0.apps[0].budgetPolicy = policy
            $0.apps[0].budgetPerHour = 2
            $0.apps[0].budgetReserve = 1
        }
        h.update(1, at: 1, priority: 10)
        #expect(h.deliver()?.priority == 10)
        h.update(2, at: 2, alert: "goal")
        h.update(3, at: 3, more: Self.null)
        h.advance(1_000)
        let push = h.take()
        #expect(push?.priority == (policy == .defer ? nil : 5))
    }

    // MARK: Two updates that follow one another

    @Test func withoutItsAlertTheFirstOfTwoIsNotSent() {
        let h = Self.alive()
        let goal = h.update(1, at: 1, priority: 5, alert: String(repeating: "A", count: 1_000))
        let large = h.update(2, at: 2, padding: 3_500)
        let none = h.update(3, at: 3, more: Self.null)
        #expect(h.outcome(of: goal)?.into == large && h.outcome(of: goal)?.reason == Self.withdrawn)
        #expect(h.outcome(of: large)?.into == none)
        h.advance(1_000)
        let push = h.deliver()
        #expect(push?.n == 3 && push?.alert == nil)
        h.advance(5_000)
        #expect(h.take() == nil)
    }

    @Test func theFirstOfTwoStaysForAnAlertThatIsNewer() {
        let h = Self.alive()
        let alert = String(repeating: "A", count: 1_000)
        h.update(1, at: 5, alert: alert)
        h.update(2, at: 6, padding: 3_500)
        h.update(3, at: 4, more: Self.null)
        #expect(h.deliver()?.alert == alert)
        h.advance(2_000)
        #expect(h.deliver()?.n == 2)
    }

    // MARK: In flight

    @Test(arguments: [true, false])
    func whatIsInFlightDoesNotRingASecondTime(isUnknown: Bool) {
        let h = Self.alive()
        let goal = h.update(1, at: 1, alert: "goal")
        let push = h.take()!
        #expect(push.alert == "goal")
        h.update(2, at: 2, more: Self.null)
        h.answer(
            push,
            isUnknown
                ? .unknown(detail: "reset") : .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        h.advance(60_000)
        let again = h.deliver()
        #expect(again?.n == 2 && again?.alert == nil)
        #expect(again!.stamp > push.stamp)
        let reason =
            isUnknown
            ? "gave way; an attempt whose answer is not known may have reached the device before" : Self.withdrawn
        #expect(h.outcome(of: goal)?.reason == reason)
    }

    /// The withdrawal gives way to the newer update in flight. That update is sent again without an alert, so it needs
    /// another stamp.
    @Test func whatIsInFlightAndNewerGoesAgainWithout() {
        let h = Self.alive()
        h.update(1, at: 1, priority: 5, alert: "goal")
        h.update(2, at: 9, priority: 10)
        let push = h.take()!
        #expect(push.n == 2 && push.alert == "goal")
        h.update(3, at: 5, more: Self.null)
        h.answer(push, .unknown(detail: "reset"))
        h.advance(60_000)
        let again = h.deliver()
        #expect(again?.n == 2 && again?.alert == nil)
        #expect(again!.stamp > push.stamp)
    }

    /// After a crash the next owner knows from `state` that the update in flight had left.
    @Test func theNextOwnerKnowsThatItHadLeft() {
        let h = Self.alive()
        h.update(1, at: 1, alert: "goal")
        let push = h.take()!
        h.update(2, at: 2, more: Self.null)
        h.advance(3_000)
        h.crash()
        h.advance(60_000)
        let again = h.deliver()
        #expect(again?.n == 2 && again?.alert == nil)
        #expect(again!.stamp > push.stamp)
        #expect(h.isCommitted())
    }

    @Test func whatArrivedHasRungAndIsDelivered() {
        let h = Self.alive()
        let goal = h.update(1, at: 1, alert: "goal")
        let push = h.take()!
        h.update(2, at: 2, more: Self.null)
        h.answer(push, .accepted)
        #expect(h.outcomes(of: goal) == ["delivered"])
        h.advance(2_000)
        #expect(h.deliver()?.alert == nil)
    }

    // MARK: Starts

    /// A start keeps its alert, because a phone shows no start without one.
    @Test func aStartKeepsItsAlert() {
        let h = EngineHarness()
        h.start(1, at: 1)
        h.update(2, at: 2, more: Self.null)
        let push = h.deliver()
        #expect(push?.event == "start" && push?.n == 2 && push?.alert == "start")
    }

    @Test func anEndBehindAStartDoesNotRing() {
        let h = EngineHarness()
        h.start(1, at: 1)
        h.end(2, at: 2, more: Self.null)
        #expect(h.deliver()?.alert == "start")
        h.register()
        h.advance(2_000)
        let push = h.deliver()
        #expect(push?.event == "end" && push?.alert == nil)
    }

    // MARK: Withdrawals that are set aside

    @Test func anExpiredWithdrawalWithdrawsNothing() {
        let h = Self.alive()
        h.update(1, at: 1, priority: 5, alert: "goal")
        let none = h.update(2, at: 2, more: Self.null, #""expires":\#(h.wallSeconds - 1)"#)
        #expect(h.outcomes(of: none) == ["expired"])
        h.advance(1_000)
        #expect(h.deliver()?.alert == "goal")
    }

    @Test func anAlertBeneathIsWithdrawnToo() {
        let h = Self.alive { $0.apps[0].registrationWaitMillis = 600_000 }
        h.unregister()
        h.update(1, at: 1, alert: "goal")
        h.update(2, at: 2, more: #""expires":\#(h.wallSeconds + 5)"#)
        h.update(3, at: 3, more: Self.null, #""expires":\#(h.wallSeconds + 4)"#)
        h.advance(10_000)
        h.register()
        let push = h.deliver()
        #expect(push?.n == 1 && push?.alert == nil)
    }
}
