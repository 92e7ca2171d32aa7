import PushModel

/// Limits the number of traces that begin in a second.
struct TraceRate {
    private var second: Int64 = .min
    private var count = 0

    /// Counts a trace that is about to begin.
    /// - Returns: `false` when the limit is reached, and this trace is not counted.
    mutating func takes(at now: EngineTime, perSecondMax: Int) -> Bool {
        let second = now.steadyMillis / 1_000
        if second != self.second { (self.second, self.count) = (second, 0) }
        guard self.count < perSecondMax else { return false }
        self.count += 1
        return true
    }
}
