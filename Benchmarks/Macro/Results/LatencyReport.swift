import Foundation
import Histogram
import PushEngine
import PushWorker

/// A worker's latencies at one moment, by bucket. The difference of two reports has the latencies between these
/// moments.
struct LatencyReport: Codable, Equatable {
    /// Number of pushes by bucket. The key is the longest duration of the bucket, microseconds. Each bucket begins
    /// where the bucket before it ends.
    typealias Buckets = [UInt64: UInt64]

    var takenToAccepted: Buckets = [:]
    var recordToAccepted: Buckets = [:]
    /// Freshness of pushes to members. The other distributions do not contain these pushes.
    var memberFreshness: Buckets = [:]
    var accepted: UInt64 = 0

    init() {}

    init(_ snapshot: WorkerSnapshot) {
        snapshot.takenToAccepted.forEachBucket { self.takenToAccepted[$0] = $1 }
        snapshot.recordToAccepted.forEachBucket { self.recordToAccepted[$0] = $1 }
        snapshot.memberFreshness.forEachBucket { self.memberFreshness[$0] = $1 }
        self.accepted = snapshot.engine.pushesAccepted
    }

    /// Writes the file in one step, because another process waits for it.
    func write(to path: String) throws {
        try JSONEncoder().encode(self).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    static func read(from path: String) throws -> LatencyReport {
        try JSONDecoder().decode(Self.self, from: try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    static func - (left: LatencyReport, right: LatencyReport) -> LatencyReport {
        var result = LatencyReport()
        result.takenToAccepted = Self.difference(left.takenToAccepted, right.takenToAccepted)
        result.recordToAccepted = Self.difference(left.recordToAccepted, right.recordToAccepted)
        result.memberFreshness = Self.difference(left.memberFreshness, right.memberFreshness)
        result.accepted = left.accepted - right.accepted
        return result
    }

    private static func difference(_ left: Buckets, _ right: Buckets) -> Buckets {
        left.merging(right) { $0 - min($0, $1) }.filter { $0.value > 0 && left[$0.key] != nil }
    }

    /// `takenToAccepted` and `recordToAccepted` as histograms.
    /// - Throws: when a sample is missing. Each event is one push.
    func histograms(ofEvents count: Int) throws -> (taken: Histogram<UInt64>, intended: Histogram<UInt64>) {
        let (taken, intended) = (Self.histogram(self.takenToAccepted), Self.histogram(self.recordToAccepted))
        for timed in [taken.totalCount, intended.totalCount] where timed != self.accepted || timed != UInt64(count) {
            throw BenchmarkFailure(
                "\(timed) latencies of \(self.accepted) pushes of \(count) events: nothing may be missing")
        }
        return (taken, intended)
    }

    /// A percentile of a histogram, milliseconds.
    static func millis(_ histogram: Histogram<UInt64>, _ percentile: Double) -> Double {
        Double(histogram.valueAtPercentile(percentile)) / 1_000
    }

    /// Buckets as a histogram of microseconds with three digits.
    static func histogram(_ buckets: Buckets) -> Histogram<UInt64> {
        var histogram = Histogram<UInt64>(highestTrackableValue: 3_600_000_000, numberOfSignificantValueDigits: .three)
        for (micros, count) in buckets { histogram.record(min(micros, 3_600_000_000), count: count) }
        return histogram
    }
}
