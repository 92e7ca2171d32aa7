import PushModel

/// Counts durations in buckets. Between a duration and its double there are 32 buckets, so any quantile is known to
/// within 3.2 %. Distributions are merged by adding their counts.
public struct LatencyDistribution: Sendable, Equatable {
    /// Number of buckets for each doubling, as a power of two. The first 32 buckets hold 0...31 microseconds one by
    /// one.
    private static let stepBits = 5
    private static let stepMask = (1 << Self.stepBits) - 1
    /// Number of buckets. They reach to about 2^43 microseconds, three months. Longer durations are counted in the last
    /// bucket.
    private static let bucketCount = (43 - Self.stepBits + 1) << Self.stepBits

    private var counts = [UInt64](repeating: 0, count: Self.bucketCount)
    /// Number of durations that were recorded.
    public private(set) var count: UInt64 = 0
    /// Sum of the durations, microseconds; wraps around after half a million years.
    public private(set) var sumMicros: UInt64 = 0
    /// The longest duration, microseconds; 0 when nothing was recorded.
    public private(set) var maxMicros: UInt64 = 0
    /// Traces of some of the durations. Empty, or one for each bucket of the page of metrics.
    private(set) var examples: [LatencyExample?] = []

    /// A distribution without durations.
    public init() {}

    /// Records a duration. Negative ones, which a clock that stepped back produces, count as 0.
    public mutating func record(micros: Int64) {
        let micros = UInt64(max(0, micros))
        self.counts[Self.bucket(of: micros)] += 1
        self.count += 1
        self.sumMicros &+= micros
        self.maxMicros = max(self.maxMicros, micros)
    }

    /// Records a duration in milliseconds. One that is too long for microseconds counts as the longest.
    public mutating func record(millis: Int64) { self.record(micros: Self.micros(millis)) }

    /// The duration in microseconds. It may be arbitrarily long, because a record's time may be anything.
    private static func micros(_ millis: Int64) -> Int64 {
        let (micros, isTooLong) = millis.multipliedReportingOverflow(by: 1_000)
        guard isTooLong else { return micros }
        return millis > 0 ? .max : 0
    }

    /// Keeps the trace of a duration that was recorded. Each bucket of the page keeps its latest trace.
    mutating func keepExample(of context: TraceContext, micros: Int64, wallMillis: Int64) {
        self.keep(LatencyExample(context: context, micros: UInt64(max(0, micros)), wallMillis: wallMillis))
    }

    /// Keeps the trace of a latency that `record(millis:)` has recorded.
    mutating func keepExample(of context: TraceContext, millis: Int64, wallMillis: Int64) {
        self.keepExample(of: context, micros: Self.micros(millis), wallMillis: wallMillis)
    }

    private mutating func keep(_ example: LatencyExample) {
        let bounds = PrometheusText.boundsMillis
        if self.examples.isEmpty { self.examples = Array(repeating: nil, count: bounds.count + 1) }
        let bucket = bounds.firstIndex { example.micros <= $0 * 1_000 } ?? bounds.count
        if let kept = self.examples[bucket], kept.wallMillis > example.wallMillis { return }
        self.examples[bucket] = example
    }

    /// Calls `body` for each non-empty bucket, in ascending order, with the longest duration that the bucket counts and
    /// the number of durations.
    public func forEachBucket(_ body: (_ highestMicros: UInt64, _ count: UInt64) -> Void) {
        for (index, count) in self.counts.enumerated() where count > 0 { body(Self.highestMicros(of: index), count) }
    }

    /// Adds all durations of `other`.
    public mutating func add(_ other: LatencyDistribution) {
        for index in self.counts.indices { self.counts[index] += other.counts[index] }
        self.count += other.count
        self.sumMicros &+= other.sumMicros
        self.maxMicros = max(self.maxMicros, other.maxMicros)
        for case let example? in other.examples { self.keep(example) }
    }

    /// The duration in milliseconds that this share of the recorded durations did not exceed; 0 when nothing was
    /// recorded.
    /// - Parameter share: 0...1, such as 0.99.
    public func quantileMillis(_ share: Double) -> Double {
        guard self.count > 0 else { return 0 }
        let wanted = UInt64((Double(self.count) * min(1, max(0, share))).rounded(.up))
        var seen: UInt64 = 0
        for (index, count) in self.counts.enumerated() {
            seen += count
            if seen >= max(1, wanted) { return Double(min(Self.highestMicros(of: index), self.maxMicros)) / 1_000 }
        }
        return Double(self.maxMicros) / 1_000
    }

    /// Number of durations up to each bound, for the Prometheus histogram. The `bounds` ascend and are in milliseconds.
    /// Durations up to 3.2 % longer than a bound may be counted, too.
    func counts(atMostMillis bounds: [UInt64]) -> [UInt64] {
        var (sum, next) = (UInt64(0), 0)
        return bounds.map { bound in
            // Each bucket is read once, even if there are many bounds.
            let end = Self.bucket(of: bound * 1_000) + 1
            while next < end {
                sum += self.counts[next]
                next += 1
            }
            return sum
        }
    }

    private static func bucket(of micros: UInt64) -> Int {
        guard micros > UInt64(Self.stepMask) else { return Int(micros) }
        let exponent = 63 - micros.leadingZeroBitCount
        let step = Int(micros >> UInt64(exponent - Self.stepBits)) & Self.stepMask
        return min(Self.bucketCount - 1, (exponent - Self.stepBits + 1) << Self.stepBits | step)
    }

    /// The longest duration that counts in a bucket.
    private static func highestMicros(of bucket: Int) -> UInt64 {
        guard bucket > Self.stepMask else { return UInt64(bucket) }
        let exponent = UInt64(bucket >> Self.stepBits) + UInt64(Self.stepBits) - 1
        let step = UInt64(bucket & Self.stepMask) + UInt64(Self.stepMask) + 1
        return (step + 1) << (exponent - UInt64(Self.stepBits)) - 1
    }
}

/// The trace of something measured, with its duration.
struct LatencyExample: Sendable, Equatable {
    var context: TraceContext
    var micros: UInt64
    /// The time when the measured action was over, since 1970.
    var wallMillis: Int64
}
