import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests how many high-priority pushes an activity may have in an hour, and what happens beyond them (contract: Over
/// the budget).
@Suite struct BudgetPolicyTests {
    private static let hour = BudgetHarness.hour

    private static func alive(
        perHour: Int = 5, reserve: Int = 2, policy: AppConfiguration.BudgetPolicy = .downgrade, frequent: Bool = false
    ) -> EngineHarness {
        BudgetHarness.alive(perHour: perHour, reserve: reserve, policy: policy, frequent: frequent)
    }

    private static func spend(_ h: EngineHarness, _ count: Int, alert: String? = nil) -> [Int] {
        BudgetHarness.spend(h, count, alert: alert)
    }

    @Test func pastTheBudgetUpdatesAreDowngraded() {
        let h = Self.alive()
        #expect(Self.spend(h, 5) == [10, 10, 10, 5, 5], "two units are reserved")
        #expect(Self.spend(h, 3, alert: "!") == [10, 10, 5], "for alerts")
        #expect(h.counters.pushesDowngraded == 3)
        #expect(h.counters.pushesHighPriority == 5)
        h.end()
        #expect(h.deliver()?.priority == 5, "an end leaves at once, whatever the budget")
    }

    @Test func anEndMayUseTheReserve() {
        let h = Self.alive()
        #expect(Self.spend(h, 4).last == 5)
        h.end()
        #expect(h.deliver()?.priority == 10)
    }

    /// A downgraded push leaves at once, with priority 5, and the outcome says so.
    @Test func aDowngradedPushHasNoWindow() {
        let h = Self.alive(perHour: 1, reserve: 0)
        _ = Self.spend(h, 1)
        let offset = h.update(2, priority: 10)
        #expect(h.deliver()?.priority == 5)
        #expect(h.outcome(of: offset)?.priority == 5)
    }

    @Test func frequentUpdatesHaveABudgetOfTheirOwn() {
        let h = Self.alive(frequent: true)
        #expect(Self.spend(h, 8) == [10, 10, 10, 10, 10, 10, 5, 5])
        h.register(frequent: false)
        #expect(Self.spend(h, 1, alert: "!") == [5])
    }

    @Test func lowPriorityCostsNothing() {
        let h = Self.alive(perHour: 1, reserve: 0)
        for n in 0..<20 {
            h.update(n)
            h.advance(1_000)
            #expect(h.deliver()?.priority == 5)
            h.advance(1_000)
        }
        #expect(Self.spend(h, 1) == [10])
    }

    @Test func aUnitReturnsAnHourAfterItsAnswer() {
        let h = Self.alive(perHour: 1, reserve: 0)
        h.update(1, priority: 10)
        let push = h.take()!
        h.advance(10_000)
        h.answer(push, .accepted)
        h.advance(Self.hour - 1)
        h.update(2, priority: 10)
        #expect(h.deliver()?.priority == 5)
        h.advance(1_000)
        h.update(3, priority: 10)
        #expect(h.deliver()?.priority == 10)
    }

    // MARK: Units that return

    struct Answer: Sendable, CustomTestStringConvertible {
        var result: PushAnswer.Result
        var spends: Bool
        var testDescription: String { "\(self.result)" }
    }

    @Test(arguments: [
        Answer(result: .accepted, spends: true), Answer(result: .unknown(detail: "reset"), spends: true),
        Answer(result: .notProcessed, spends: false),
        Answer(
            result: .response(PushResponse(status: 429, reason: "TooManyRequests")),
            spends: false),
        Answer(
            result: .response(PushResponse(status: 500, reason: "InternalServerError")),
            spends: false),
        Answer(
            result: .response(PushResponse(status: 413, reason: "PayloadTooLarge")),
            spends: false),
        Answer(
            result: .response(PushResponse(status: 410, reason: "Unregistered")),
            spends: false),
    ])
    func aRefusedOrUnprocessedPushGivesItsUnitBack(_ answer: Answer) {
        let h = Self.alive(perHour: 1, reserve: 0)
        h.update(1, priority: 10)
        h.answer(h.take()!, answer.result)
        h.register(token: "bb02")
        h.advance(120_000)
        h.update(2, priority: 10)
        #expect(h.deliver()?.priority == (answer.spends ? 5 : 10))
    }

    // MARK: Deferring

    @Test func deferHoldsMergingUntilBudgetReturns() {
        let h = Self.alive(perHour: 2, reserve: 0, policy: .defer)
        let answered = h.now.steadyMillis
        #expect(Self.spend(h, 2) == [10, 10])
        h.update(7, priority: 10, alert: "seven")
        h.update(8, priority: 10)
        #expect(h.take() == nil)
        h.advance(answered + Self.hour - h.now.steadyMillis - 1)
        #expect(h.take() == nil)
        h.advance(1)
        let push = h.deliver()
        #expect(push?.priority == 10)
        #expect(push?.n == 8)
        #expect(push?.alert == "seven")
    }

    @Test func deferDoesNotHoldLowPriority() {
        let h = Self.alive(perHour: 1, reserve: 0, policy: .defer)
        _ = Self.spend(h, 1)
        h.update(2)
        h.advance(1_000)
        #expect(h.deliver()?.priority == 5)
    }

    @Test func deferReservesForAlertsAndEnds() {
        let h = Self.alive(perHour: 3, reserve: 2, policy: .defer)
        #expect(Self.spend(h, 1) == [10])
        h.update(2, priority: 10)
        #expect(h.take() == nil)
        h.update(3, alert: "now")
        #expect(h.deliver()?.priority == 10)
        h.advance(2_000)
        h.end()
        #expect(h.deliver()?.priority == 10)
    }

    @Test func anEndIsNeverDeferred() {
        let h = Self.alive(perHour: 1, reserve: 0, policy: .defer)
        _ = Self.spend(h, 1)
        h.update(2, priority: 10)
        #expect(h.take() == nil)
        h.end()
        let push = h.deliver()
        #expect(push?.event == "end")
        #expect(push?.n == 2)
        #expect(push?.priority == 5)
    }

    @Test func aStartIsNeverDeferred() {
        let h = Self.alive(perHour: 1, reserve: 0, policy: .defer)
        _ = Self.spend(h, 1)
        h.end()
        h.deliver()
        h.advance(2_000)
        h.start(3)
        let push = h.deliver()
        #expect(push?.event == "start")
        #expect(push?.priority == 5, "the hour is not over: a new life has the old one's budget")
    }

    @Test func anUpdateThatIsDeferredExpiresAsAlways() {
        let h = Self.alive(perHour: 1, reserve: 0, policy: .defer)
        _ = Self.spend(h, 1)
        let offset = h.update(2, priority: 10, more: #""expires":\#(EngineHarness.seconds(60))"#)
        h.advance(60_000)
        #expect(h.outcomes(of: offset) == ["expired"])
    }
}
