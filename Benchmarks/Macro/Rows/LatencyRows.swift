/// Rows of the time that a push takes. Updates arrive at half the rate that the worker can sustain, or at a fixed rate.
struct LatencyRows {
    let bench: Bench

    private static let share = 0.5
    /// The planned saturation rate if the row of the whole worker was not run.
    private static let saturationPerSecondDefault = 150_000.0
    /// Maximum planned saturation rate. A greater one would need 128 partitions, whose batches occupy the embedded
    /// broker and librdkafka more than the records do. A slightly greater rate still fits, because a record's bytes are
    /// estimated generously. The run checks that no record was dropped.
    private static let plannedPerSecondMax = 200_000.0
    /// Number of updates of a backlog, each for another activity. The first backlog warms up, and the second gives the
    /// saturation rate.
    private static let backlogUpdateCount = 100_000
    /// Pause after a backlog. After the pause an activity may be pushed to again.
    private static let restMillis = 1_000
    /// Seconds for which the activities suffice at the planned rate.
    private static let activitySeconds = 1.8
    private static let warmUpSeconds = 1.0
    /// Updates per second on a real broker. The broker's machine may be shared, so the rate is far below what the
    /// worker can do.
    private static let realPerSecond = 5_000.0
    private static let measuredSeconds = 3.0
    /// Shortest time after which an activity may be updated again. An earlier update would wait for the minimum
    /// distance between pushes.
    private static let repeatSecondsMin = 1.1
    /// Memory that the broker touches at its start, MiB. It is more than updates, outcomes and state need.
    private static let brokerMebibytes = 768
    private static let percentiles = [50.0, 99.0, 99.9]

    /// Values of the rounds.
    private struct Values {
        var taken: [Double: Sample] = [:]
        var intended: [Double: Sample] = [:]
        var (saturation, rate, workerBusy, kafkaBusy) = (Sample(), Sample(), Sample(), Sample())
        var stolen = Sample()
    }

    /// Updates per second that do not depend on the saturation rate. `nil` means half of that rate.
    private var fixedPerSecond: Double? {
        self.bench.latencyPerSecond ?? (self.bench.isOnRealBroker ? Self.realPerSecond : nil)
    }

    func run() throws {
        var planned =
            self.fixedPerSecond.map { $0 / Self.share }
            ?? min(self.bench.saturationPerSecond ?? Self.saturationPerSecondDefault, Self.plannedPerSecondMax)
        let roundCount = self.bench.isQuick ? 1 : 5
        var values = Values()
        for round in 1...roundCount {
            self.bench.say("latency: round \(round) of \(roundCount)")
            if let faster = try self.round(plannedPerSecond: planned, &values) {
                self.bench.say("        the machine is faster than planned: again with more activities")
                planned = faster
                guard try self.round(plannedPerSecond: planned, &values) == nil else {
                    throw BenchmarkFailure("the machine's pace changes too fast to plan for: try again when it is calm")
                }
            }
        }
        let name =
            self.bench.isOnRealBroker
            ? "latency at \((self.fixedPerSecond ?? 0).short) updates a second" : "latency at 50 % load"
        self.report("\(name), taken -> accepted", values.taken, target: .takenToAcceptedMillis)
        self.report(
            "\(name), intended send -> accepted", values.intended, target: .intendedToAcceptedMillis)
        if !values.saturation.isEmpty {
            self.bench.add(
                ResultRow("\(name): saturation rate beside it", values.saturation.median, "1/s"))
        }
        self.bench.add(ResultRow("\(name): updates per second", values.rate.median, "1/s"))
        self.bench.add(ResultRow("\(name): worker busy", values.workerBusy.median * 100, "% of a core"))
        if !self.bench.isOnRealBroker {
            self.bench.add(ResultRow("\(name): Kafka busy", values.kafkaBusy.median * 100, "% of a core"))
        }
        self.bench.add(
            ResultRow("\(name): taken by the machine's host", values.stolen.median * 100, "% of a core"))
    }

