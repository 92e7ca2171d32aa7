import ArgumentParser
import PushWorker

/// Brings events to the members of an audience through the loop, as `CountedPushesCommand` does for activities.
struct CountedPassesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "counted-passes",
        abstract: "Push to every member of an audience, a given number of times, under virtual time.",
        shouldDisplay: false)

    @Option var members: Int
    /// Number of partitions. Each of them brings an event to its own members.
    @Option var partitions: Int32
    /// How often each member gets an update.
    @Option var events: Int
    /// Share of events that are traced. Without it, tracing is off.
    @Option var tracedShare: Double?
    /// Whether spans are also written for a collector. A worker does that on another thread.
    @Flag var writesSpans = false

    func run() throws {
        var meter = AllocationMeter()
        var shard = CountedMembers(members: self.members, partitionCount: self.partitions)
        try shard.join(0..<self.members, meter: &meter)
        let tracing = try self.tracedShare.map { share in
            guard let tracing = shard.trace(share: share) else {
                throw ValidationError("--traced-share is \(share): expected 0 to 1")
            }
            return tracing
        }
        for event in 0..<self.events {
            try shard.push(number: event, meter: &meter)
            _ = tracing?.export(writes: self.writesSpans)
        }
    }
}
