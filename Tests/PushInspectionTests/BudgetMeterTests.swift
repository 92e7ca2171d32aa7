import Testing

@testable import PushInspection

struct BudgetMeterTests {
    private func meter(_ spent: Int, defers: Bool = false, returns: [Int64]) -> BudgetMeter {
        BudgetMeter(
            keeper: .worker(reserve: 2, defers: defers), perHour: 15, spent: spent, returnsInSeconds: returns)
    }

    @Test(arguments: [
        (0, [], BudgetMeter.Level.plenty, "0 of 15 pushes at priority 10 of this hour are spent."),
        (1, [3_541], .plenty, "1 of 15 pushes at priority 10 of this hour is spent. The next one returns in 60 min."),
        (
            13, (1...13).map { Int64($0) * 10 }, .reserve,
            "13 of 15 pushes at priority 10 of this hour are spent. What is left is kept for alerts and ends: "
                + "other updates go out at priority 5 until one more returns, in 10 s."
        ),
        (
            15, (1...15).map { Int64($0) * 60 }, .empty,
            "15 of 15 pushes at priority 10 of this hour are spent: updates go out at priority 5 until one more returns, in 3 min."
        ),
    ])
    func itSaysWhatIsSpentAndWhenItIsBack(
        spent: Int, returns: [Int64], level: BudgetMeter.Level, text: String
    ) {
        let meter = self.meter(spent, returns: returns)
        #expect(meter.level == level)
        #expect(meter.text == text)
        #expect(meter.left == 15 - spent)
    }

    /// A unit in flight returns at an unknown time, so it counts as the last to return.
    @Test func whatIsInFlightReturnsLast() {
        let meter = self.meter(15, defers: true, returns: (1...14).map { Int64($0) * 60 })
        #expect(meter.text.hasSuffix("updates wait in the worker until one more returns, in 3 min."))
        #expect(
            BudgetMeter(keeper: .worker(reserve: 0, defers: false), perHour: 1, spent: 1).text.hasSuffix(
                "at priority 5."))
    }

    @Test func anAudienceCountsItsVersionsForEachKindOfMembers() {
        let meter = BudgetMeter(
            keeper: .audience(reserve: 2, isFrequent: false), perHour: 15, spent: 13, returnsInSeconds: [70])
        #expect(meter.level == .reserve && meter.left == 2)
        #expect(
            meter.text
                == "13 of 15 versions at priority 10 of this hour are spent for members without frequent updates. "
                + "What is left is kept for alerts and ends: other updates reach them at priority 5 until one more returns, in 70 s."
        )
        let frequent = BudgetMeter(keeper: .audience(reserve: 2, isFrequent: true), perHour: 120, spent: 1)
        #expect(
            frequent.text
                == "1 of 120 versions at priority 10 of this hour is spent for members with frequent updates.")
    }

    @Test func aPhoneDropsWhatIsTooMuch() {
        let meter = BudgetMeter(keeper: .phone, perHour: 2, spent: 2)
        #expect(meter.level == .empty && meter.reserve == 0)
        #expect(
            meter.text
                == "2 of 2 pushes at priority 10 of this hour are spent on the phone: it silently drops more."
        )
    }

    @Test func aReserveThatIsAllLeavesNothingForOthers() {
        let meter = BudgetMeter(keeper: .worker(reserve: 9, defers: false), perHour: 3, spent: 0)
        #expect(meter.reserve == 3 && meter.level == .reserve)
        #expect(meter.text.hasSuffix("other updates go out at priority 5."))
    }
}
