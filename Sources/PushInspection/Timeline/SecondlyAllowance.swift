/// So much within one second of the clock, and no more. After a second that brought more it is crowded, and only a sample is taken, until a second
/// brings no more than it may.
struct SecondlyAllowance: Sendable {
    let countMax: Int
    private var second: Int64 = .min
    private var seenCount = 0
    private var takenCount = 0
    /// The second before brought more than it may, or this one does.
    private(set) var isCrowded = false
    /// What came in the second before.
    private(set) var lastSecondCount = 0
    /// How many were not taken.
    private(set) var skippedCount = 0

    init(countMax: Int) { self.countMax = countMax }

    /// - Returns: whether a second has begun since the last time.
    mutating func begin(nowMillis: Int64) -> Bool {
        let second = nowMillis / 1_000
        guard second != self.second else { return false }
        self.lastSecondCount = second == self.second &+ 1 ? self.seenCount : 0
        self.isCrowded = self.lastSecondCount > self.countMax
        self.second = second
        (self.seenCount, self.takenCount) = (0, 0)
        return true
    }

    /// Nothing may have come for a while. - Returns: whether it was crowded, or is.
    mutating func look(nowMillis: Int64) -> Bool {
        let wasCrowded = self.isCrowded
        // Of the second that has just begun something may still come.
        if wasCrowded, nowMillis / 1_000 > self.second { _ = self.begin(nowMillis: nowMillis) }
        return wasCrowded
    }

    /// - Parameter isSampled: it belongs to the sample that is taken while it is crowded.
    /// - Returns: whether it is taken.
    mutating func take(isSampled: Bool) -> Bool {
        self.seenCount += 1
        if self.seenCount > self.countMax { self.isCrowded = true }
        guard self.takenCount < self.countMax, isSampled || !self.isCrowded else {
            self.skippedCount += 1
            return false
        }
        self.takenCount += 1
        return true
    }
}
