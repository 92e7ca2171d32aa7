/// The budgets of the activities that have units out; all others take no room. Named by a number that the slot keeps.
struct BudgetStore: ~Copyable {
    private var budgets = ChunkedStore<BudgetID, RollingBudget>()
    private var free: [BudgetID] = []

    /// Budgets with units out, or not yet given back.
    var count: Int { self.budgets.count - self.free.count }

    /// The budget will be looked at soon.
    func prefetch(_ id: BudgetID) {
        if id.isSome { self.budgets.prefetch(id) }
    }

    /// Units taken at `nowMillis`.
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

    /// The one in flight was answered, or nobody knows.
    mutating func startReturn(_ id: BudgetID, nowMillis: Int64) { self.budgets[id].startReturn(nowMillis: nowMillis) }

    /// The one in flight is back.
    mutating func refunded(_ id: inout BudgetID) {
        self.budgets[id].refunded()
        if self.budgets[id].answers.isEmpty { self.release(&id) }
    }

    mutating func restore(_ id: inout BudgetID, ageMillis: Int64, nowMillis: Int64) {
        if id.isNone { id = self.make() }
        self.budgets[id].restore(ageMillis: ageMillis, nowMillis: nowMillis)
        if self.budgets[id].answers.isEmpty, !self.budgets[id].inFlight { self.release(&id) }
    }

    /// See `RollingBudget.returnMillis`.
    func returnMillis(_ id: BudgetID, limit: Int) -> Int64? {
        guard id.isSome else { return limit > 0 ? Int64.min : nil }
        return self.budgets[id].returnMillis(limit: limit)
    }

    /// When the last unit will have returned, unless one is in flight; `Int64.max`: not known, or none is out.
    func allReturnedMillis(_ id: BudgetID) -> Int64 {
        guard id.isSome, !self.budgets[id].inFlight, let last = self.budgets[id].answers.last else {
            return .max
        }
        return last + RollingBudget.windowMillis
    }

    /// Units that are out at `nowMillis`, the one in flight included.
    func unitsOut(_ id: BudgetID, nowMillis: Int64) -> Int {
        guard id.isSome else { return 0 }
        let held = self.budgets[id].answers.count { $0 + RollingBudget.windowMillis > nowMillis }
        return held + (self.budgets[id].inFlight ? 1 : 0)
    }

    /// How long until each unit that was answered returns, milliseconds, the next first.
    func returnsMillis(_ id: BudgetID, nowMillis: Int64) -> [Int64] {
        guard id.isSome else { return [] }
        return self.budgets[id].answers.compactMap { answer in
            let left = answer + RollingBudget.windowMillis - nowMillis
            return left > 0 ? left : nil
        }
    }

    /// A unit is in flight.
    func isInFlight(_ id: BudgetID) -> Bool { id.isSome && self.budgets[id].inFlight }

    /// Answer times of the units out, oldest first. Valid until the budget changes: the array that holds them is the budget's own.
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
