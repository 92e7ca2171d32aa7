/// The budgets of the slots that have units out. Other slots take no room. Each slot keeps the number of its budget.
struct BudgetStore: ~Copyable {
    private var budgets = ChunkedStore<BudgetID, RollingBudget>()
    private var free: [BudgetID] = []

    /// Number of budgets in use. A budget whose units have all returned counts until it is released.
    var count: Int { self.budgets.count - self.free.count }

    /// Prefetches the budget, which will be read soon.
    func prefetch(_ id: BudgetID) {
        if id.isSome { self.budgets.prefetch(id) }
    }

    /// Number of units that are out at `nowMillis`, the one in flight included. If it is 0, the budget is released.
    mutating func spent(_ id: inout BudgetID, nowMillis: Int64) -> Int {
        guard id.isSome else { return 0 }
        let spent = self.budgets[id].spent(nowMillis: nowMillis)
        if spent == 0 { self.release(&id) }
        return spent
    }

    mutating func take(_ id: inout BudgetID) {
        if id.isNone { id = self.make() }
        self.budgets[id].take()
    }

    /// Starts the hour after which the unit in flight returns. Its push was answered, or its result is unknown.
    mutating func startReturn(_ id: BudgetID, nowMillis: Int64) { self.budgets[id].startReturn(nowMillis: nowMillis) }

    /// Returns the unit in flight at once.
    mutating func refunded(_ id: inout BudgetID) {
        self.budgets[id].refunded()
        if self.budgets[id].answers.isEmpty { self.release(&id) }
    }

    mutating func restore(_ id: inout BudgetID, ageMillis: Int64, nowMillis: Int64) {
        if id.isNone { id = self.make() }
        self.budgets[id].restore(ageMillis: ageMillis, nowMillis: nowMillis)
        if self.budgets[id].answers.isEmpty, !self.budgets[id].inFlight { self.release(&id) }
    }

    /// When fewer than `limit` units will be out: see `RollingBudget.returnMillis`.
    func returnMillis(_ id: BudgetID, limit: Int) -> Int64? {
        guard id.isSome else { return limit > 0 ? Int64.min : nil }
        return self.budgets[id].returnMillis(limit: limit)
    }

    /// When the last unit will have returned (steady clock). `Int64.max`: a unit is in flight, or none is out.
    func allReturnedMillis(_ id: BudgetID) -> Int64 {
        guard id.isSome, !self.budgets[id].inFlight, let last = self.budgets[id].answers.last else {
            return .max
        }
        return last + RollingBudget.windowMillis
    }

    /// Number of units that are out at `nowMillis`, the one in flight included.
    func unitsOut(_ id: BudgetID, nowMillis: Int64) -> Int {
        guard id.isSome else { return 0 }
        let held = self.budgets[id].answers.count { $0 + RollingBudget.windowMillis > nowMillis }
        return held + (self.budgets[id].inFlight ? 1 : 0)
    }

    /// Milliseconds until each unit returns, the first to return first. A unit in flight is not included.
    func returnsMillis(_ id: BudgetID, nowMillis: Int64) -> [Int64] {
        guard id.isSome else { return [] }
        return self.budgets[id].answers.compactMap { answer in
            let left = answer + RollingBudget.windowMillis - nowMillis
            return left > 0 ? left : nil
        }
    }

    /// Whether a unit is in flight.
    func isInFlight(_ id: BudgetID) -> Bool { id.isSome && self.budgets[id].inFlight }

    /// Answer times of the units that are out, oldest first. The pointer is valid until the budget changes, because the
    /// budget owns the array.
    @unsafe func answers(_ id: BudgetID) -> UnsafeBufferPointer<Int64> {
        guard id.isSome else { return unsafe UnsafeBufferPointer(start: nil, count: 0) }
        return unsafe self.budgets[id].answers.withUnsafeBufferPointer { unsafe $0 }
    }

    mutating func release(_ id: inout BudgetID) {
        guard id.isSome else { return }
        self.budgets[id].reset()
        self.free.append(id)
        id = .none
    }

    private mutating func make() -> BudgetID {
        self.free.popLast() ?? self.budgets.append(RollingBudget())
    }
}
