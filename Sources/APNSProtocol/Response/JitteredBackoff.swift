/// Delays that double from failure to failure, up to a bound. Each delay is drawn at random from the upper half of its
/// range. So workers that failed at the same moment do not all try again at the same moment.
public struct JitteredBackoff: Equatable, Sendable {
    /// The upper bound of the first delay, milliseconds. At least 1.
    public let millisMin: Int64
    /// The upper bound of all delays, milliseconds. At least `millisMin`.
    public let millisMax: Int64
    /// Number of failures in a row.
    public private(set) var failures = 0

    /// A backoff without failures. `millisMin` is raised to 1, and `millisMax` to `millisMin`, if they are less.
    public init(millisMin: Int64, millisMax: Int64) {
        self.millisMin = max(1, millisMin)
        self.millisMax = max(self.millisMin, millisMax)
    }

    /// Counts one failure and returns the delay, milliseconds. It is between half and all of min(millisMin × 2^former
    /// failures, millisMax).
    public mutating func failed(using random: inout some RandomNumberGenerator) -> Int64 {
        // 2^40 ms are 34 years, longer than any bound. Even a `millisMin` of hours does not overflow.
        let doublings = min(self.failures, 40)
        let (product, overflowed) = self.millisMin.multipliedReportingOverflow(by: 1 << doublings)
        let whole = overflowed ? self.millisMax : min(product, self.millisMax)
        self.failures += 1
        return Int64.random(in: (whole + 1) / 2...whole, using: &random)
    }

    /// Ends the row of failures. The next delay is a first delay again.
    public mutating func succeeded() { self.failures = 0 }
}
