@testable import PushEngine
import Testing

@Suite struct BudgetStoreTests {
    @Test func anActivityWithoutUnitsTakesNoRoom() {
        var store = BudgetStore()
        var slot = BudgetID.none
        #expect(store.spent(&slot, nowMillis: 0) == 0)
        #expect(slot == BudgetID.none)
        #expect(store.returnMillis(slot, limit: 3) == .min)
        #expect(store.allReturnedMillis(slot) == .max)
        store.take(&slot)
        #expect(store.spent(&slot, nowMillis: 5) == 1)
        #expect(store.allReturnedMillis(slot) == .max, "one in flight has no time yet")
        store.startReturn(slot, nowMillis: 10)
        let over = 10 + RollingBudget.windowMillis
        #expect(store.allReturnedMillis(slot) == over)
        #expect(store.spent(&slot, nowMillis: over - 1) == 1)
        let held = store.count
        #expect(held == 1)
        #expect(store.spent(&slot, nowMillis: over) == 0)
        let left = store.count
        #expect(slot == BudgetID.none && left == 0)
    }

    /// An entry that is used again holds nothing of its former slot.
    @Test func placesAreUsedAgainEmpty() {
        var store = BudgetStore()
        var first = BudgetID.none
        store.take(&first)
        store.startReturn(first, nowMillis: 100)
        store.take(&first)
        let place = first
        store.release(&first)
        var second = BudgetID.none
        store.restore(&second, ageMillis: 50, nowMillis: 1_000)
        #expect(second == place)
        let (answers, isInFlight) = unsafe (Array(store.answers(second)), store.isInFlight(second))
        #expect(answers == [950] && !isInFlight)
        store.take(&second)
        store.refunded(&second)
        #expect(store.spent(&second, nowMillis: 1_000) == 1)
    }

    /// A budget without units is removed. If it were kept, it would be due at once, again and again.
    @Test func aRefundedOnlyUnitLeavesNothing() {
        var store = BudgetStore()
        var slot = BudgetID.none
        store.take(&slot)
        store.refunded(&slot)
        #expect(slot == BudgetID.none)
        store.restore(&slot, ageMillis: RollingBudget.windowMillis, nowMillis: 5)
        #expect(slot == BudgetID.none)
    }
}
