/// Counts what was spent within the last 3,600 s, exactly, in 4 bytes per unit.
///
/// Times are kept as the low 32 bits of milliseconds. That is unambiguous, because everything is forgotten once the newest is an hour old.
struct RollingHour: Sendable {
    static let hourMillis: Int64 = 3_600_000
    /// Beyond any budget that is known; past it the oldest is forgotten, and the count stays here.
    static let unitsMax = 1_024

    private var spent: [UInt32] = []
    private var newestMillis: Int64 = .min
    /// The highest count any rolling hour has seen.
    private(set) var peak: UInt16 = 0

    /// Spends one unit and returns how many the hour ending now holds, this one included. A clock that steps back stands still here.
    mutating func spend(nowMillis: Int64) -> Int {
        let now = max(nowMillis, self.newestMillis)
        self.forget(now)
        if self.spent.count == Self.unitsMax { self.spent.removeFirst() }
        self.spent.append(UInt32(truncatingIfNeeded: now))
        self.newestMillis = now
        self.peak = max(self.peak, UInt16(self.spent.count))
        return self.spent.count
    }

    /// Units spent in the hour ending now.
    func count(nowMillis: Int64) -> Int {
        let now = max(nowMillis, self.newestMillis)
        guard !self.spent.isEmpty, now - self.newestMillis < Self.hourMillis else { return 0 }
        return self.spent.count - self.expiredCount(now)
    }

    private mutating func forget(_ now: Int64) {
        guard !self.spent.isEmpty else { return }
        // Not `now - newest` without the check above: the first spend has no newest.
        if now - self.newestMillis >= Self.hourMillis {
            self.spent.removeAll(keepingCapacity: true)
        } else {
            self.spent.removeFirst(self.expiredCount(now))
        }
    }

    /// A unit spent at t is back at t + 3,600 s sharp.
    private func expiredCount(_ now: Int64) -> Int {
        let low = UInt32(truncatingIfNeeded: now)
        return self.spent.firstIndex { low &- $0 < UInt32(Self.hourMillis) } ?? self.spent.count
    }
}
