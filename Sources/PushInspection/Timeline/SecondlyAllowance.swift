/// So much within one second of the clock. Once a second brings more it is crowded, and only a sample is taken, until a second brings no more than it may.
struct SecondlyAllowance: Sendable {
    let countMax: Int
    private var second: Int64 = .min
    private var seenCount = 0
    /// What was taken of the sample.
    private var sampledCount = 0
    /// The second before brought more than it may, or this one does.
    private(set) var isCrowded = false
    /// A second brought more than `farBeyondFactor` times what it may. Lasts as long as it is crowded, so that it does not come and go.
    private(set) var isFarBeyond = false
    /// What came in the second before.
    private(set) var lastSecondCount = 0
    /// How many were not taken.
    private(set) var skippedCount = 0

    /// What came within a second: this one, or the one before if that brought more.
    var recentCount: Int { max(self.lastSecondCount, self.seenCount) }

    static let farBeyondFactor = 2

    init(countMax: Int) { self.countMax = countMax }

    /// - Returns: whether a second has begun since the last time.
    mutating func begin(nowMillis: Int64) -> Bool {
        let second = nowMillis / 1_000
        // Several threads read the clock: what comes a second late, just after the next has begun, counts to that.
        guard second > self.second || self.second - second > 1 else { return false }
        self.lastSecondCount = second == self.second &+ 1 ? self.seenCount : 0
        self.isCrowded = self.lastSecondCount > self.countMax
        self.isFarBeyond =
            self.isCrowded && (self.isFarBeyond || self.lastSecondCount > self.countMax * Self.farBeyondFactor)
        self.second = second
        (self.seenCount, self.sampledCount) = (0, 0)
        return true
    }

    /// Nothing may have come for a while. - Returns: whether it was crowded, or is.
    mutating func look(nowMillis: Int64) -> Bool {
        let wasCrowded = self.isCrowded
        // Something may still come in the second that has just begun.
        if wasCrowded, nowMillis / 1_000 > self.second { _ = self.begin(nowMillis: nowMillis) }
        return wasCrowded
    }

    /// One more has come; `take` follows. - Returns: whether it is crowded from now on.
    mutating func see() -> Bool { self.see(1) }

    /// A number of others have come, and none of them is taken. - Returns: whether it is crowded from now on.
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

    /// The sample has room of its own, beside what was taken before it was crowded.
    /// - Parameter isSampled: it belongs to the sample that is taken while it is crowded.
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
