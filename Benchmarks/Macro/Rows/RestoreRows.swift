/// Row 8: how long a worker needs to take over everything there is: from its start until it is ready.
struct RestoreRows {
    let bench: Bench

    private static let activities = 200_000
    private static let lookMillis = 10

    func run() throws {
        let roundCount = self.bench.isQuick ? 1 : 3
        let partitionCount = Workload.partitionCount(activities: Self.activities, updates: Self.activities)
        self.bench.say("restore: \(Self.activities) activities, \(partitionCount) partitions")
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
            // A group of its own each time: one that has just lost a member would wait for it.
            var ownedMicros: Int64?
            let begunMicros = Clock.nowMicros
            let worker = try Worker(
                self.bench, broker: broker, sink: sink,
                options: .init(
                    settings: ["kafka.group: restore-\(round)", "start-from: end"],
                    readyLookMillis: Self.lookMillis,
                    whileStarting: { metrics in
                        guard ownedMicros == nil, Worker.sum("mailboat_partitions", label: "", of: metrics) > 0 else {
                            return
                        }
                        ownedMicros = Clock.nowMicros
                    }))
            defer { worker.stop() }
            let readyMicros = Clock.nowMicros
            let restored = worker.metric("mailboat_state_restored_records_total")
            let activities = worker.metric("mailboat_activities")
            // Its own markers were read, too.
            guard activities == Self.activities, restored >= recordCount else {
                throw BenchmarkFailure(
                    "\(activities) activities of \(Self.activities) and \(restored) records of \(recordCount) were restored"
                )
            }
            let owned = ownedMicros ?? readyMicros
            total.add(Double(readyMicros - begunMicros) / 1_000)
            joining.add(Double(owned - begunMicros) / 1_000)
            restoring.add(Double(readyMicros - owned) / 1_000)
            rate.add(Double(restored) / Double(max(1, readyMicros - owned)) * 1e6)
            cpu.add(Double(worker.process.meter.cpuMicros) / Double(restored))
            memory.add(Double(worker.process.meter.residentPeakByteCount) / 1_000_000)
            self.bench.say(
                "restore: round \(round) of \(roundCount), ready after \((readyMicros - begunMicros) / 1_000) ms")
        }
        let name = "restore, \(Double(Self.activities).short) activities"
        self.bench.add(ResultRow("\(name): start until ready", total.median, "ms"))
        self.bench.add(ResultRow("\(name): of it, until the group gave it partitions", joining.median, "ms"))
        self.bench.add(ResultRow("\(name): of it, reading state", restoring.median, "ms"))
        self.bench.add(ResultRow("\(name): records of state", Double(recordCount), ""))
        self.bench.add(ResultRow("\(name): records per second", rate.median, "1/s"))
        self.bench.add(ResultRow("\(name): CPU per record, the start included", cpu.median, "us"))
        self.bench.add(ResultRow("\(name): peak memory", memory.median, "MB"))
        try broker.checkNothingWasDropped()
    }

    /// Has a worker write state: a registration and a push for each activity. Answers how many records there are then.
    private func fill(_ broker: Broker, _ sink: Sink, partitionCount: Int) throws -> Int {
        let worker = try Worker(self.bench, broker: broker, sink: sink)
        defer { worker.stop() }
        let prefiller = try Prefiller(bootstrap: broker.bootstrap, partitionCount: partitionCount)
        try prefiller.register(0..<Self.activities)
        try worker.settle(consumed: Self.activities)
        try prefiller.update(0..<Self.activities, round: 0)
        try worker.settle(consumed: 2 * Self.activities)
        return worker.metric("mailboat_state_records_total")
    }
}
