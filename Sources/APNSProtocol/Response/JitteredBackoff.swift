/// Delays that double from failure to failure, up to a bound. Each is drawn from the upper half of its range. So
/// workers that failed at the same moment do not all return at the same moment.
public struct JitteredBackoff: Equatable, Sendable {
    /// The upper bound of the first delay, milliseconds. At least 1.
    public let millisMin: Int64
    /// The longest delay, milliseconds. At least `millisMin`.
    public let millisMax: Int64
    /// Number of failures in a row.
    public private(set) var failures = 0

    /// A backoff without failures. `millisMin` is raised to 1, and `millisMax` to `millisMin`, if they are less.
    public init(millisMin: Int64, millisMax: Int64) {
        self.millisMin = max(1, millisMin)
        self.millisMax = max(self.millisMin, millisMax)
    }

    /// Counts one failure and returns the time to wait: between half of and all of min(millisMin × 2^failures so far,
    /// millisMax).
    public mutating func failed(using random: inout some RandomNumberGenerator) -> Int64 {
        // 2^40 ms are 34 years: beyond any bound, and far from overflow for a `millisMin` of hours.
        let doublings = min(self.failures, 40)
        let (product, overflowed) = self.millisMin.multipliedReportingOverflow(by: 1 << doublings)
        let whole = overflowed ? self.millisMax : min(product, self.millisMax)
        self.failures += 1
        return Int64.random(in: (whole + 1) / 2...whole, using: &random)
    }

    /// Ends the row of failures: the next delay is a first one again.
    public mutating func succeeded() { self.failures = 0 }
}
