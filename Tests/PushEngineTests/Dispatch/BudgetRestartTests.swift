import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests the budget through clock steps, restarts and replays: at most N high-priority pushes leave in any hour
/// (contract: The budget).
@Suite struct BudgetRestartTests {
    // MARK: Clocks

    @Test(arguments: [-240_000, -1_000, 3_600_000, 86_400_000] as [Int64])
    func aWallClockThatStepsFreesNothing(millis: Int64) {
        let h = BudgetHarness.alive(perHour: 1, reserve: 0)
        #expect(BudgetHarness.spend(h, 1, at: 0) == [10])
        h.stepWallClock(millis)
        h.advance(60_000)
        #expect(BudgetHarness.spend(h, 1, alert: "!", at: 1) == [5])
    }

    @Test func aWallClockThatSteppedBackBeforeARestartFreesNothing() {
        let h = BudgetHarness.alive(perHour: 1, reserve: 0)
        #expect(BudgetHarness.spend(h, 1, at: 0) == [10])
        h.stepWallClock(-240_000)
        h.crash(afterMillis: 0)
        h.advance(60_000)
        #expect(BudgetHarness.spend(h, 1, alert: "!", at: 1) == [5])
        h.advance(BudgetHarness.hour - 70_000)
        #expect(BudgetHarness.spend(h, 1, alert: "!", at: 2) == [5])
        h.advance(70_000)
        #expect(BudgetHarness.spend(h, 1, alert: "!", at: 3) == [10])
    }

    // MARK: Restarts

    @Test func spentUnitsComeBackThroughState() {
        let h = BudgetHarness.alive(perHour: 2, reserve: 0)
        #expect(BudgetHarness.spend(h, 1) == [10])
        h.advance(1_800_000)
        h.crash()
        h.advance(2_000)
        #expect(BudgetHarness.spend(h, 2) == [10, 5])
        h.advance(1_800_000)
        #expect(BudgetHarness.spend(h, 2) == [10, 5])
    }

