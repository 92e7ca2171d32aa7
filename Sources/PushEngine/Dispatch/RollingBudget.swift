/// High-priority pushes of one slot in a rolling hour (contract: The budget).
///
/// A unit is taken when the request leaves. It returns `windowMillis` after the answer, or at once if APNs refused the
/// push. While the push is in flight, `inFlight` stands for the unit. Afterwards `answers` has the time of the answer.
/// Times are of the steady clock, so a wall clock that steps back frees nothing.
struct RollingBudget {
    static let windowMillis: Int64 = 3_600_000

    /// Answer times of the units that are out, oldest first.
    private(set) var answers: [Int64] = []
    private(set) var inFlight = false

    /// Number of units that are out at `nowMillis`.
    mutating func spent(nowMillis: Int64) -> Int {
        self.dropReturned(nowMillis: nowMillis)
        return self.answers.count + (self.inFlight ? 1 : 0)
    }

    /// Takes a unit for a push that leaves now. The caller has checked `spent`.
    mutating func take() {
        precondition(!self.inFlight, "a slot has one push in flight")
        self.inFlight = true
    }

    /// Starts the hour after which the unit returns. The push was answered, or its result is unknown.
    mutating func startReturn(nowMillis: Int64) {
        precondition(self.inFlight, "no unit is in flight")
        self.inFlight = false
        self.answers.append(max(nowMillis, self.answers.last ?? nowMillis))
    }

    /// Returns the unit at once: APNs refused the push or never processed it.
    mutating func refunded() {
        precondition(self.inFlight, "no unit is in flight")
        self.inFlight = false
    }

    /// When fewer than `limit` units will be out if nothing else happens (steady clock); `nil`: not before the push in
    /// flight is answered, or never.
    func returnMillis(limit: Int) -> Int64? {
        let held = self.inFlight ? 1 : 0
        guard limit > held else { return nil }
        // Once `answers[index]` has returned, count - index - 1 + held units are out, which is below `limit`.
        let index = self.answers.count - limit + held
        guard index >= 0 else { return Int64.min }
        return self.answers[index] + Self.windowMillis
    }

    /// Resets the budget to no unit out. The storage is kept.
    mutating func reset() {
        self.answers.removeAll(keepingCapacity: true)
        self.inFlight = false
    }

    /// Adds a unit found in `state`, `ageMillis` old by the wall clock, unless it has returned. A negative age (the
    /// clock stepped back) counts as 0.
    mutating func restore(ageMillis: Int64, nowMillis: Int64) {
        let age = max(0, ageMillis)
        guard age < Self.windowMillis else { return }
        self.answers.append(max(nowMillis - age, self.answers.last ?? Int64.min))
    }

    /// Number of units in `answers` that have returned by `nowMillis`. It is also the index of the first unit that has
    /// not returned.
    func firstHeld(nowMillis: Int64) -> Int {
        var index = 0
        while index < self.answers.count, self.answers[index] + Self.windowMillis <= nowMillis { index += 1 }
        return index
    }

    private mutating func dropReturned(nowMillis: Int64) {
        let kept = self.firstHeld(nowMillis: nowMillis)
        guard kept > 0 else { return }
        self.answers.removeFirst(kept)
    }
}
