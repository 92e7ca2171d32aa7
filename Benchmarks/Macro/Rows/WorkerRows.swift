/// Rows of the whole worker, from Kafka to APNs and back to Kafka. Each event is a push.
struct WorkerRows {
    let bench: Bench

    func run() throws {
        // All rounds of this many activities fit into 64 partitions. librdkafka needs more CPU for a request to a
        // broker with more partitions, and here one broker has all partitions.
        let activities = 100_000
        let roundCount = self.bench.isQuick ? 3 : 5
        let name = "worker, uncoalesced"
        let partitionCount = Workload.partitionCount(activities: activities, updates: activities * (roundCount + 1))
        self.bench.say("worker: starting Kafka (\(partitionCount) partitions), APNs, worker")
        let stage = try Stage(self.bench, partitionCount: partitionCount)
        defer { stage.stop() }
        let (sink, broker, worker) = (stage.sink, stage.broker, stage.worker)
        var h2load = try H2Load(self.bench, sink: sink)
        self.bench.say("worker: registering \(activities) activities")
        let prefiller = try stage.register(activities)

        var (cpu, rate, saturation, yardstick) = (Sample(), Sample(), Sample(), Sample())
        var (workerBusy, serverBusy, kafkaBusy, kafkaCPU) = (Sample(), Sample(), Sample(), Sample())
        // Round 0 warms up.
        for round in 0...roundCount {
            self.bench.say("worker: round \(round) of \(roundCount), \(activities) updates to as many activities")
            let accepted = worker.acceptedCount
            let work = try worker.work(consumed: activities * (round + 2)) {
                try prefiller.update(0..<activities, round: round)
            }
            guard worker.acceptedCount - accepted == activities else {
                throw BenchmarkFailure("\(worker.acceptedCount - accepted) pushes for \(activities) distinct updates")
            }
            guard round > 0 else { continue }
            let pushes = Double(activities)
            cpu.add(work.workerMicros / pushes)
            rate.add(pushes / work.pushingMicros * 1e6)
            saturation.add(work.saturationPerSecond(pushCount: activities))
            workerBusy.add(work.workerMicros / work.wallMicros)
            serverBusy.add(work.serverMicros / work.wallMicros)
            kafkaBusy.add(work.kafkaMicros / work.wallMicros)
            kafkaCPU.add(work.kafkaMicros / pushes)
            self.bench.say("        \((work.workerMicros / pushes).short) us per push")
            yardstick.add(try h2load.run(connections: 1, requests: activities).cpuMicrosPerRequest)
        }
        // If server and Kafka share a core, the core is as busy as both together.
        let coreBusy = self.bench.cores.isServerShared ? serverBusy.median + kafkaBusy.median : serverBusy.median
        let isServerBound = coreBusy > TransportRows.serverBusyMax
        self.bench.saturationPerSecond = saturation.median
        self.bench.add(
            ResultRow(
                "\(name): CPU per push", cpu.median, "us", baseline: yardstick.median, target: .workerCPU,
                isServerBound: isServerBound))
        self.bench.add(
            ResultRow("\(name): pushes per second\(isServerBound ? " (server-bound)" : "")", rate.median, "1/s"))
        self.bench.add(ResultRow("\(name): pushes per second of one core", saturation.median, "1/s"))
        self.bench.add(ResultRow("\(name): worker busy", workerBusy.median * 100, "% of a core"))
        self.bench.add(ResultRow("\(name): server busy", serverBusy.median * 100, "% of a core"))
        self.bench.add(ResultRow("\(name): Kafka busy", kafkaBusy.median * 100, "% of a core"))
        self.bench.add(ResultRow("\(name): CPU of Kafka per push", kafkaCPU.median, "us"))
        self.bench.add(
            ResultRow(
                "\(name): peak memory", Double(worker.process.meter.residentPeakByteCount) / 1_000_000, "MB"))
        try broker.checkNothingWasDropped()
        worker.stop()
        try self.countAllocations(name)
    }

    /// Counts allocations on the steady path: every activity has been pushed to before.
    private func countAllocations(_ name: String) throws {
        self.bench.say("worker: counting heap allocations")
        let activities = 20_000
        let counter = try AllocationCounter(self.bench)
        let stage = try Stage(self.bench, partitionCount: 64, options: .init(environment: counter.environment))
        defer { stage.stop() }
        let (broker, worker) = (stage.broker, stage.worker)
        let prefiller = try stage.register(activities)
        var counts = AllocationCounts()
        for round in 0..<3 {
            _ = try worker.work(consumed: activities * (round + 2)) {
                try prefiller.update(0..<activities, round: round)
                // The worker is stopped, so it allocates nothing between here and its start.
                counts = counter.counts
            }
            counts = counter.counts - counts
        }
        try AllocationRows.add(name, counts, pushes: activities, to: self.bench)
        try broker.checkNothingWasDropped()
    }
}
