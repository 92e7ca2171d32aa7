/// High-priority pushes of one activity in a rolling hour (contract: The budget).
///
/// A unit is taken when the request leaves and comes back `windowMillis` after its answer; at once if APNs refused it. While a push is
/// in flight its unit is held by `inFlight`; afterwards its answer time stands in `answers`. On the steady clock, so a wall clock that
/// steps back frees nothing.
struct RollingBudget {
    static let windowMillis: Int64 = 3_600_000

    /// Answer times, oldest first.
    private(set) var answers: [Int64] = []
    private(set) var inFlight = false

    /// Units taken at `nowMillis`.
    mutating func spent(nowMillis: Int64) -> Int {
        self.dropReturned(nowMillis: nowMillis)
        return self.answers.count + (self.inFlight ? 1 : 0)
    }

    /// Takes a unit for a push that leaves now. The caller has checked `spent`.
    mutating func take() {
        precondition(!self.inFlight, "a slot has one push in flight")
        self.inFlight = true
    }

    /// The push was answered, or nobody knows: its unit returns an hour from now.
    mutating func startReturn(nowMillis: Int64) {
        precondition(self.inFlight, "no unit is in flight")
        self.inFlight = false
        self.answers.append(max(nowMillis, self.answers.last ?? nowMillis))
    }

    /// APNs refused the push or never processed it: the unit is back.
    mutating func refunded() {
        precondition(self.inFlight, "no unit is in flight")
        self.inFlight = false
    }

    /// When fewer than `limit` units will be taken, nothing else happening; `nil` if that needs the answer of the one in flight.
    func returnMillis(limit: Int) -> Int64? {
        let held = self.inFlight ? 1 : 0
        guard limit > held else { return nil }
        // With `answers[index]` returned, what is left is count - index - 1 + held < limit.
        let index = self.answers.count - limit + held
        guard index >= 0 else { return Int64.min }
        return self.answers[index] + Self.windowMillis
    }

    /// No unit is out; the storage is kept.
    mutating func reset() {
        self.answers.removeAll(keepingCapacity: true)
        self.inFlight = false
    }

    /// A unit found in `state`, `ageMillis` old by the wall clock. A negative age (the clock stepped back) counts as none.
    mutating func restore(ageMillis: Int64, nowMillis: Int64) {
        let age = max(0, ageMillis)
        guard age < Self.windowMillis else { return }
        self.answers.append(max(nowMillis - age, self.answers.last ?? Int64.min))
    }

    /// How many of the oldest answers have returned by `nowMillis`: the index of the first that has not.
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
