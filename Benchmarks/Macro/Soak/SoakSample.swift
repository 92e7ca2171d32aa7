import Foundation
import Histogram

/// Values of one interval of a soak.
struct SoakSample: Codable, Equatable {
    /// Time from the beginning of the load to the interval's end, minutes.
    var minutes: Double
    /// Resident memory of the worker at the interval's end, bytes.
    var residentByteCount: Int
    /// Number of files, sockets and pipes that the worker has open at the interval's end.
    var openFileCount: Int
    /// Share of one core that the worker used in the interval.
    var cpuShare: Double
    /// Pushes that APNs accepted in the interval, per second.
    var acceptedPerSecond: Double
    /// Median latency of single activities, from being taken out of Kafka to acceptance, milliseconds.
    var p50Millis: Double
    /// 99th percentile of the same latency, milliseconds.
    var p99Millis: Double
    /// Age of members' events at acceptance, milliseconds.
    var memberP99Millis: Double
    /// Number of taken events without an outcome at the interval's end.
    var pendingCount: Int

    /// Makes a sample.
    /// - Parameters:
    ///   - latencies: latencies of the interval.
    ///   - seconds: length of the interval.
    init(
        minutes: Double, seconds: Double, residentByteCount: Int, openFileCount: Int, cpuMicros: Int64,
        latencies: LatencyReport, pendingCount: Int
    ) {
        self.minutes = minutes
        self.residentByteCount = residentByteCount
        self.openFileCount = openFileCount
        self.cpuShare = Double(cpuMicros) / 1e6 / seconds
        self.acceptedPerSecond = Double(latencies.accepted) / seconds
        let taken = LatencyReport.histogram(latencies.takenToAccepted)
        self.p50Millis = LatencyReport.millis(taken, 50)
        self.p99Millis = LatencyReport.millis(taken, 99)
        self.memberP99Millis = LatencyReport.millis(LatencyReport.histogram(latencies.memberFreshness), 99)
        self.pendingCount = pendingCount
    }
}

/// Judges whether a soak's values stayed the same. It compares medians right after the warm-up with medians at the end.
struct SoakFlatness {
    /// Share of samples at the beginning that is not judged, because memory fills and connections open.
    static let warmUpShare = 0.2
    /// Each of the two compared parts has this share of all samples.
    static let partShare = 0.25

    let early: [SoakSample]
    let late: [SoakSample]

    /// Takes the part after the warm-up and the part at the end.
    /// - Throws: when there are too few samples to tell.
    init(_ samples: [SoakSample]) throws {
        let count = Int(Double(samples.count) * Self.partShare)
        guard count >= 2 else {
            throw BenchmarkFailure(
                "\(samples.count) samples of a soak: at least 8 are needed to tell whether they are flat")
        }
        self.early = Array(Self.judged(samples).prefix(count))
        self.late = Array(samples.suffix(count))
    }

    /// All samples except those of the warm-up.
    static func judged(_ samples: [SoakSample]) -> [SoakSample] {
        Array(samples.dropFirst(Int(Double(samples.count) * Self.warmUpShare)))
    }

    /// The medians of a value, near the beginning and near the end.
    func medians(_ value: (SoakSample) -> Double) -> (early: Double, late: Double) {
        (Self.median(self.early.map(value)), Self.median(self.late.map(value)))
    }

    private static func median(_ values: [Double]) -> Double {
        var sample = Sample()
        for value in values { sample.add(value) }
        return sample.median
    }

    /// Rows of the results, which show the values near the end beside those near the beginning.
    var rows: [ResultRow] {
        func row(_ name: String, _ unit: String, _ target: Target, _ value: (SoakSample) -> Double) -> ResultRow {
            let medians = self.medians(value)
            return ResultRow(
                "soak, end beside begin: \(name)", medians.late, unit, baseline: medians.early, target: target)
        }
        return [
            row("resident memory", "MB", .soakMemory) { Double($0.residentByteCount) / 1e6 },
            row("open files", "files", .soakFiles) { Double($0.openFileCount) },
            row("taken -> accepted, p50", "ms", .soakLatency, \.p50Millis),
            row("taken -> accepted, p99", "ms", .soakLatency, \.p99Millis),
            row("age at members, p99", "ms", .soakLatency, \.memberP99Millis),
            row("CPU of the worker", "cores", .soakCPU, \.cpuShare),
        ]
    }
}

extension Target {
    /// The bound is above the noise of a heap that fills its arenas. A leak of 20 bytes per push would add 360 MB in an
    /// hour at 5,000 pushes a second.
    static let soakMemory = Target.atMost(1.05, aim: 1.01)
    static let soakFiles = Target.atMost(1)
    static let soakLatency = Target.atMost(1.5, aim: 1.1)
    static let soakCPU = Target.atMost(1.1, aim: 1.02)
}
