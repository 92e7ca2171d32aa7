/// Rows of the time that a worker needs to take over everything, from its start until it is ready.
struct RestoreRows {
    let bench: Bench

    private let activities: Int
    /// Number of partitions. `nil` means as many as are needed.
    private let partitionCount: Int?

    /// Plans the rows.
    /// - Parameter bench: the run. On a real broker two partitions hold everything, because a worker of a scaled
    ///   deployment has few.
    init(bench: Bench) {
        self.bench = bench
        self.activities = bench.isOnRealBroker ? 100_000 : 200_000
        self.partitionCount = bench.isOnRealBroker ? 2 : nil
    }

    func run() throws {
        let roundCount = self.bench.isQuick ? 1 : 3
        let partitionCount =
            self.partitionCount ?? Workload.partitionCount(activities: self.activities, updates: self.activities)
        self.bench.say("restore: \(self.activities) activities, \(partitionCount) partitions")
        let sink = try Sink(self.bench)
        defer { sink.stop() }
        let broker = try Broker(self.bench, partitionCount: partitionCount)
        defer { broker.stop() }
        let recordCount = try self.fill(broker, sink, partitionCount: partitionCount)
        self.bench.say("restore: \(recordCount) records of state")

        var (total, joining, restoring, rate, cpu, memory) = (
            Sample(), Sample(), Sample(), Sample(), Sample(), Sample()
        )
        for round in 1...roundCount {
            // Each worker has its own group, because a group that has just lost a member would wait for it.
            let begunMicros = Clock.nowMicros
            let worker = try Worker(
                self.bench, broker: broker, sink: sink,
                options: .init(
                    group: "restore-\(round)", settings: ["start-from: end"], readyLookMillis: 10,
                    restoredPartitionCount: partitionCount))
            defer { worker.stop() }
            let (readyMicros, owned) = (worker.restoredMicros, worker.assignedMicros)
            // The CPU is read before the worker is asked anything.
            let cpuMicros = worker.process.meter.cpuMicros
            let restored = worker.metric("mailboat_state_restored_records_total")
            let activities = worker.metric("mailboat_slots")
            // The number of restored records includes markers.
            guard activities == self.activities, restored >= recordCount else {
                throw BenchmarkFailure(
                    "\(activities) activities of \(self.activities) and \(restored) records of \(recordCount) were restored"
                )
            }
            total.add(Double(readyMicros - begunMicros) / 1_000)
            joining.add(Double(owned - begunMicros) / 1_000)
            restoring.add(Double(readyMicros - owned) / 1_000)
            rate.add(Double(restored) / Double(max(1, readyMicros - owned)) * 1e6)
            cpu.add(Double(cpuMicros) / Double(restored))
            memory.add(Double(worker.process.meter.residentPeakByteCount) / 1_000_000)
            self.bench.say(
                "restore: round \(round) of \(roundCount), ready after \((readyMicros - begunMicros) / 1_000) ms")
        }
        let name =
            "restore, \(Double(self.activities).short) activities"
            + (self.partitionCount.map { " in \($0) partitions" } ?? "")
        self.bench.add(ResultRow("\(name): start until ready", total.median, "ms"))
        self.bench.add(ResultRow("\(name): of it, until the group gave it partitions", joining.median, "ms"))
        self.bench.add(ResultRow("\(name): of it, reading state", restoring.median, "ms"))
        self.bench.add(ResultRow("\(name): records of state", Double(recordCount), ""))
        self.bench.add(ResultRow("\(name): records per second", rate.median, "1/s"))
        self.bench.add(ResultRow("\(name): CPU per record, the start included", cpu.median, "us"))
        self.bench.add(ResultRow("\(name): peak memory", memory.median, "MB"))
        try broker.checkNothingWasDropped()
    }

    /// Lets a worker write state: a registration and a push for each activity.
    /// - Returns: number of records of `state` afterwards.
    private func fill(_ broker: Broker, _ sink: Sink, partitionCount: Int) throws -> Int {
        let worker = try Worker(self.bench, broker: broker, sink: sink)
        defer { worker.stop() }
        let prefiller = try Prefiller(broker, partitionCount: partitionCount)
        try prefiller.register(0..<self.activities)
        try worker.settle(consumed: self.activities)
        try prefiller.update(0..<self.activities, round: 0)
        try worker.settle(consumed: 2 * self.activities)
        return worker.metric("mailboat_state_records_total")
    }
}
