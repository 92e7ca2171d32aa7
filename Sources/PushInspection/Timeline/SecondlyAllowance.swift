/// A limit for each second of the clock. When a second exceeds it, only a sample is taken until a second stays within
/// the limit again. Meanwhile the allowance is crowded.
struct SecondlyAllowance: Sendable {
    let countMax: Int
    private var second: Int64 = .min
    private var seenCount = 0
    /// Number of entries of the sample that were taken in this second.
    private var sampledCount = 0
    /// Whether the previous second or this one exceeds the limit.
    private(set) var isCrowded = false
    /// Whether a second had more than `farBeyondFactor` times the limit. Stays true while crowded, so that it does not
    /// flicker.
    private(set) var isFarBeyond = false
    /// Number of arrivals in the previous second.
    private(set) var lastSecondCount = 0
    /// Number of entries that were not taken.
    private(set) var skippedCount = 0

    /// Number of arrivals in this second or in the previous one: the larger of the two.
    var recentCount: Int { max(self.lastSecondCount, self.seenCount) }

    static let farBeyondFactor = 2

    init(countMax: Int) { self.countMax = countMax }

    /// Begins a new second, if the clock has reached one.
    /// - Returns: whether a second has begun since the last call.
    mutating func begin(nowMillis: Int64) -> Bool {
        let second = nowMillis / 1_000
        // Several threads read the clock. An arrival of the previous second, just after the next has begun, counts for
        // the next.
        guard second > self.second || self.second - second > 1 else { return false }
        self.lastSecondCount = second == self.second &+ 1 ? self.seenCount : 0
        self.isCrowded = self.lastSecondCount > self.countMax
        self.isFarBeyond =
            self.isCrowded && (self.isFarBeyond || self.lastSecondCount > self.countMax * Self.farBeyondFactor)
        self.second = second
        (self.seenCount, self.sampledCount) = (0, 0)
        return true
    }

    /// Ends the last second when nothing has arrived after it.
    /// - Returns: whether the allowance was or is crowded.
    mutating func look(nowMillis: Int64) -> Bool {
        let wasCrowded = self.isCrowded
        // More may still arrive in the second that has just begun.
        if wasCrowded, nowMillis / 1_000 > self.second { _ = self.begin(nowMillis: nowMillis) }
        return wasCrowded
    }

    /// Counts one arrival. Call `take` afterwards to decide whether the arrival is taken.
    /// - Returns: whether this arrival makes the allowance crowded.
    mutating func see() -> Bool { self.see(1) }

    /// Counts arrivals that are not taken.
    /// - Returns: whether these arrivals make the allowance crowded.
    mutating func pass(_ count: Int) -> Bool {
        self.skippedCount += count
        return self.see(count)
    }

    private mutating func see(_ count: Int) -> Bool {
        self.seenCount += count
        guard !self.isCrowded, self.seenCount > self.countMax else { return false }
        self.isCrowded = true
        return true
    }

    /// Decides whether to take an arrival. While the allowance is crowded, up to `countMax` arrivals of the sample are
    /// taken in a second, and no others.
    /// - Parameter isSampled: whether the arrival belongs to the sample.
    /// - Returns: whether it is taken.
    mutating func take(isSampled: Bool) -> Bool {
        guard self.isCrowded else { return true }
        guard isSampled, self.sampledCount < self.countMax else {
            self.skippedCount += 1
            return false
        }
        self.sampledCount += 1
        return true
    }
}
