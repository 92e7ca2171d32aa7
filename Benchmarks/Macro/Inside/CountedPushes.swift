import ArgumentParser
import PushWorker

/// Makes whole pushes through the loop in a process whose work depends only on its arguments. Kafka and APNs are in
/// memory, and time is virtual.
struct CountedPushesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "counted-pushes", abstract: "Push to every activity, a given number of times, under virtual time.",
        shouldDisplay: false)

    @Option var activities: Int
    /// How often each activity gets an update.
    @Option var passes: Int
    /// Share of updates that are traced. Without it, tracing is off.
    @Option var tracedShare: Double?
    /// Whether spans are also written for a collector. A worker does that on another thread.
    @Flag var writesSpans = false

    /// Maximum number of records that the worker takes in a turn.
    private static let recordsPerTurn = 512
    private static let partitionCount: Int32 = 64

    func run() throws {
        // Options are looked up each time they are named, so they are read once and not for each record.
        let (activities, passes) = (self.activities, self.passes)
        var meter = AllocationMeter()
        var shard = CountedShard(activities: activities, partitionCount: Self.partitionCount)
        try Self.inTurns(activities) { try shard.register($0) }
        let tracing = try self.tracedShare.map { share in
            guard let tracing = CountedShard.tracing(share: share) else {
                throw ValidationError("--traced-share is \(share): expected 0 to 1")
            }
            return tracing
        }
        if let tracing { shard.trace(by: tracing) }
        let writesSpans = self.writesSpans
        for pass in 0..<passes {
            shard.wait(millis: 2_000)
            try Self.inTurns(activities) { turn in
                try shard.push(turn, number: pass, meter: &meter)
                _ = tracing?.export(writes: writesSpans)
            }
        }
    }

    private static func inTurns(_ activities: Int, _ body: (Range<Int>) throws -> Void) rethrows {
        for begin in stride(from: 0, to: activities, by: self.recordsPerTurn) {
            try body(begin..<min(activities, begin + self.recordsPerTurn))
        }
    }
}
