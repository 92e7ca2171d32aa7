/// Rows of the memory of an activity whose id and token are as long as in practice. The activity is idle, or has had
/// three high-priority pushes, whose times its budget keeps.
struct MemoryRows {
    let bench: Bench

    private static let pushCount = 3
    /// Number of activities registered or pushed to together. A larger backlog would itself take memory, which must not
    /// count.
    private static let atOnce = 25_000

    func run() throws {
        let (before, added) = self.bench.isQuick ? (50_000, 100_000) : (100_000, 400_000)
        let all = before + added
        let partitionCount = Workload.partitionCount(
            activities: all, updates: all * Self.pushCount, identity: .long)
        self.bench.say("memory: \(added) more activities than \(before), \(partitionCount) partitions")
        let stage = try Stage(self.bench, partitionCount: partitionCount)
        defer { stage.stop() }
        let (broker, worker) = (stage.broker, stage.worker)
        let prefiller = try Prefiller(broker, partitionCount: partitionCount, identity: .long)
        var consumed = 0
        func slices(_ activities: Range<Int>, _ body: (Range<Int>) throws -> Void) throws {
            for start in stride(from: activities.lowerBound, to: activities.upperBound, by: Self.atOnce) {
                let slice = start..<min(activities.upperBound, start + Self.atOnce)
                try body(slice)
                consumed += slice.count
                try worker.settle(consumed: consumed)
            }
        }
        func push(_ activities: Range<Int>) throws {
            for round in 0..<Self.pushCount { try slices(activities) { try prefiller.update($0, round: round) } }
        }
        // With these activities the process allocates what it needs for any number of activities.
        try slices(0..<before) { try prefiller.register($0) }
        try push(0..<before)
        let empty = worker.process.meter.residentByteCount
        try slices(before..<all) { try prefiller.register($0) }
        let idle = worker.process.meter.residentByteCount
        try push(before..<all)
        let pushed = worker.process.meter.residentByteCount
        guard worker.acceptedCount == all * Self.pushCount else {
            throw BenchmarkFailure("\(worker.acceptedCount) pushes for \(all * Self.pushCount) updates")
        }
        let name = "memory per activity, UUID ids and 80-byte tokens"
        self.bench.add(
            ResultRow("\(name): idle", Double(idle - empty) / Double(added), "B", target: .longIdleByteCount))
        self.bench.add(
            ResultRow(
                "\(name): after \(Self.pushCount) high-priority pushes", Double(pushed - empty) / Double(added), "B",
                target: .pushedByteCount))
        try broker.checkNothingWasDropped()
    }
}
