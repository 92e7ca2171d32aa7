/// Counts of durations in buckets that grow by an eighth: any quantile is known to 13 %. A value; merging is addition.
public struct LatencyDistribution: Sendable, Equatable {
    /// Eight buckets for each doubling; the first eight hold 0...7 ms one by one.
    private static let stepBits = 3
    /// Up to about 2^40 ms; what is longer counts in the last.
    private static let bucketCount = (40 - Self.stepBits + 1) << Self.stepBits

    private var counts = [UInt64](repeating: 0, count: Self.bucketCount)
    public private(set) var count: UInt64 = 0
    public private(set) var sumMillis: UInt64 = 0
    public private(set) var maxMillis: UInt64 = 0

    public init() {}

    /// Negative durations, as a clock that stepped back makes, count as 0.
    public mutating func record(millis: Int64) {
        let millis = UInt64(max(0, millis))
        self.counts[Self.bucket(of: millis)] += 1
        self.count += 1
        self.sumMillis &+= millis
        self.maxMillis = max(self.maxMillis, millis)
    }

    public mutating func add(_ other: LatencyDistribution) {
        for index in self.counts.indices { self.counts[index] += other.counts[index] }
        self.count += other.count
        self.sumMillis &+= other.sumMillis
        self.maxMillis = max(self.maxMillis, other.maxMillis)
    }

    /// At most this many milliseconds in a share of the cases; 0 when nothing was recorded.
    /// - Parameter share: 0...1, such as 0.99.
    public func quantileMillis(_ share: Double) -> Double {
        guard self.count > 0 else { return 0 }
        let wanted = UInt64((Double(self.count) * min(1, max(0, share))).rounded(.up))
        var seen: UInt64 = 0
        for (index, count) in self.counts.enumerated() {
            seen += count
            if seen >= max(1, wanted) { return Double(min(Self.highestMillis(of: index), self.maxMillis)) }
        }
        return Double(self.maxMillis)
    }

    /// How many lasted at most `millis`, a power of two or 0...7; the buckets of the Prometheus histogram are such.
    func count(atMostMillis millis: UInt64) -> UInt64 {
        let last = Self.bucket(of: millis)
        return self.counts[...last].reduce(0, +)
    }

    private static func bucket(of millis: UInt64) -> Int {
        guard millis >= 8 else { return Int(millis) }
        let exponent = 63 - millis.leadingZeroBitCount
        let step = Int(millis >> UInt64(exponent - Self.stepBits)) & 7
        return min(Self.bucketCount - 1, (exponent - Self.stepBits + 1) << Self.stepBits | step)
    }

    /// The longest duration that counts in a bucket.
    private static func highestMillis(of bucket: Int) -> UInt64 {
        guard bucket >= 8 else { return UInt64(bucket) }
        let exponent = UInt64(bucket >> Self.stepBits) + UInt64(Self.stepBits) - 1
        let step = UInt64(bucket & 7) + 8
        return (step + 1) << (exponent - UInt64(Self.stepBits)) - 1
    }
}
