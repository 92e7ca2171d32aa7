/// Rows of one event to all members of an audience. They show the cost of a member's push beside the transport alone,
/// and the times of the first and the last acceptance. They also show the cost of the joins.
struct FanoutRows {
    let bench: Bench

    /// Number of connections to APNs, both of the worker and of the transport alone.
    private static let connectionCount = 2
    /// Number of joins written while the worker is stopped. Writing them takes less time than the worker's lease lasts.
    private static let joinedTogether = 50_000

    private struct Samples {
        var (join, cpu, transport) = (Sample(), Sample(), Sample())
        var (rate, workerBusy, serverBusy) = (Sample(), Sample(), Sample())
        var (first, last) = (Sample(), Sample())
        var (sentBytes, receivedBytes) = (Sample(), Sample())
    }

    func run() throws {
        let members = self.bench.isQuick ? 100_000 : 1_000_000
        // A quick run makes more rounds than a full run, because each of its rounds takes only a third of a second.
        let roundCount = self.bench.isQuick ? 7 : 5
        let partitionCount = AudienceWorkload.partitionCount(members: members)
        self.bench.say("fanout: \(members) members, \(partitionCount) partitions")
        let stage = try Stage(
            self.bench, partitionCount: partitionCount, options: .init(connectionsMax: Self.connectionCount))
        defer { stage.stop() }
        let (broker, worker) = (stage.broker, stage.worker)
        let prefiller = try Prefiller(broker, partitionCount: partitionCount)
        // An event leaves at once, and does not wait for a full batch.
        let publisher = try Prefiller(broker, partitionCount: partitionCount, lingerMillis: 0)
        var samples = Samples()
        try self.join(members, prefiller, worker, &samples)
        let idle = worker.process.meter.residentByteCount

        // Round 0 warms up.
        for round in 0...roundCount {
            let accepted = worker.acceptedCount
            let bytes = (
                worker.metric("mailboat_apns_sent_bytes_total"), worker.metric("mailboat_apns_received_bytes_total")
            )
            let work = try worker.work(consumed: members + round + 1, answered: members) {
                try publisher.updateAudience(round)
            }
            guard worker.acceptedCount - accepted == members else {
                throw BenchmarkFailure("\(worker.acceptedCount - accepted) pushes for \(members) members")
            }
            guard round > 0 else { continue }
            let perPush = work.workerMicros / Double(members)
            samples.cpu.add(perPush)
            samples.rate.add(Double(members) / work.pushingMicros * 1e6)
            samples.workerBusy.add(work.workerMicros / work.wallMicros)
            samples.serverBusy.add(work.serverMicros / work.wallMicros)
            let perMember = 1 / Double(members)
            samples.sentBytes.add(Double(worker.metric("mailboat_apns_sent_bytes_total") - bytes.0) * perMember)
            samples.receivedBytes.add(Double(worker.metric("mailboat_apns_received_bytes_total") - bytes.1) * perMember)
            let transport = try TransportRows(bench: self.bench).measure(
                stage.sink, connections: Self.connectionCount, pushes: members)
            samples.transport.add(transport.cpuMicros / Double(transport.pushes))
            self.bench.say(
                "fanout: round \(round) of \(roundCount), \(perPush.short) us per push, transport \((transport.cpuMicros / Double(transport.pushes)).short)"
            )
        }
        // In this part the worker is idle and one event comes, as in practice.
        for round in 1...roundCount {
            Clock.sleep(millis: 1_500)
            let times = try self.acceptances(of: members, stage) { try publisher.updateAudience(roundCount + round) }
            samples.first.add(times.firstMillis)
            samples.last.add(times.lastMillis)
        }
        self.report("fan-out, \(Double(members).short) members", samples)
        self.bench.add(
            ResultRow(
                "fan-out, \(Double(members).short) members: memory before the first event", Double(idle) / 1_000_000,
                "MB"))
        self.bench.add(
            ResultRow(
                "fan-out, \(Double(members).short) members: peak memory",
                Double(worker.process.meter.residentPeakByteCount) / 1_000_000, "MB"))
        try broker.checkNothingWasDropped()
    }

    private func join(_ members: Int, _ prefiller: Prefiller, _ worker: Worker, _ samples: inout Samples) throws {
        for begin in stride(from: 0, to: members, by: Self.joinedTogether) {
            let end = min(members, begin + Self.joinedTogether)
            let work = try worker.work(consumed: end) { try prefiller.join(begin..<end) }
            // With the first joins, partitions ask for the audience's versions. These joins warm up and do not count.
            if begin > 0 { samples.join.add(Double(end - begin) / work.workerMicros * 1e6) }
        }
        guard worker.metric("mailboat_members") == members else {
            throw BenchmarkFailure("\(worker.metric("mailboat_members")) members of \(members) have joined")
        }
        self.bench.say("fanout: \(samples.join.median.short) joins per second of one core")
    }

    /// Times from producing the event until APNs has accepted the first push, and until it has accepted the last. APNs
    /// is asked every 2 ms at first, and then every 20 ms.
    private func acceptances(of members: Int, _ stage: Stage, publish: () throws -> Void) throws
        -> (firstMillis: Double, lastMillis: Double)
    {
        let before = stage.sink.answeredCount
        let begin = Clock.nowMicros
        try publish()
        func wait(for count: Int, everyMillis: Int) throws -> Double {
            try Waiting.until(
                "the members' pushes", limitSeconds: 120, process: stage.worker.process, everyMillis: everyMillis
            ) { stage.sink.answeredCount - before >= count }
            return Double(Clock.nowMicros - begin) / 1_000
        }
        return (try wait(for: 1, everyMillis: 2), try wait(for: members, everyMillis: 20))
    }

    private func report(_ name: String, _ samples: Samples) {
        let isServerBound = samples.serverBusy.median > TransportRows.serverBusyMax
        self.bench.add(
            ResultRow(
                "\(name): CPU per member push, beside the transport's", samples.cpu.median, "us",
                baseline: samples.transport.median, target: .memberPushCPU, isServerBound: isServerBound))
        self.bench.add(ResultRow("\(name): members per second of one core", 1e6 / samples.cpu.median, "1/s"))
        self.bench.add(
            ResultRow(
                "\(name): members per second\(isServerBound ? " (server-bound)" : "")", samples.rate.median, "1/s"))
        self.bench.add(ResultRow("\(name): worker busy", samples.workerBusy.median * 100, "% of a core"))
        self.bench.add(ResultRow("\(name): server busy", samples.serverBusy.median * 100, "% of a core"))
        self.bench.add(ResultRow("\(name): sent to APNs, a push", samples.sentBytes.median, "B"))
        self.bench.add(ResultRow("\(name): received from APNs, a push", samples.receivedBytes.median, "B"))
        var first = ResultRow("\(name): produced -> first acceptance", samples.first.median, "ms")
        first.aim = 50
        self.bench.add(first)
        self.bench.add(ResultRow("\(name): produced -> last acceptance", samples.last.median, "ms"))
        self.bench.add(
            ResultRow("\(name): joins per second of one core", samples.join.median, "1/s", target: .joins))
    }
}
