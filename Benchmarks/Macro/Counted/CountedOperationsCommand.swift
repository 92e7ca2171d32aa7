import ArgumentParser
import Foundation

/// Counts operations in a process whose work depends only on its arguments. One pass over all activities warms up, and
/// the next is counted.
struct CountedOperationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "counted-operations", abstract: "Take pushes apart under virtual time.", shouldDisplay: false)

    /// A part of the mangled name of the function whose work the profile counts.
    static let countedPart = "24CountedOperationsCommandV7counted"

    struct Report: Codable {
        var steps: [CountedOperation: AllocationMeter.Step]
        /// Bytes of the heap for each activity registered after the first thousand. 0 means that there are at most a
        /// thousand activities.
        var byteCountPerActivity: Double
    }

    private static let registeredTogether = 1_000

    @Option var activities: Int
    @Option var partitions: Int32
    /// Pushes in a turn of the loop.
    @Option var turn: Int

    func run() throws {
        var meter = AllocationMeter()
        var shard = CountedShard(activities: self.activities, partitionCount: self.partitions)
        // The first activities are registered uncounted, so that the loop has already allocated what every registration
        // needs.
        let firstCount = min(self.activities, Self.registeredTogether)
        try shard.register(0..<firstCount)
        let before = HeapMeter.byteCount
        for begin in stride(from: firstCount, to: self.activities, by: Self.registeredTogether) {
            try shard.register(begin..<min(self.activities, begin + Self.registeredTogether))
        }
        let byteCount = HeapMeter.byteCount - before
        var session = CountedSession()
        shard.keepState(true)
        try self.pass(0, &shard, &session, &meter)
        shard.keepState(false)
        var successor = CountedShard(
            activities: self.activities, partitionCount: self.partitions, state: shard.state)
        meter.isOn = true
        try self.counted(&shard, &session, &successor, &meter)
        let report = Report(
            steps: meter.steps,
            byteCountPerActivity: Double(byteCount) / Double(max(1, self.activities - firstCount)))
        print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    }

    @inline(never) private func counted(
        _ shard: inout CountedShard, _ session: inout CountedSession, _ successor: inout CountedShard,
        _ meter: inout AllocationMeter
    ) throws {
        try self.pass(1, &shard, &session, &meter)
        try self.wholePass(&shard, &meter)
        try successor.restore(meter: &meter)
    }

    private func pass(
        _ number: Int, _ shard: inout CountedShard, _ session: inout CountedSession, _ meter: inout AllocationMeter
    ) throws {
        shard.wait(millis: 5_000)
        for begin in stride(from: 0, to: self.activities, by: self.turn) {
            let activities = begin..<min(self.activities, begin + self.turn)
            try shard.turn(activities, number: number, meter: &meter)
            try session.turn(activities.count, meter: &meter)
        }
    }

    private func wholePass(_ shard: inout CountedShard, _ meter: inout AllocationMeter) throws {
        shard.wait(millis: 5_000)
        for begin in stride(from: 0, to: self.activities, by: self.turn) {
            try shard.push(begin..<min(self.activities, begin + self.turn), number: 2, meter: &meter)
        }
    }
}