    /// A push before a crash was not recorded. The next owner counts it; otherwise N+1 pushes could leave in an hour.
    @Test(arguments: [true, false])
    func aReplayCountsThePushThatMayHaveLeft(pendingWasDurable: Bool) {
        let h = BudgetHarness.alive(perHour: 2, reserve: 0)
        #expect(BudgetHarness.spend(h, 1) == [10])
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

    /// A push before a crash was not recorded, and its event has expired when it is read again. Every later owner
    /// counts the push. Found by the simulation.
    @Test func aReplayThatHasExpiredCountsThePushThatMayHaveLeft() {
        let h = BudgetHarness.alive(perHour: 1, reserve: 0)
        h.acknowledgesAtOnce = false
        h.update(1, priority: 10, more: #""expires":\#(EngineHarness.seconds(30))"#)
        #expect(h.deliver()?.priority == 10)
        h.crash(afterMillis: 60_000)
        h.acknowledgesAtOnce = true
        h.advance(2_000)
        #expect(BudgetHarness.spend(h, 1) == [5])
        h.crash()
        h.advance(2_000)
        #expect(BudgetHarness.spend(h, 1) == [5])
    }

    /// A replayed event had expired before it was written, so no owner can have sent it. It counts no unit.
    @Test func aReplayThatWasAlwaysTooLateCountsNothing() {
        let h = BudgetHarness.alive(perHour: 1, reserve: 0)
        h.advance(60_000)
        h.acknowledgesAtOnce = false
        h.update(1, priority: 10, more: #""expires":\#(EngineHarness.seconds(30))"#)
        h.crash()
        h.acknowledgesAtOnce = true
        h.advance(2_000)
        #expect(BudgetHarness.spend(h, 1) == [10])
    }

    /// Lets two owners push at high priority. Each crashes before the push is recorded.
    private static func twoDieOverIt(_ h: EngineHarness) {
        for _ in 0..<2 {
            h.acknowledgesAtOnce = false
            #expect(h.deliver()?.priority == 10)
            h.crash()
            h.acknowledgesAtOnce = false
            h.advance(2_000)
        }
        h.acknowledgesAtOnce = true
        h.step()
    }

    /// Several owners crash, each after an unrecorded push. Each of these pushes counts against the budget.
    @Test func everyOwnerThatDiedOverThePushCounts() {
        let h = BudgetHarness.alive(perHour: 3, reserve: 0)
        #expect(BudgetHarness.spend(h, 1) == [10])
        h.update(2, priority: 10)
        h.acknowledgesAtOnce = false
        Self.twoDieOverIt(h)
        let again = h.deliver()
        #expect(again?.n == 2)
        #expect(again?.priority == 5, "three of three are out")
        h.advance(BudgetHarness.hour)
        #expect(BudgetHarness.spend(h, 3) == [10, 10, 10])
    }

    /// No `state` record mentions the activity yet. Every crashed owner may have pushed to it, so one unit counts for
    /// each.
    @Test func everyOwnerThatDiedOverANewActivityCounts() {
        let h = BudgetHarness.alive(perHour: 2, reserve: 0)
        h.acknowledgesAtOnce = false
        h.register(token: "bb", of: "new")
        h.update(1, of: "new", priority: 10)
        Self.twoDieOverIt(h)
        #expect(h.deliver()?.priority == 5, "two of two are out")
    }

    /// Owners that crashed before the event was written cannot have sent it, so they count no unit.
    @Test func ownersBeforeTheEventDoNotCount() {
        let h = BudgetHarness.alive(perHour: 2, reserve: 0)
        for _ in 0..<3 { h.crash(afterMillis: 60_000) }
        h.advance(60_000)
        h.acknowledgesAtOnce = false
        h.update(1, priority: 10)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.priority == 10, "one may have left before")
    }

    @Test func aReplayCountsOneExtraAtMost() {
        let h = BudgetHarness.alive(perHour: 3, reserve: 0)
        h.acknowledgesAtOnce = false
        for n in 0..<5 { h.update(n, priority: 10) }
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.priority == 10)
        h.advance(2_000)
        #expect(BudgetHarness.spend(h, 2) == [10, 5])
    }

    @Test func lowPriorityReplaysCountNothing() {
        let h = BudgetHarness.alive(perHour: 1, reserve: 0)
        h.acknowledgesAtOnce = false
        h.update(1)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.priority == 5)
        h.advance(2_000)
        #expect(BudgetHarness.spend(h, 1) == [10])
    }

    /// A unit in flight is written as spent, because the next owner cannot know the answer.
    @Test func aUnitInFlightIsWrittenAsSpent() {
        let h = BudgetHarness.alive(perHour: 1, reserve: 0)
        h.update(1, priority: 10)
        _ = h.take()
        h.register(token: "bb02")
        h.advance(1_000)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.priority == 5)
    }

    /// Traffic, answers and crashes are random. APNs never gets more high-priority pushes in an hour than the limit
    /// allows.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func neverMoreThanNInAnyHour(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let limit = Int.random(in: 1...6, using: &random)
        let h = BudgetHarness.alive(
            perHour: limit, reserve: Int.random(in: 0..<limit, using: &random),
            policy: seed.isMultiple(of: 2) ? .defer : .downgrade)
        // Times of the high-priority pushes that were not refused, by the wall clock, which does not step here. Steady
        // clocks differ between processes.
        var seen: [Int64] = []
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
                let refusal = PushAnswer.Result.response(PushResponse(status: 503, reason: "ServiceUnavailable"))
                h.answer(push, refused ? refusal : unknown ? .unknown(detail: "reset") : .accepted)
                if Int.random(in: 0..<10, using: &random) == 0 {
                    h.crash(afterMillis: Int64.random(in: 0...60_000, using: &random))
                }
                h.acknowledgesAtOnce = true
                h.step()
            }
        }
        #expect(seen.count > limit)
        for (index, first) in seen.enumerated() {
            let inHour = seen[index...].count { $0 < first + BudgetHarness.hour }
            if inHour > limit { Issue.record("\(inHour) of \(limit) within an hour, seed \(seed)") }
        }
    }
}
