import Foundation
import Glibc
import Histogram

/// Row 5: how long a push takes at half the rate the worker can do, with updates that arrive at their own pace.
struct LatencyRows {
    let bench: Bench

    private static let share = 0.5
    /// Taken for the saturation rate when the row of the whole worker was not run.
    private static let saturationPerSecondDefault = 100_000.0

    func run() throws {
        let rate =
            self.bench.latencyPerSecond ?? (self.bench.saturationPerSecond ?? Self.saturationPerSecondDefault)
            * Self.share
        let warmUp = Int(rate)
        let count = Int(rate * (self.bench.isQuick ? 4 : 5))
        // An activity comes again after two seconds: nothing is held back by the least distance between pushes.
        let activities = Int(rate * 2)
        let partitionCount = Workload.partitionCount(activities: activities, updates: warmUp + count)
        self.bench.say("latency: \(Int(rate)) updates a second, \(partitionCount) partitions")
        let sink = try Sink(self.bench)
        defer { sink.stop() }
        let broker = try Broker(self.bench, partitionCount: partitionCount)
        defer { broker.stop() }
        let path = self.bench.scratch + "/latencies.json"
        let worker = try Worker(self.bench, broker: broker, sink: sink, options: .init(distributionPath: path))
        defer { worker.stop() }
        let prefiller = try Prefiller(bootstrap: broker.bootstrap, partitionCount: partitionCount)
        try prefiller.register(0..<activities)
        try worker.settle(consumed: activities)

        try self.publish(warmUp, perSecond: rate, activities, broker, partitionCount)
        try worker.settle(consumed: activities + warmUp)
        let before = try self.latencies(of: worker, path)
        let (cpuBefore, kafkaBefore) = (worker.process.meter.cpuMicros, broker.process.meter.cpuMicros)
        let begin = Clock.nowMicros
        try self.publish(count, perSecond: rate, activities, broker, partitionCount)
        let elapsed = Double(Clock.nowMicros - begin)
        let busy = Double(worker.process.meter.cpuMicros - cpuBefore) / elapsed
        let kafkaBusy = Double(broker.process.meter.cpuMicros - kafkaBefore) / elapsed
        try worker.settle(consumed: activities + warmUp + count)
        let latencies = try self.latencies(of: worker, path) - before
        let taken = LatencyReport.histogram(latencies.takenToAccepted)
        let intended = LatencyReport.histogram(latencies.recordToAccepted)
        guard intended.totalCount == latencies.accepted, latencies.accepted == UInt64(count) else {
            throw BenchmarkFailure(
                "\(intended.totalCount) latencies of \(latencies.accepted) pushes of \(count) events: nothing may be missing"
            )
        }
        self.report("latency at 50 % load, taken -> accepted", taken, target: .takenToAcceptedMillis)
        self.report("latency at 50 % load, intended send -> accepted", intended, target: .intendedToAcceptedMillis)
        self.bench.add(ResultRow("latency at 50 % load: updates per second", rate, "1/s"))
        self.bench.add(ResultRow("latency at 50 % load: worker busy", busy * 100, "% of a core"))
        self.bench.add(ResultRow("latency at 50 % load: Kafka busy", kafkaBusy * 100, "% of a core"))
        try broker.checkNothingWasDropped()
    }

    private func publish(_ count: Int, perSecond: Double, _ activities: Int, _ broker: Broker, _ partitionCount: Int)
        throws
    {
        let publisher = try ChildProcess(
            "the publisher",
            [
                self.bench.own, "paced-publisher", "--bootstrap", broker.bootstrap, "--partitions",
                "\(partitionCount)", "--activities", "\(activities)", "--per-second", "\(perSecond)", "--count",
                "\(count)",
            ], core: self.bench.cores.kafka, logPath: self.bench.logPath("publisher"))
        try publisher.waitForEnd(limitSeconds: 120)
        self.bench.say("        " + publisher.lastLines)
    }

    private func latencies(of worker: Worker, _ path: String) throws -> LatencyReport {
        // The worker reports each 50 ms.
        Clock.sleep(millis: 200)
        try? FileManager.default.removeItem(atPath: path)
        kill(worker.process.pid, SIGUSR1)
        try Waiting.until("the worker's latencies", limitSeconds: 10, process: worker.process) {
            FileManager.default.fileExists(atPath: path)
        }
        return try LatencyReport.read(from: path)
    }

    private func report(_ name: String, _ histogram: Histogram<UInt64>, target: Target) {
        for percentile in [50.0, 99.0, 99.9] {
            let millis = Double(histogram.valueAtPercentile(percentile)) / 1_000
            let label = percentile == percentile.rounded() ? "p\(Int(percentile))" : "p\(percentile)"
            self.bench.add(
                percentile == 99
                    ? ResultRow("\(name), \(label)", millis, "ms", target: target)
                    : ResultRow("\(name), \(label)", millis, "ms"))
        }
    }
}
