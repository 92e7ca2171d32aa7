import ArgumentParser
import Foundation
import Glibc

/// Joins, pushes, starts and restores members in a process whose work depends only on its arguments.
struct CountedMembersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "counted-members", abstract: "Join, push to members, start and restore them under virtual time.",
        shouldDisplay: false)

    /// A part of the mangled name of the function whose work the profile counts.
    static let countedPart = "21CountedMembersCommandV7counted"

    private static let joinedTogether = 1_000

    @Option var members: Int
    @Option var partitions: Int32
    /// Bytes of a token.
    @Option var tokenBytes: Int

    func validate() throws {
        guard AudienceWorkload.TokenLength(rawValue: self.tokenBytes) != nil else {
            throw ValidationError("--token-bytes: 32 or 80")
        }
        guard self.members >= 4 * Self.joinedTogether else { throw ValidationError("--members: at least 4000") }
    }

    func run() throws {
        var meter = AllocationMeter()
        let length = AudienceWorkload.TokenLength(rawValue: self.tokenBytes) ?? .short
        let (members, partitions) = (self.members, self.partitions)
        // Another loop writes the records that are restored at the end, because keeping records would add to the
        // counted cost of joins.
        var writer = CountedMembers(members: members, partitionCount: partitions, length: length)
        writer.keepState(true)
        try Self.join(0..<members, &writer, &meter)
        var shard = CountedMembers(members: members, partitionCount: partitions, length: length)
        // The first members join uncounted, so that the loop has already allocated what every join needs.
        let firstCount = members / 4
        try Self.join(0..<firstCount, &shard, &meter)
        let before = HeapMeter.byteCount
        meter.isOn = true
        try self.counted { try Self.join(firstCount..<members, &shard, &meter) }
        meter.isOn = false
        let byteCount = HeapMeter.byteCount - before
        try shard.push(number: 0, meter: &meter)
        meter.isOn = true
        try self.counted { try shard.push(number: 1, meter: &meter) }
        var successor = CountedMembers(
            members: members, partitionCount: partitions, length: length, state: writer.state)
        try self.counted { try successor.restore(meter: &meter) }
        var starters = CountedMembers(
            members: members, partitionCount: partitions, length: length, joinValue: AudienceWorkload.startJoin)
        meter.isOn = false
        try Self.join(0..<members, &starters, &meter)
        try starters.start(meter: &meter)
        try starters.end()
        meter.isOn = true
        try self.counted { try starters.start(meter: &meter) }
        let report = CountedOperationsCommand.Report(
            steps: meter.steps, byteCountPerActivity: Double(byteCount) / Double(members - firstCount))
        print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    }

    @inline(never) private func counted(_ body: () throws -> Void) rethrows { try body() }

    private static func join(_ members: Range<Int>, _ shard: inout CountedMembers, _ meter: inout AllocationMeter)
        throws
    {
        for begin in stride(from: members.lowerBound, to: members.upperBound, by: Self.joinedTogether) {
            try shard.join(begin..<min(members.upperBound, begin + Self.joinedTogether), meter: &meter)
        }
    }
}

/// Bytes that are allocated and not freed, if `allocation-counter` was preloaded.
enum HeapMeter {
    /// Number of bytes, or 0 without `allocation-counter`.
    static var byteCount: Int {
        guard let symbol = dlsym(nil, "mailboat_bench_heap_byte_count") else { return 0 }
        return unsafeBitCast(symbol, to: (@convention(c) () -> Int).self)()
    }
}
