/// What a page of metrics costs an idle worker, beside a request to `/healthz`: the admin server's own share is the same in both.
struct ScrapeRows {
    let bench: Bench

    private static let partitionCounts = [64, 256]
    private static let requestCount = 200
    private static let idleMillis = 500
    /// Lags are there after the second look at the logs' ends, within some ten seconds.
    private static let lagLookMillis = 500

    func run() throws {
        for partitionCount in Self.partitionCounts { try self.run(partitionCount: partitionCount) }
    }

    private func run(partitionCount: Int) throws {
        let roundCount = self.bench.isQuick ? 3 : 7
        self.bench.say("scrape: \(partitionCount) partitions")
        let stage = try Stage(self.bench, partitionCount: partitionCount)
        defer { stage.stop() }
        let worker = stage.worker
        try Waiting.until(
            "lags of all partitions", limitSeconds: 30, process: worker.process, everyMillis: Self.lagLookMillis
        ) { worker.seriesCount("mailboat_kafka_lag_records") >= partitionCount }
        var (page, health, bytes) = (Sample(), Sample(), Sample())
        for round in 0...roundCount {
            // In turn, and without what the worker does anyway.
            let idle = self.idleShare(of: worker)
            let healthMicros = try self.cpuMicros(of: worker, "/healthz", idleShare: idle)
            let pageMicros = try self.cpuMicros(of: worker, "/metrics", idleShare: idle)
            guard round > 0 else { continue }
            health.add(healthMicros)
            page.add(pageMicros)
            bytes.add(Double(worker.get("/metrics")?.utf8.count ?? 0))
        }
        let name = "scrape, \(partitionCount) partitions"
        self.bench.add(
            ResultRow("\(name): CPU per page", page.median, "us", baseline: health.median, target: .scrape))
        self.bench.add(ResultRow("\(name): size of a page", bytes.median / 1_000, "kB"))
    }

    private func idleShare(of worker: Worker) -> Double {
        let (cpu, wall) = (worker.process.meter.cpuMicros, Clock.nowMicros)
        Clock.sleep(millis: Self.idleMillis)
        return Double(worker.process.meter.cpuMicros - cpu) / Double(Clock.nowMicros - wall)
    }

    /// CPU of the worker for a request, less what it would have used meanwhile.
    private func cpuMicros(of worker: Worker, _ path: String, idleShare: Double) throws -> Double {
        let (cpu, wall) = (worker.process.meter.cpuMicros, Clock.nowMicros)
        for _ in 0..<Self.requestCount {
            guard worker.get(path) != nil else { throw BenchmarkFailure("the worker does not answer \(path)") }
        }
        let idle = idleShare * Double(Clock.nowMicros - wall)
        return (Double(worker.process.meter.cpuMicros - cpu) - idle) / Double(Self.requestCount)
    }
}
