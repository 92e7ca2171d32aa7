/// Delays that double from failure to failure, up to a bound, each drawn from the upper half of its range: many workers
/// that failed at the same moment do not come back at the same moment.
public struct JitteredBackoff: Equatable, Sendable {
    /// The upper bound of the first delay, milliseconds. At least 1.
    public let millisMin: Int64
    /// No delay is longer, milliseconds. At least `millisMin`.
    public let millisMax: Int64
    /// Failures in a row.
    public private(set) var failures = 0

    /// `millisMin` at least 1, `millisMax` not below it; what is given is brought into that order.
    public init(millisMin: Int64, millisMax: Int64) {
        self.millisMin = max(1, millisMin)
        self.millisMax = max(self.millisMin, millisMax)
    }

    /// Counts one failure and gives the time to wait: between half of and all of min(millisMin × 2^failures so far,
    /// millisMax).
    public mutating func failed(using random: inout some RandomNumberGenerator) -> Int64 {
        // 2^40 ms are 34 years: past any bound, and far from overflow for a `millisMin` of hours.
        let doublings = min(self.failures, 40)
        let (product, overflowed) = self.millisMin.multipliedReportingOverflow(by: 1 << doublings)
        let whole = overflowed ? self.millisMax : min(product, self.millisMax)
        self.failures += 1
        return Int64.random(in: (whole + 1) / 2...whole, using: &random)
    }

    /// The row of failures has ended: the next delay is a first one again.
    public mutating func succeeded() { self.failures = 0 }
}
