/// So much within one second of the clock, and no more: whoever looks at a flood takes the first of each second.
struct SecondlyAllowance: Sendable {
    let countMax: Int
    private var second: Int64 = .min
    private var count = 0
    /// How often there was nothing left.
    private(set) var skippedCount = 0

    init(countMax: Int) { self.countMax = countMax }

    /// - Returns: whether there was something left.
    mutating func take(nowMillis: Int64) -> Bool {
        if nowMillis / 1_000 != self.second {
            self.second = nowMillis / 1_000
            self.count = 0
        }
        guard self.count < self.countMax else {
            self.skippedCount += 1
            return false
        }
        self.count += 1
        return true
    }
}
