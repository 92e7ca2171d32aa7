import PushModel
import Testing

@testable import PushEngine

@Suite struct RollingBudgetTests {
    private static let hour: Int64 = 3_600_000

    /// A model of one push at high priority. The push's unit is taken from the push's departure until an hour after the
    /// answer.
    private struct Spent {
        var answeredMillis: Int64?
        func holds(at now: Int64) -> Bool { self.answeredMillis.map { now < $0 + RollingBudgetTests.hour } ?? true }
    }

    /// The budget never allows N+1 in any rolling hour, and always allows N. The count is exact at every moment, and
    /// refunded units do not count. The time given for the next unit is the first at which one is free.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func countsExactly(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let limit = [1, 2, 15, 120][Int(seed % 4)]
        let stepMillis = 2 * Self.hour / Int64(limit + 1)
        var budget = RollingBudget()
        var now = Int64.random(in: -Self.hour...Self.hour, using: &random)
        var pushes: [Spent] = []
        var answers: [Int64] = []
        for _ in 0..<800 {
            now += Int64.random(in: 0...stepMillis, using: &random)
            let spent = pushes.count { $0.holds(at: now) }
            #expect(budget.spent(nowMillis: now) == spent)
            #expect(spent <= limit)
            if spent < limit {
                budget.take()
                pushes.append(Spent())
                // A unit counts while its push is in flight, however long that takes.
                now += Int64.random(in: 0...stepMillis, using: &random)
                #expect(budget.spent(nowMillis: now) == pushes.count { $0.holds(at: now) })
                if Int.random(in: 0..<4, using: &random) == 0 {
                    budget.refunded()
                    pushes.removeLast()
                } else {
                    budget.startReturn(nowMillis: now)
                    pushes[pushes.count - 1].answeredMillis = now
                    answers.append(now)
                }
            } else {
                guard let frees = budget.returnMillis(limit: limit) else {
                    Issue.record("nothing is in flight, so a unit does return")
                    continue
                }
                #expect(budget.spent(nowMillis: frees - 1) == limit)
                #expect(budget.spent(nowMillis: frees) < limit)
                now = frees
            }
        }
        // In any hour that begins with an answer there are at most N answers.
        for (index, first) in answers.enumerated() {
            #expect(answers[index...].count { $0 < first + Self.hour } <= limit)
        }
    }

    @Test func nothingReturnsBeforeTheOneInFlightIsAnswered() {
        var budget = RollingBudget()
        budget.take()
        #expect(budget.returnMillis(limit: 1) == nil)
        #expect(budget.returnMillis(limit: 0) == nil)
        #expect(budget.spent(nowMillis: 100 * Self.hour) == 1)
        budget.startReturn(nowMillis: 100 * Self.hour)
        #expect(budget.returnMillis(limit: 1) == 101 * Self.hour)
    }

    @Test func theUnitComesBackAnHourAfterTheAnswerToTheMillisecond() {
        var budget = RollingBudget()
        budget.take()
        budget.startReturn(nowMillis: 5_000)
        #expect(budget.spent(nowMillis: 5_000 + Self.hour - 1) == 1)
        #expect(budget.spent(nowMillis: 5_000 + Self.hour) == 0)
        #expect(budget.answers.isEmpty)
    }

    /// The limit becomes lower when a registration loses `frequent-updates`. The next unit is free when fewer units are
    /// taken than the lower limit allows.
    @Test func aLoweredLimitWaitsForAllThatIsTooMuch() {
        var budget = RollingBudget()
        for at in 1...20 {
            budget.take()
            budget.startReturn(nowMillis: Int64(at))
        }
        #expect(budget.returnMillis(limit: 15) == 6 + Self.hour)
        #expect(budget.spent(nowMillis: 6 + Self.hour) == 14)
    }

    struct Restored: Sendable {
        var agesMillis: [Int64]
        var spent: Int
        var nextReturnMillis: Int64?
    }

    /// `state` holds the ages of units by the wall clock. A clock that stepped back gives negative ages, which count
    /// as fresh.
    @Test(arguments: [
        Restored(agesMillis: [], spent: 0, nextReturnMillis: nil),
        Restored(agesMillis: [1_000], spent: 1, nextReturnMillis: hour - 1_000),
        Restored(agesMillis: [hour - 1], spent: 1, nextReturnMillis: 1),
        Restored(agesMillis: [hour, 2 * hour, .max], spent: 0, nextReturnMillis: nil),
        Restored(agesMillis: [-hour], spent: 1, nextReturnMillis: hour),
        Restored(agesMillis: [.min], spent: 1, nextReturnMillis: hour),
        Restored(agesMillis: [3_000, 1_000, 2_000], spent: 3, nextReturnMillis: hour - 3_000),
        Restored(agesMillis: [-5, 10, -hour], spent: 3, nextReturnMillis: hour),
    ])
    func restoresByAge(_ restored: Restored) {
        var budget = RollingBudget()
        let now: Int64 = 123_456
        for age in restored.agesMillis { budget.restore(ageMillis: age, nowMillis: now) }
        #expect(budget.spent(nowMillis: now) == restored.spent)
        #expect(budget.answers == budget.answers.sorted())
        guard let next = restored.nextReturnMillis else { return }
        #expect(budget.returnMillis(limit: restored.spent) == now + next)
    }

    /// A steady clock should never go back. If one does, no unit is freed by it.
    @Test func aClockThatStepsBackFreesNothing() {
        var budget = RollingBudget()
        budget.take()
        budget.startReturn(nowMillis: 10_000)
        budget.take()
        budget.startReturn(nowMillis: 4_000)
        #expect(budget.spent(nowMillis: 4_000 + Self.hour) == 2)
        #expect(budget.spent(nowMillis: 10_000 + Self.hour) == 0)
    }
}
