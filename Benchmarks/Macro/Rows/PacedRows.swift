/// Rows of the cost of a push when updates arrive at a fixed rate and each becomes a push. A lone record costs a
/// request to Kafka, a wake-up and a turn. In a backlog many records share this cost.
struct PacedRows {
    let bench: Bench

    private static let ratesPerSecond = [1_000, 2_000, 10_000, 20_000, 50_000]
    private static let quickRatesPerSecond = [1_000, 10_000, 50_000]
    /// Seconds for which the activities suffice. A round then comes to its first activity again.
    private static let activitySeconds = 2.5
    private static let warmUpSeconds = 1.0
    private static let measuredSeconds = 3.0
    /// How long the publisher continues after the measured time.
    private static let overlapSeconds = 0.5

    private struct Rate {
        var perSecond: Int
        var activityCount: Int
        var workerCPU = Sample()
        var kafkaCPU = Sample()
        var workerBusy = Sample()
        var pace = Sample()
    }

    func run() throws {
        let asked = self.bench.pacedPerSecond
        let perSecond =
            asked.isEmpty ? (self.bench.isQuick ? Self.quickRatesPerSecond : Self.ratesPerSecond) : asked.sorted()
        for rate in perSecond { try self.run(perSecond: rate) }
    }

    /// Measures one rate. The processes are new, so that a few partitions can hold all records.
    private func run(perSecond: Int) throws {
        let roundCount = self.bench.isQuick ? 1 : 3
        let activityCount = Int(Double(perSecond) * Self.activitySeconds)
        var rate = Rate(perSecond: perSecond, activityCount: activityCount)
        let partitionCount = Workload.partitionCount(
            activities: activityCount, updates: self.updateCount(rate) * roundCount)
        self.bench.say("paced: \(perSecond) a second, \(activityCount) activities, \(partitionCount) partitions")
        let stage = try Stage(self.bench, partitionCount: partitionCount)
        defer { stage.stop() }
        let (sink, broker, worker) = (stage.sink, stage.broker, stage.worker)
        try stage.register(activityCount)
        var consumed = activityCount
        for _ in 1...roundCount {
            try self.round(&rate, partitionCount: partitionCount, worker: worker, sink: sink, broker: broker)
            consumed += self.updateCount(rate)
            try worker.settle(consumed: consumed)
        }
        self.report(rate)
        try broker.checkNothingWasDropped()
    }

    private func updateCount(_ rate: Rate) -> Int {
        Int(Double(rate.perSecond) * (Self.warmUpSeconds + Self.measuredSeconds + Self.overlapSeconds))
    }

    private func round(
        _ rate: inout Rate, partitionCount: Int, worker: Worker, sink: Sink, broker: Broker
    ) throws {
        let load = PacedLoad(
            broker: broker, partitionCount: partitionCount, activityCount: rate.activityCount,
            perSecond: Double(rate.perSecond))
        let publisher = try load.start(self.updateCount(rate), self.bench)
        Clock.sleep(millis: Int(Self.warmUpSeconds * 1_000))
        let window = try PacedWindow.measure(seconds: Self.measuredSeconds, worker, sink, broker)
        try publisher.waitForEnd(limitSeconds: 60)
        rate.workerCPU.add(window.workerMicrosPerPush)
        rate.kafkaCPU.add(window.kafkaMicrosPerPush)
        rate.workerBusy.add(window.workerBusy)
        rate.pace.add(window.pushesPerSecond)
        self.bench.say("        \(window.workerMicrosPerPush.short) us per push")
    }

    private func report(_ rate: Rate) {
        let name = "paced, \(Double(rate.perSecond).short) a second"
        self.bench.add(ResultRow("\(name): CPU per push", rate.workerCPU.median, "us"))
        // A value below the asked rate means that publisher, Kafka or worker did not keep pace.
        self.bench.add(ResultRow("\(name): pushes per second", rate.pace.median, "1/s"))
        self.bench.add(ResultRow("\(name): worker busy", rate.workerBusy.median * 100, "% of a core"))
        // A real broker's CPU is not known.
        guard !self.bench.isOnRealBroker else { return }
        self.bench.add(ResultRow("\(name): CPU of Kafka per push", rate.kafkaCPU.median, "us"))
    }
}
