import Histogram

/// Rows of an audience with an event every second. They show the age of the newest state when members get it, and the
/// latency of single activities meanwhile.
struct FreshnessRows {
    let bench: Bench

    private var members: Int { self.bench.isQuick ? 100_000 : 200_000 }
    private var eventCount: Int { self.bench.isQuick ? 8 : 30 }
    /// Latency of the simulated APNs, milliseconds, as APNs has in practice.
    private static let apnsMillis = 50

    func run() throws {
        try self.measureAge()
        try self.measureSingles()
    }

    // MARK: Age

    private func measureAge() throws {
        let partitionCount = AudienceWorkload.partitionCount(members: self.members)
        self.bench.say("freshness: \(self.members) members, APNs at \(Self.apnsMillis) ms")
        let path = self.bench.scratch + "/freshness.json"
        let stage = try Stage(self.bench, partitionCount: partitionCount, options: .init(distributionPath: path))
        defer { stage.stop() }
        let worker = stage.worker
        try stage.join(self.members)
        let publisher = try Prefiller(stage.broker, partitionCount: partitionCount, lingerMillis: 0)
        try stage.sink.setLatency(millis: Self.apnsMillis)

        var passMillis = Sample()
        for round in 0...2 {
            let begin = Clock.nowMicros
            let before = stage.sink.answeredCount
            try publisher.updateAudience(round)
            try Waiting.until("a pass", limitSeconds: 120, process: worker.process, everyMillis: 5) {
                stage.sink.answeredCount - before >= self.members
            }
            // The first pass opens connections.
            if round > 0 { passMillis.add(Double(Clock.nowMicros - begin) / 1_000) }
            Clock.sleep(millis: 1_500)
        }
        let before = try worker.latencies(path)
        let begin = Clock.nowMicros
        for number in 0..<self.eventCount {
            while Clock.nowMicros - begin < Int64(number) * 1_000_000 { Clock.sleep(millis: 1) }
            try publisher.updateAudience(number)
        }
        try Waiting.until("the last pass", limitSeconds: 120, process: worker.process, everyMillis: 500) {
            worker.metric("mailboat_members_waiting") == 0
        }
        let report = try worker.latencies(path) - before
        let ages = LatencyReport.histogram(report.memberFreshness)
        guard ages.totalCount == report.accepted else {
            throw BenchmarkFailure("\(ages.totalCount) ages of \(report.accepted) pushes: nothing may be missing")
        }
        let name = "freshness, an event a second to \(Double(self.members).short) members"
        self.bench.add(ResultRow("\(name): one pass alone", passMillis.median, "ms"))
        for percentile in [50.0, 99.0] {
            self.bench.add(
                ResultRow(
                    "\(name): age at acceptance, p\(Int(percentile))", LatencyReport.millis(ages, percentile), "ms"))
        }
        self.bench.add(
            ResultRow(
                "\(name): age at acceptance, worst, beside a pass and a second", LatencyReport.millis(ages, 100), "ms",
                baseline: passMillis.median + 1_000, target: .freshness))
        self.bench.add(
            ResultRow("\(name): pushes a member", Double(report.accepted) / Double(self.members), "pushes"))
    }

    // MARK: Single activities

    private static let activities = 2_000
    private static let singlesPerSecond = 500.0

    private func measureSingles() throws {
        let partitionCount = AudienceWorkload.partitionCount(members: self.members)
        self.bench.say("freshness: single activities during passes")
        let stage = try Stage(self.bench, partitionCount: partitionCount)
        defer { stage.stop() }
        try stage.join(self.members)
        try stage.register(Self.activities)
        var consumed = self.members + Self.activities
        let publisher = try Prefiller(stage.broker, partitionCount: partitionCount, lingerMillis: 0)
        let load = PacedLoad(
            broker: stage.broker, partitionCount: partitionCount, activityCount: Self.activities,
            perSecond: Self.singlesPerSecond)
        let count = Int(Self.singlesPerSecond) * self.eventCount
        // The first round warms up.
        try load.publish(count, self.bench)
        consumed += count
        try stage.worker.settle(consumed: consumed)
        let outcomes = try OutcomeTimes(stage.broker, partitionCount: partitionCount)
        let aloneMillis = Clock.wallMicros / 1_000
        try load.publish(count, self.bench)
        consumed += count
        try stage.worker.settle(consumed: consumed)
        let besideMillis = Clock.wallMicros / 1_000
        let process = try load.start(count, self.bench)
        for number in 0..<self.eventCount {
            try publisher.updateAudience(number)
            Clock.sleep(millis: 1_000)
        }
        try process.waitForEnd(limitSeconds: 60)
        consumed += count + self.eventCount
        try stage.worker.settle(consumed: consumed)
        let times = try outcomes.all()
        let alone = times.filter { (aloneMillis..<besideMillis).contains($0.writtenMillis) }
        let beside = times.filter { $0.writtenMillis >= besideMillis }
        guard alone.count == count, beside.count == count else {
            throw BenchmarkFailure("\(alone.count) and \(beside.count) outcomes of \(count) events each")
        }
        let name = "single activities, \(Int(Self.singlesPerSecond)) a second, taken -> accepted"
        let p99Alone = Self.p99(alone.map(\.takenToAcceptedMillis))
        let p99Beside = Self.p99(beside.map(\.takenToAcceptedMillis))
        self.bench.add(ResultRow("\(name): p99 without a pass", p99Alone, "ms"))
        self.bench.add(
            ResultRow(
                "\(name): p99 during passes, beside the larger of twice that and 10 ms", p99Beside, "ms",
                baseline: max(2 * p99Alone, 10), target: .singlesDuringPass))
        self.bench.add(
            ResultRow("\(name): of it, in the worker, p99 during passes", Self.p99(beside.map(\.queuedMillis)), "ms"))
        try stage.broker.checkNothingWasDropped()
    }

    private static func p99(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
    }
}
