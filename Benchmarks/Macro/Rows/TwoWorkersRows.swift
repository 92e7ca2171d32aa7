/// Two workers, each held to 50,000 members a second by its connections: what they do together, beside one.
struct TwoWorkersRows {
    let bench: Bench

    /// 1,000 streams each, every answer after 40 ms: 50,000 a second.
    private static let connectionCount = 2
    private static let apnsMillis = 40

    private struct Samples {
        var (rate, cpu) = (Sample(), Sample())
    }

    func run() throws {
        let members = self.bench.isQuick ? 100_000 : 400_000
        let roundCount = self.bench.isQuick ? 2 : 5
        let partitionCount = AudienceWorkload.partitionCount(members: members)
        self.bench.say("two-workers: \(members) members")
        let options = Worker.Options(connectionsMax: Self.connectionCount)
        let stage = try Stage(self.bench, partitionCount: partitionCount, options: options)
        defer { stage.stop() }
        try stage.join(members)
        try stage.sink.setLatency(millis: Self.apnsMillis)
        let publisher = try Prefiller(stage.broker, partitionCount: partitionCount, lingerMillis: 0)
        let one = try self.measure(members, roundCount, stage, [stage.worker], publisher)

        let other = try Worker(self.bench, broker: stage.broker, sink: stage.sink, options: options)
        defer { other.stop() }
        try Waiting.until("both workers", limitSeconds: 60, process: other.process, everyMillis: 100) {
            let counts = [stage.worker, other].map { $0.metric("mailboat_members") }
            return counts[0] + counts[1] == members && counts.allSatisfy { $0 > members * 2 / 5 }
        }
        let both = try self.measure(members, roundCount, stage, [stage.worker, other], publisher)
        self.bench.add(
            ResultRow("one worker held to 50,000 members a second: members per second", one.rate.median, "1/s"))
        self.bench.add(
            ResultRow(
                "two workers, together, beside one: members per second", both.rate.median, "1/s",
                baseline: one.rate.median, target: .twoWorkersRate))
        self.bench.add(
            ResultRow(
                "two workers, beside one: CPU per member push", both.cpu.median, "us", baseline: one.cpu.median,
                target: .twoWorkersCPU))
        try stage.broker.checkNothingWasDropped()
    }

    private func measure(
        _ members: Int, _ roundCount: Int, _ stage: Stage, _ workers: [Worker], _ publisher: Prefiller
    ) throws -> Samples {
        var samples = Samples()
        // Round 0 opens connections.
        for round in 0...roundCount {
            Clock.sleep(millis: 2_000)
            let answered = stage.sink.answeredCount
            let cpu = workers.reduce(0) { $0 + $1.process.meter.cpuMicros }
            try publisher.updateAudience(round)
            func wait(for count: Int) throws -> Int64 {
                try Waiting.until("members", limitSeconds: 120, process: workers[0].process, everyMillis: 2) {
                    stage.sink.answeredCount - answered >= count
                }
                return Clock.nowMicros
            }
            // Without the beginning and the end, when not all streams are used.
            let begin = try wait(for: members / 10)
            let end = try wait(for: members - members / 10)
            _ = try wait(for: members)
            // What follows is written.
            Clock.sleep(millis: 1_500)
            guard round > 0 else { continue }
            samples.rate.add(Double(members - 2 * (members / 10)) / Double(end - begin) * 1e6)
            let cpuAfter = workers.reduce(0) { $0 + $1.process.meter.cpuMicros }
            samples.cpu.add(Double(cpuAfter - cpu) / Double(members))
        }
        return samples
    }
}
