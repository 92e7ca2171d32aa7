/// Row 7: what the time to APNs and back does to the rate of the whole worker, given streams enough.
struct RoundTripRows {
    let bench: Bench
    let plots: String?

    private static let latenciesMillis = [0, 10, 50, 100]
    private static let connections = 32

    func run() throws {
        let activities = self.bench.isQuick ? 50_000 : 150_000
        let roundCount = self.bench.isQuick ? 1 : 3
        let rounds = Self.latenciesMillis.count * roundCount + 1
        let partitionCount = Workload.partitionCount(activities: activities, updates: activities * rounds)
        self.bench.say("round trip: \(activities) activities, \(Self.connections) connections")
        let stage = try Stage(
            self.bench, partitionCount: partitionCount,
            options: .init(connectionsMax: Self.connections, settings: ["apns.connections-warm: \(Self.connections)"]))
        defer { stage.stop() }
        let (sink, broker, worker) = (stage.sink, stage.broker, stage.worker)
        let prefiller = try stage.register(activities)
        var consumed = activities
        var rates: [Int: Sample] = [:]
        var costs: [Int: Sample] = [:]
        for round in 0...roundCount {
            // Round 0 warms up, without latency.
            for latency in round == 0 ? [0] : Self.latenciesMillis {
                self.bench.say("round trip: round \(round) of \(roundCount), \(latency) ms")
                try sink.setLatency(millis: latency)
                consumed += activities
                let work = try worker.work(consumed: consumed) {
                    try prefiller.update(0..<activities, round: consumed)
                }
                guard round > 0 else { continue }
                rates[latency, default: Sample()].add(Double(activities) / work.pushingMicros * 1e6)
                costs[latency, default: Sample()].add(work.workerMicros / Double(activities))
            }
        }
        let rate = { (latency: Int) in rates[latency]?.median ?? 0 }
        for latency in Self.latenciesMillis {
            let name = "round trip \(latency) ms"
            self.bench.add(
                ResultRow(
                    "\(name): pushes per second", rate(latency), "1/s", baseline: latency == 0 ? nil : rate(0)))
            self.bench.add(ResultRow("\(name): CPU per push", costs[latency]?.median ?? 0, "us"))
        }
        try broker.checkNothingWasDropped()
        guard let plots else { return }
        var plot = LinePlot(
            title: "Pushes per second by round-trip time", xTitle: "time APNs takes to answer, ms",
            yTitle: "pushes per second")
        plot.add("whole worker", Self.latenciesMillis.map { (Double($0), rate($0)) })
        try plot.write(to: plots + "/round-trip.svg")
    }
}
