/// Rows of how fast a worker takes over the members of an audience. Each member is one record of `state`.
struct MemberRestoreRows {
    let bench: Bench

    private static let atOnce = 50_000

    func run() throws {
        let members = self.bench.isQuick ? 200_000 : 1_000_000
        let roundCount = self.bench.isQuick ? 2 : 3
        let partitionCount = AudienceWorkload.partitionCount(members: members)
        self.bench.say("members-restore: \(members) members, \(partitionCount) partitions")
        let sink = try Sink(self.bench)
        defer { sink.stop() }
        let broker = try Broker(self.bench, partitionCount: partitionCount)
        defer { broker.stop() }
        let writtenCount = try self.fill(broker, sink, members: members, partitionCount: partitionCount)

        var (total, restoring, rate, core) = (Sample(), Sample(), Sample(), Sample())
        for round in 1...roundCount {
            let begunMicros = Clock.nowMicros
            // Each worker has its own group, because a group that has just lost a member would wait for it.
            let worker = try Worker(
                self.bench, broker: broker, sink: sink,
                options: .init(
                    group: "members-restore-\(round)", settings: ["start-from: end"], readyLookMillis: 10,
                    restoredPartitionCount: partitionCount))
            defer { worker.stop() }
            let restored = Double(worker.metric("mailboat_state_restored_records_total"))
            // The number of restored records includes markers.
            guard worker.metric("mailboat_members") == members, Int(restored) >= writtenCount else {
                throw BenchmarkFailure(
                    "\(worker.metric("mailboat_members")) members of \(members) and \(Int(restored)) records of \(writtenCount) were restored"
                )
            }
            let restoringMicros = Double(max(1, worker.restoredMicros - worker.assignedMicros))
            total.add(Double(worker.restoredMicros - begunMicros) / 1_000)
            restoring.add(restoringMicros / 1_000)
            rate.add(restored / restoringMicros * 1e6)
            core.add(restored / Double(max(1, worker.restoringCPUMicros)) * 1e6)
            self.bench.say(
                "members-restore: round \(round) of \(roundCount), \((restoringMicros / 1_000).short) ms of \((total.values.last ?? 0).short)"
            )
        }
        let name = "restore of \(Double(members).short) members"
        self.bench.add(ResultRow("\(name): start until restored", total.median, "ms"))
        self.bench.add(ResultRow("\(name): of it, reading state", restoring.median, "ms"))
        self.bench.add(ResultRow("\(name): records per second", rate.median, "1/s"))
        self.bench.add(
            ResultRow("\(name): records per second of one core", core.median, "1/s", target: .memberRestore))
        try broker.checkNothingWasDropped()
    }

    /// Lets a worker write a `state` record for each member.
    /// - Returns: number of records of `state` afterwards.
    private func fill(_ broker: Broker, _ sink: Sink, members: Int, partitionCount: Int) throws -> Int {
        let worker = try Worker(self.bench, broker: broker, sink: sink)
        defer { worker.stop() }
        let prefiller = try Prefiller(broker, partitionCount: partitionCount)
        for begin in stride(from: 0, to: members, by: Self.atOnce) {
            let end = min(members, begin + Self.atOnce)
            try prefiller.join(begin..<end)
            try worker.settle(consumed: end)
        }
        return worker.metric("mailboat_state_records_total")
    }
}
