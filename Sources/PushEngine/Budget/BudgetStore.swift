/// The budgets of the activities that have units out; all others take no room. Named by a number that the slot keeps.
struct BudgetStore: ~Copyable {
    /// No budget: no unit is out.
    static let none: Int32 = -1

    private var budgets = ChunkedStore<RollingBudget>()
    private var free: [Int32] = []

    /// Budgets with units out, or not yet given back.
    var count: Int { self.budgets.count - self.free.count }

    /// The budget will be looked at soon.
    func prefetch(_ id: Int32) {
        if id >= 0 { self.budgets.prefetch(Int(id)) }
    }

    /// Units taken at `nowMillis`.
    mutating func spent(_ id: inout Int32, nowMillis: Int64) -> Int {
        guard id >= 0 else { return 0 }
        let spent = self.budgets[Int(id)].spent(nowMillis: nowMillis)
        if spent == 0 { self.release(&id) }
        return spent
    }

    mutating func take(_ id: inout Int32) {
        if id < 0 { id = self.make() }
        self.budgets[Int(id)].take()
    }

    /// The one in flight was answered, or nobody knows.
    mutating func answered(_ id: Int32, nowMillis: Int64) { self.budgets[Int(id)].answered(nowMillis: nowMillis) }

    /// The one in flight is back.
    mutating func refunded(_ id: inout Int32) {
        self.budgets[Int(id)].refunded()
        if self.budgets[Int(id)].answers.isEmpty { self.release(&id) }
    }

    mutating func restore(_ id: inout Int32, ageMillis: Int64, nowMillis: Int64) {
        if id < 0 { id = self.make() }
        self.budgets[Int(id)].restore(ageMillis: ageMillis, nowMillis: nowMillis)
        if self.budgets[Int(id)].answers.isEmpty, !self.budgets[Int(id)].inFlight { self.release(&id) }
    }

    /// See `RollingBudget.returnMillis`.
    func returnMillis(_ id: Int32, limit: Int) -> Int64? {
        guard id >= 0 else { return limit > 0 ? Int64.min : nil }
        return self.budgets[Int(id)].returnMillis(limit: limit)
    }

    /// When the last unit will have returned, unless one is in flight; `Int64.max`: not known, or none is out.
    func allReturnedMillis(_ id: Int32) -> Int64 {
        guard id >= 0, !self.budgets[Int(id)].inFlight, let last = self.budgets[Int(id)].answers.last else {
            return .max
        }
        return last + RollingBudget.windowMillis
    }

    /// A unit is in flight.
    func isInFlight(_ id: Int32) -> Bool { id >= 0 && self.budgets[Int(id)].inFlight }

    /// Answer times of the units out, oldest first. Valid until the budget changes: the array that holds them is the budget's own.
    @unsafe func answers(_ id: Int32) -> UnsafeBufferPointer<Int64> {
        guard id >= 0 else { return unsafe UnsafeBufferPointer(start: nil, count: 0) }
        return unsafe self.budgets[Int(id)].answers.withUnsafeBufferPointer { unsafe $0 }
    }

    mutating func release(_ id: inout Int32) {
        guard id >= 0 else { return }
        self.budgets[Int(id)].reset()
        self.free.append(id)
        id = Self.none
    }

    private mutating func make() -> Int32 {
        if let reused = self.free.popLast() { return reused }
        self.budgets.append(RollingBudget())
        return Int32(self.budgets.count - 1)
    }
}
