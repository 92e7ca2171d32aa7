import PushModel

/// How many traces have begun in the second that it is.
struct TraceRate {
    private var second: Int64 = .min
    private var count = 0

    /// Counts one that is to begin.
    /// - Returns: `false`: the most have begun already, and this one is not counted.
    mutating func takes(at now: EngineTime, perSecondMax: Int) -> Bool {
        let second = now.steadyMillis / 1_000
        if second != self.second { (self.second, self.count) = (second, 0) }
        guard self.count < perSecondMax else { return false }
        self.count += 1
        return true
    }
}
