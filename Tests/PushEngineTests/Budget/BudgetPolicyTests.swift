import PushEngine
import PushModel
import Testing

/// High-priority pushes per activity and hour, and what happens past them (contract §5).
@Suite struct BudgetPolicyTests {
    private static let hour: Int64 = 3_600_000

    private static func alive(
        perHour: Int = 5, reserve: Int = 2, policy: AppConfiguration.BudgetPolicy = .downgrade, frequent: Bool = false
    ) -> EngineHarness {
        let h = EngineHarness {
            $0.apps[0].budgetPerHour = perHour
            $0.apps[0].budgetFrequentPerHour = perHour + 3
            $0.apps[0].budgetReserve = reserve
            $0.apps[0].budgetPolicy = policy
        }
        h.register(frequent: frequent)
        return h
    }

    /// Sends `count` high-priority updates two seconds apart; answers the priorities they left with.
    private static func spend(_ h: EngineHarness, _ count: Int, alert: String? = nil, at: Int64? = nil) -> [Int] {
        (0..<count).map { n in
            h.update(n, at: at, priority: 10, alert: alert)
            let priority = h.deliver()?.priority ?? 0
            h.advance(2_000)
            return priority
        }
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

    /// What a downgrade says: sent now, with priority 5, and the outcome says so.
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

    // MARK: Given back, or not

    struct Answer: Sendable, CustomTestStringConvertible {
        var result: PushAnswer.Result
        var spends: Bool
        var testDescription: String { "\(self.result)" }
    }

    @Test(arguments: [
        Answer(result: .accepted, spends: true), Answer(result: .unknown(detail: "reset"), spends: true),
        Answer(result: .notProcessed, spends: false),
        Answer(result: .response(status: 429, reason: "TooManyRequests", timestampMillis: nil, retryAfterSeconds: nil), spends: false),
        Answer(result: .response(status: 500, reason: "InternalServerError", timestampMillis: nil, retryAfterSeconds: nil), spends: false),
        Answer(result: .response(status: 413, reason: "PayloadTooLarge", timestampMillis: nil, retryAfterSeconds: nil), spends: false),
        Answer(result: .response(status: 410, reason: "Unregistered", timestampMillis: nil, retryAfterSeconds: nil), spends: false),
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

    // MARK: Clocks

    @Test(arguments: [-240_000, -1_000, 3_600_000, 86_400_000] as [Int64])
    func aWallClockThatStepsFreesNothing(millis: Int64) {
        let h = Self.alive(perHour: 1, reserve: 0)
        #expect(Self.spend(h, 1, at: 0) == [10])
        h.stepWallClock(millis)
        h.advance(60_000)
        #expect(Self.spend(h, 1, alert: "!", at: 1) == [5])
    }

    @Test func aWallClockThatSteppedBackBeforeARestartFreesNothing() {
        let h = Self.alive(perHour: 1, reserve: 0)
        #expect(Self.spend(h, 1, at: 0) == [10])
        h.stepWallClock(-240_000)
        h.crash(afterMillis: 0)
        h.advance(60_000)
        #expect(Self.spend(h, 1, alert: "!", at: 1) == [5])
        h.advance(Self.hour - 70_000)
        #expect(Self.spend(h, 1, alert: "!", at: 2) == [5])
        h.advance(70_000)
        #expect(Self.spend(h, 1, alert: "!", at: 3) == [10])
    }

    // MARK: Restarts

    @Test func spentUnitsComeBackThroughState() {
        let h = Self.alive(perHour: 2, reserve: 0)
        #expect(Self.spend(h, 1) == [10])
        h.advance(1_800_000)
        h.crash()
        h.advance(2_000)
        #expect(Self.spend(h, 2) == [10, 5])
        h.advance(1_800_000)
        #expect(Self.spend(h, 2) == [10, 5])
    }

    /// The push before the crash was never written down. It counts, or there would be N+1.
    @Test(arguments: [true, false])
    func aReplayCountsThePushThatMayHaveLeft(pendingWasDurable: Bool) {
        let h = Self.alive(perHour: 2, reserve: 0)
        #expect(Self.spend(h, 1) == [10])
        h.update(2, priority: 10)
        if pendingWasDurable { h.advance(2_000) }
        h.acknowledgesAtOnce = false
        #expect(h.deliver()?.priority == 10)
        h.crash()
        h.advance(2_000)
        let again = h.deliver()
        #expect(again?.n == 2)
        #expect(again?.priority == 5, "two of two are out")
    }

    @Test func aReplayCountsOneExtraAtMost() {
        let h = Self.alive(perHour: 3, reserve: 0)
        h.acknowledgesAtOnce = false
        for n in 0..<5 { h.update(n, priority: 10) }
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.priority == 10)
        h.advance(2_000)
        #expect(Self.spend(h, 2) == [10, 5])
    }

    @Test func lowPriorityReplaysCountNothing() {
        let h = Self.alive(perHour: 1, reserve: 0)
        h.acknowledgesAtOnce = false
        h.update(1)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.priority == 5)
        h.advance(2_000)
        #expect(Self.spend(h, 1) == [10])
    }

    /// A unit in flight when the record is written counts as spent: who reads it cannot know the answer.
    @Test func aUnitInFlightIsWrittenAsSpent() {
        let h = Self.alive(perHour: 1, reserve: 0)
        h.update(1, priority: 10)
        _ = h.take()
        h.register(token: "bb02")
        h.advance(1_000)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.priority == 5)
    }

    /// Random traffic, answers, crashes and clock steps: never N+1 in an hour, by what APNs saw.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func neverMoreThanNInAnyHour(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let limit = Int.random(in: 1...6, using: &random)
        let h = Self.alive(
            perHour: limit, reserve: Int.random(in: 0..<limit, using: &random), policy: seed.isMultiple(of: 2) ? .defer : .downgrade)
        var seen: [Int64] = []  // by the wall clock, which does not step here: steady clocks differ from process to process
        for n in 0..<250 {
            let priority = Int.random(in: 0..<4, using: &random) == 0 ? 5 : 10
            h.update(n, priority: priority, alert: Int.random(in: 0..<8, using: &random) == 0 ? "!" : nil)
            h.advance(Int64.random(in: 0...400_000, using: &random))
            if let push = h.take() {
                let refused = Int.random(in: 0..<6, using: &random) == 0
                if push.priority == 10, !refused { seen.append(h.now.wallMillis) }
                let unknown = Int.random(in: 0..<6, using: &random) == 0
                h.acknowledgesAtOnce = Int.random(in: 0..<3, using: &random) > 0
                h.advance(Int64.random(in: 0...2_000, using: &random))
                let refusal = PushAnswer.Result.response(
                    status: 503, reason: "ServiceUnavailable", timestampMillis: nil, retryAfterSeconds: nil)
                h.answer(push, refused ? refusal : unknown ? .unknown(detail: "reset") : .accepted)
                if Int.random(in: 0..<10, using: &random) == 0 { h.crash(afterMillis: Int64.random(in: 0...60_000, using: &random)) }
                h.acknowledgesAtOnce = true
                h.step()
            }
        }
        #expect(seen.count > limit)
        for (index, first) in seen.enumerated() {
            let inHour = seen[index...].count { $0 < first + Self.hour }
            if inHour > limit { Issue.record("\(inHour) of \(limit) within an hour, seed \(seed)") }
        }
    }
}
