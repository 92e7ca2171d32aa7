import ArgumentParser
import Foundation
import Glibc

/// What is counted, as a process whose work depends on nothing but its arguments. One pass over all activities warms up, the next is
/// counted.
struct CountedOperationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "counted-operations", abstract: "Take pushes apart under virtual time.", shouldDisplay: false)

    /// A profile counts nothing outside the function whose mangled name has this in it.
    static let countedPart = "24CountedOperationsCommandV7counted"

    struct Report: Codable {
        var steps: [CountedOperation: AllocationMeter.Step]
        /// Of the heap, for each registered activity.
        var byteCountPerActivity: Double
    }

    @Option var activities: Int
    @Option var partitions: Int32
    /// Pushes in a turn of the loop.
    @Option var turn: Int

    func run() throws {
        var meter = AllocationMeter()
        var shard = CountedShard(activities: self.activities, partitionCount: self.partitions)
        let before = Self.heapByteCount
        for begin in stride(from: 0, to: self.activities, by: 1_000) {
            shard.register(begin..<min(self.activities, begin + 1_000))
        }
        let byteCount = Self.heapByteCount - before
        var session = CountedSession()
        try self.pass(0, &shard, &session, keepsStates: true, &meter)
        var successor = CountedShard(
            activities: self.activities, partitionCount: self.partitions, isRestoring: true)
        meter.isOn = true
        try self.counted(&shard, &session, &successor, &meter)
        let report = Report(
            steps: meter.steps, byteCountPerActivity: Double(byteCount) / Double(self.activities))
        print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    }

    @inline(never) private func counted(
        _ shard: inout CountedShard, _ session: inout CountedSession, _ successor: inout CountedShard,
        _ meter: inout AllocationMeter
    ) throws {
        try self.pass(1, &shard, &session, keepsStates: false, &meter)
        try successor.restore(shard.states, meter: &meter)
    }

    private func pass(
        _ number: Int, _ shard: inout CountedShard, _ session: inout CountedSession, keepsStates: Bool,
        _ meter: inout AllocationMeter
    ) throws {
        shard.wait(millis: 5_000)
        for begin in stride(from: 0, to: self.activities, by: self.turn) {
            let activities = begin..<min(self.activities, begin + self.turn)
            try shard.turn(activities, number: number, meter: &meter)
            if keepsStates { shard.keepStates() }
            try session.turn(activities.count, meter: &meter)
        }
    }

    /// What is allocated and not freed, where `allocation-counter` was preloaded; 0 elsewhere.
    private static var heapByteCount: Int {
        guard let symbol = dlsym(nil, "mailboat_bench_heap_byte_count") else { return 0 }
        return unsafeBitCast(symbol, to: (@convention(c) () -> Int).self)()
    }
}
