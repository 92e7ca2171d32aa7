/// Rows of the memory that a member takes in a worker beyond its raw token, with tokens of both lengths.
struct MemberMemoryRows {
    let bench: Bench

    /// Number of members that join together. A larger backlog would itself take memory, which must not count.
    private static let atOnce = 25_000

    func run() throws {
        for length in AudienceWorkload.TokenLength.allCases { try self.measure(length) }
    }

    private func measure(_ length: AudienceWorkload.TokenLength) throws {
        let (before, added) = self.bench.isQuick ? (50_000, 200_000) : (200_000, 1_000_000)
        let all = before + added
        let partitionCount = AudienceWorkload.partitionCount(members: all, length: length)
        self.bench.say("members-memory: \(added) more than \(before), tokens of \(length.rawValue) bytes")
        let stage = try Stage(self.bench, partitionCount: partitionCount)
        defer { stage.stop() }
        let worker = stage.worker
        let prefiller = try Prefiller(stage.broker, partitionCount: partitionCount)
        func join(_ members: Range<Int>) throws {
            for start in stride(from: members.lowerBound, to: members.upperBound, by: Self.atOnce) {
                let end = min(members.upperBound, start + Self.atOnce)
                try prefiller.join(start..<end, length: length)
                try worker.settle(consumed: end)
            }
        }
        // With these members the process allocates what it needs for any number of members.
        try join(0..<before)
        let first = worker.process.meter.residentByteCount
        try join(before..<all)
        let second = worker.process.meter.residentByteCount
        guard worker.metric("mailboat_members") == all else {
            throw BenchmarkFailure("\(worker.metric("mailboat_members")) members of \(all) have joined")
        }
        self.bench.add(
            ResultRow(
                "memory per member beyond its token of \(length.rawValue) bytes",
                Double(second - first) / Double(added) - Double(length.rawValue), "B", target: .memberByteCount))
        try stage.broker.checkNothingWasDropped()
    }
}
