import ArgumentParser
import PushEngine

/// The engine's part of pushes as a process whose work depends on nothing but its arguments: records out of memory, an APNs that accepts at
/// once, a Kafka that acknowledges at once, and a clock that moves when told.
struct CountedPushesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "counted-pushes", abstract: "Push to every activity, a given number of times, under virtual time.",
        shouldDisplay: false)

    @Option var activities: Int
    /// How often each gets an update.
    @Option var passes: Int

    /// As the worker takes at most in a turn.
    private static let recordsPerTurn = 512
    private static let partitionCount: Int32 = 64

    func run() throws {
        // Options are looked up each time they are named: not for each record.
        let (activities, passes) = (self.activities, self.passes)
        var shard = NullShard(partitionCount: Self.partitionCount, isVirtual: true)
        shard.register(activities)
        for pass in 0..<passes {
            shard.wait(millis: 2_000)
            var next = 0
            while next < activities {
                let end = min(activities, next + Self.recordsPerTurn)
                shard.turn(next..<end, number: pass)
                next = end
            }
        }
        guard shard.pushCount == activities * passes else {
            throw BenchmarkFailure("\(shard.pushCount) pushes for \(activities * passes) updates")
        }
    }
}