    /// Measures a round. It begins with an empty broker, because the embedded broker needs more CPU for a batch when it
    /// holds many batches.
    /// - Returns: `nil`, or the saturation rate if there are too few activities for it. In the second case no latency
    ///   was measured.
    private func round(plannedPerSecond planned: Double, _ values: inout Values) throws -> Double? {
        let activities = Int(planned * Self.share * Self.activitySeconds)
        let backlogCount = self.fixedPerSecond == nil ? 2 : 0
        // The backlog is for the last activities, because the paced warm-up begins with the first.
        let backlogged = max(0, activities - Self.backlogUpdateCount)..<activities
        let partitionCount = Workload.partitionCount(
            activities: activities,
            updates: backlogCount * backlogged.count
                + Int(planned * Self.share * (Self.warmUpSeconds + Self.measuredSeconds)))
        let sink = try Sink(self.bench)
        defer { sink.stop() }
        let broker = try Broker(
            self.bench, partitionCount: partitionCount, touchedMebibytes: Self.brokerMebibytes)
        defer { broker.stop() }
        let path = self.bench.scratch + "/latencies.json"
        let worker = try Worker(self.bench, broker: broker, sink: sink, options: .init(distributionPath: path))
        defer { worker.stop() }
        let prefiller = try Prefiller(broker, partitionCount: partitionCount)
        try prefiller.register(0..<activities)
        var consumed = activities
        try worker.settle(consumed: consumed)

        // The saturation rate is measured in each round, because the speed of the machine changes from minute to
        // minute.
        var rate = planned * Self.share
        for number in 0..<backlogCount {
            consumed += backlogged.count
            let work = try worker.work(consumed: consumed) { try prefiller.update(backlogged, round: number) }
            rate = work.saturationPerSecond(pushCount: backlogged.count) * Self.share
            Clock.sleep(millis: Self.restMillis)
        }
        guard Double(activities) / rate >= Self.repeatSecondsMin else { return rate / Self.share }
        if backlogCount > 0 { values.saturation.add(rate / Self.share) }
        self.bench.say("        \(Int(rate)) updates a second, \(partitionCount) partitions")

        let warmUp = Int(rate * Self.warmUpSeconds)
        let load = PacedLoad(
            broker: broker, partitionCount: partitionCount, activityCount: activities, perSecond: rate)
        try load.publish(warmUp, self.bench)
        consumed += warmUp
        try worker.settle(consumed: consumed)
        let before = try worker.latencies(path)
        let (cpuBefore, kafkaBefore) = (worker.process.meter.cpuMicros, broker.cpuMicros)
        let (begin, stolenBefore) = (Clock.nowMicros, StolenTime.micros)
        let count = Int(rate * Self.measuredSeconds)
        try load.publish(count, self.bench)
        let elapsed = Double(Clock.nowMicros - begin)
        values.stolen.add(Double(StolenTime.micros - stolenBefore) / elapsed)
        values.rate.add(rate)
        values.workerBusy.add(Double(worker.process.meter.cpuMicros - cpuBefore) / elapsed)
        values.kafkaBusy.add(Double(broker.cpuMicros - kafkaBefore) / elapsed)
        consumed += count
        try worker.settle(consumed: consumed)
        let (taken, intended) = try (worker.latencies(path) - before).histograms(ofEvents: count)
        for percentile in Self.percentiles {
            values.taken[percentile, default: Sample()].add(LatencyReport.millis(taken, percentile))
            values.intended[percentile, default: Sample()].add(LatencyReport.millis(intended, percentile))
        }
        self.bench.say(
            "        p99: taken -> accepted \(LatencyReport.millis(taken, 99).short) ms, intended send -> accepted \(LatencyReport.millis(intended, 99).short) ms"
        )
        try broker.checkNothingWasDropped()
        return nil
    }

    private func report(_ name: String, _ samples: [Double: Sample], target: Target) {
        for percentile in Self.percentiles {
            let millis = samples[percentile]?.median ?? 0
            let label = percentile == percentile.rounded() ? "p\(Int(percentile))" : "p\(percentile)"
            self.bench.add(
                percentile == 99
                    ? ResultRow("\(name), \(label)", millis, "ms", target: target)
                    : ResultRow("\(name), \(label)", millis, "ms"))
        }
    }
}
