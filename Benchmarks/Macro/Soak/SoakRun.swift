import Foundation

/// A worker under an even load for a long time. Single activities are updated again and again, and some get new tokens.
/// An audience has an event every ten seconds, and some of its members leave and come back.
struct SoakRun {
    let bench: Bench
    /// How long the load lasts, minutes.
    var minutes: Double
    /// Pushes per second, to single activities and to members together. A fifth of them go to members.
    var perSecond: Int

    /// Latency of the simulated APNs, milliseconds, as APNs has in practice.
    private static let apnsMillis = 20
    private static let partitionCount = 64
    private static let secondsBetweenEvents = 10
    /// Time between two updates of an activity. It is short enough for the high-priority budget to run out, as in a
    /// busy hour.
    private static let secondsBetweenUpdates = 5
    /// Number of tokens that change between two events of the audience. As many members leave and come back.
    private static let changedTogether = 50
    private static let sampleCountMax = 120
    /// Minimum length of a sample, which has to contain events of the audience.
    private static let secondsOfSampleMin = 20.0

    private var membersPerSecond: Int { self.perSecond / 5 }
    private var members: Int { self.membersPerSecond * Self.secondsBetweenEvents }
    private var singlesPerSecond: Int { self.perSecond - self.membersPerSecond }
    private var activities: Int { self.singlesPerSecond * Self.secondsBetweenUpdates }

    /// Runs the load.
    /// - Returns: a sample for each interval. Everything was settled at the end.
    func run() throws -> [SoakSample] {
        let path = self.bench.scratch + "/soak.json"
        self.bench.say(
            "soak: \(self.minutes) minutes, \(self.activities) activities, an audience of \(self.members) members, APNs at \(Self.apnsMillis) ms"
        )
        let stage = try Stage(
            self.bench, partitionCount: Self.partitionCount, options: .init(distributionPath: path))
        defer { stage.stop() }
        try stage.join(self.members)
        let prefiller = try Prefiller(stage.broker, partitionCount: Self.partitionCount)
        try prefiller.register(0..<self.activities)
        var consumed = self.members + self.activities
        try stage.worker.settle(consumed: consumed)
        try stage.sink.setLatency(millis: Self.apnsMillis)

        let count = Int(Double(self.singlesPerSecond) * self.minutes * 60)
        let load = PacedLoad(
            broker: stage.broker, partitionCount: Self.partitionCount, activityCount: self.activities,
            perSecond: Double(self.singlesPerSecond))
        let publisher = try load.start(count, self.bench)
        var samples: [SoakSample] = []
        let begin = Clock.nowMicros
        let endMicros = begin + Int64(self.minutes * 60e6)
        let intervalMicros = Int64(
            max(Self.secondsOfSampleMin, self.minutes * 60 / Double(Self.sampleCountMax)) * 1e6)
        var last = (micros: begin, cpu: stage.worker.process.meter.cpuMicros, report: try stage.worker.latencies(path))
        var eventCount = 0
        while Clock.nowMicros < endMicros {
            try stage.worker.process.checkRunning()
            if Clock.nowMicros - begin >= Int64(eventCount * Self.secondsBetweenEvents) * 1_000_000 {
                consumed += try self.change(eventCount, prefiller)
                try prefiller.updateAudience(eventCount)
                consumed += 1
                eventCount += 1
            }
            if Clock.nowMicros - begin >= Int64(samples.count + 1) * intervalMicros {
                let now = Clock.nowMicros
                let cpu = stage.worker.process.meter.cpuMicros
                let report = try stage.worker.latencies(path)
                let sample = SoakSample(
                    minutes: Double(now - begin) / 60e6, seconds: Double(now - last.micros) / 1e6,
                    residentByteCount: stage.worker.process.meter.residentByteCount,
                    openFileCount: stage.worker.process.meter.openFileCount, cpuMicros: cpu - last.cpu,
                    latencies: report - last.report, pendingCount: stage.worker.metric("mailboat_events_pending"))
                samples.append(sample)
                last = (now, cpu, report)
                self.say(sample)
            }
            Clock.sleep(millis: 100)
        }
        try publisher.waitForEnd(limitSeconds: 120)
        consumed += count
        try self.settle(stage, consumed: consumed)
        return samples
    }

    /// Changes tokens, and lets members leave and come back.
    /// - Returns: number of records that were written.
    private func change(_ round: Int, _ prefiller: Prefiller) throws -> Int {
        let count = Self.changedTogether
        let members = (0..<count).map { (round * count + $0) % self.members }
        try prefiller.write(count) { number, key, value in
            AudienceWorkload.appendKey(members[number], to: &key)
            value += AudienceWorkload.leave
        }
        try prefiller.write(count) { number, key, value in
            AudienceWorkload.appendKey(members[number], to: &key)
            value += AudienceWorkload.join
        }
        try prefiller.write(count) { number, key, value in
            let activity = (round * count + number) % self.activities
            Workload.appendKey(activity, to: &key)
            // No other activity has this token.
            Workload.appendRegistration(self.activities + round * count + number, to: &value)
        }
        return 3 * count
    }

    /// Waits until every event has its outcome, and every member has the newest version.
    private func settle(_ stage: Stage, consumed: Int) throws {
        try stage.waitForMembers(everyMillis: 200)
        try stage.worker.settle(consumed: consumed)
        let unaccounted = stage.worker.metric("mailboat_events_unaccounted")
        guard unaccounted == 0 else {
            throw BenchmarkFailure("\(unaccounted) events are unaccounted for: each must have its outcome")
        }
        self.bench.say("        \(consumed) events were consumed, none is pending, none unaccounted for")
    }

    private func say(_ sample: SoakSample) {
        let load = String(
            format: "%5.1f min: %.0f pushes/s, CPU %.2f, %.1f MB, %d files", sample.minutes, sample.acceptedPerSecond,
            sample.cpuShare, Double(sample.residentByteCount) / 1e6, sample.openFileCount)
        let times = String(
            format: "p50 %.1f ms, p99 %.1f ms, members p99 %.0f ms", sample.p50Millis, sample.p99Millis,
            sample.memberP99Millis)
        self.bench.say("        \(load), \(times)")
    }
}

extension ProcessMeter {
    /// Number of entries of /proc/PID/fd. 0 when the process has ended.
    fileprivate var openFileCount: Int {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(self.pid)/fd")) ?? []).count
    }
}

extension AudienceWorkload {
    /// Value of every record with which a member leaves.
    fileprivate static let leave = Array(#"{"event":"unregister","audience":"match"}"#.utf8)
}
