/// Rows on a real broker. They show what a backlog costs for each number of partitions. A worker of a scaled deployment
/// has few partitions.
///
/// The cost depends on the records that librdkafka queues and on what it fetches next. The broker holds a fetch that
/// asks only for empty partitions. Meanwhile the queues of other partitions run dry.
struct BacklogRows {
    let bench: Bench

    private static let partitionCounts = [1, 2, 4, 16, 64]

    func run() throws {
        let activities = self.bench.isQuick ? 30_000 : 50_000
        let roundCount = self.bench.isQuick ? 1 : 3
        var rates: [Double] = []
        for partitionCount in Self.partitionCounts {
            self.bench.say("backlog: \(activities) updates in \(partitionCount) partitions")
            let stage = try Stage(self.bench, partitionCount: partitionCount)
            defer { stage.stop() }
            let worker = stage.worker
            let prefiller = try stage.register(activities)
            var (cpu, rate) = (Sample(), Sample())
            // Round 0 warms up.
            for round in 0...roundCount {
                let work = try worker.work(consumed: activities * (round + 2)) {
                    try prefiller.update(0..<activities, round: round)
                }
                guard round > 0 else { continue }
                cpu.add(work.workerMicros / Double(activities))
                rate.add(Double(activities) / work.pushingMicros * 1e6)
                self.bench.say("        \(rate.values.last?.short ?? "") pushes a second")
            }
            rates.append(rate.median)
            let name = "backlog in \(partitionCount) partition\(partitionCount == 1 ? "" : "s")"
            self.bench.add(ResultRow("\(name): pushes per second", rate.median, "1/s"))
            self.bench.add(ResultRow("\(name): CPU per push", cpu.median, "us"))
        }
        self.bench.add(
            ResultRow(
                "backlog: pushes per second, slowest partition count beside fastest", rates.min() ?? 0, "1/s",
                baseline: rates.max() ?? 0, target: .backlogShapes))
    }
}
