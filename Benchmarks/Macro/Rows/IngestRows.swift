/// Rows of how many events the worker's loop takes in per second of CPU, while APNs and Kafka answer at once. This
/// number is compared with that of librdkafka alone, which only counts the same records.
struct IngestRows {
    let bench: Bench

    private static let activities = 10_000

    func run() throws {
        let eventCount = self.bench.isQuick ? 400_000 : 1_000_000
        let roundCount = self.bench.isQuick ? 3 : 5
        let partitionCount = Workload.partitionCount(activities: 0, updates: eventCount)
        self.bench.say("ingest: \(eventCount) events to \(Self.activities) activities, \(partitionCount) partitions")
        let broker = try Broker(self.bench, partitionCount: partitionCount, topics: [Workload.topic, "routed"])
        defer { broker.stop() }
        let prefiller = try Prefiller(broker, partitionCount: partitionCount)
        try prefiller.produce(eventCount) { number, value in
            Workload.appendUpdate(number, to: &value)
            return number % Self.activities
        }
        var (own, raw, brokerBusy, pushes) = (Sample(), Sample(), Sample(), Sample())
        for round in 1...roundCount {
            self.bench.say("ingest: round \(round) of \(roundCount)")
            let words = [
                "--bootstrap", broker.bootstrap, "--partitions", "\(partitionCount)", "--events", "\(eventCount)",
                "--broker-pid", "\(broker.pid ?? 0)",
            ]
            let commands = [
                ["ingest"] + words + ["--activities", "\(Self.activities)"], ["raw-consumption"] + words,
            ]
            for command in round % 2 == 1 ? commands : commands.reversed() {
                let result = try self.launch(command)
                // Events per second of CPU time. A loop with a core of its own cannot take in more events per second.
                let rate = Double(result.eventCount) / result.cpuMicros * 1e6
                if command[0] == "ingest" {
                    own.add(rate)
                    brokerBusy.add(result.brokerMicros / result.wallMicros)
                    pushes.add(Double(result.pushCount))
                } else {
                    raw.add(rate)
                }
            }
        }
        self.bench.add(
            ResultRow(
                "ingest: events per second of one core", own.median, "1/s", baseline: raw.median, target: .ingest))
        self.bench.add(ResultRow("ingest: events per push", Double(eventCount) / max(1, pushes.median), "events"))
        self.bench.add(ResultRow("ingest: Kafka busy", brokerBusy.median * 100, "% of a core"))
        try broker.checkNothingWasDropped()
    }

    private func launch(_ command: [String]) throws -> IngestMeasurement {
        let process = try ChildProcess(
            command[0], [self.bench.own] + command, core: self.bench.cores.client,
            logPath: self.bench.logPath(command[0]))
        try process.waitForEnd(limitSeconds: 120)
        guard let result = IngestMeasurement(output: process.output) else {
            throw BenchmarkFailure("\(command[0]) said nothing: \(process.lastLines)")
        }
        return result
    }
}
