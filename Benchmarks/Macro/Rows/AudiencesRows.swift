/// An event to each of very many small audiences: what a member's push costs there, and how many records the partitions need to agree.
struct AudiencesRows {
    let bench: Bench

    private static let membersPerAudience = 20
    /// Joined while the worker goes on.
    private static let joinedTogether = 1_000

    func run() throws {
        for placement in ManyAudiences.Placement.allCases { try self.measure(placement) }
    }

    private func measure(_ placement: ManyAudiences.Placement) throws {
        let partitionCount = 64
        let roundCount = self.bench.isQuick ? 2 : 5
        let audiences = ManyAudiences(
            audienceCount: self.bench.isQuick ? 1_000 : 10_000, membersPerAudience: Self.membersPerAudience,
            partitionCount: partitionCount, placement: placement)
        self.bench.say(
            "audiences: \(audiences.audienceCount) of \(Self.membersPerAudience), \(placement.rawValue)")
        let stage = try Stage(self.bench, partitionCount: partitionCount)
        defer { stage.stop() }
        let (broker, worker) = (stage.broker, stage.worker)
        let prefiller = try Prefiller(broker, partitionCount: partitionCount)
        for begin in stride(from: 0, to: audiences.audienceCount, by: Self.joinedTogether) {
            let end = min(audiences.audienceCount, begin + Self.joinedTogether)
            try audiences.join(begin..<end, prefiller)
            try worker.settle(consumed: end * Self.membersPerAudience)
        }
        try broker.checkNothingWasDropped()
        let routed = try TopicMeter(broker, topic: "liveactivity.routed", partitionCount: partitionCount)
        var (cpu, records) = (Sample(), Sample())
        var consumed = audiences.memberCount
        // Round 0 warms up.
        for round in 0...roundCount {
            // Reports of the round before have all been written.
            Clock.sleep(millis: 2_500)
            let before = (records: try routed.recordCount(), accepted: worker.acceptedCount)
            // All rounds together can be more than the embedded broker keeps: the worker has read those before.
            let read = try broker.logEnds()
            consumed += audiences.audienceCount
            let work = try worker.work(consumed: consumed, answered: audiences.memberCount) {
                try audiences.update(round, prefiller)
            }
            let accepted = worker.acceptedCount - before.accepted
            guard accepted == audiences.memberCount else {
                throw BenchmarkFailure("\(accepted) pushes for \(audiences.memberCount) members")
            }
            Clock.sleep(millis: 2_500)
            try broker.checkNothingWasDropped(behind: read)
            guard round > 0 else { continue }
            cpu.add(work.workerMicros / Double(accepted))
            records.add(Double(try routed.recordCount() - before.records) / Double(audiences.audienceCount))
        }
        let name =
            "\(Double(audiences.audienceCount).short) audiences of \(Self.membersPerAudience), \(placement.rawValue)"
        self.bench.add(
            ResultRow(
                "\(name): partitions an audience",
                Double(audiences.crowdCount) / Double(audiences.audienceCount), "partitions"))
        let row = "\(name): records of routed, an audience and event"
        self.bench.add(
            placement == .near
                ? ResultRow(row, records.median, "records", target: .routedRecords)
                : ResultRow(row, records.median, "records"))
        self.bench.add(ResultRow("\(name): CPU per member push", cpu.median, "us"))
    }
}
