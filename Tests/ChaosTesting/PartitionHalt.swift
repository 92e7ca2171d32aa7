import Foundation
import KafkaLog

/// A partition that a worker set aside, as its log tells.
struct PartitionHalt: Equatable {
    var partition: Int32
    /// Why, without what differs from partition to partition: `bytes behind the last pass`.
    var cause: String
    /// Kafka refused for good what had to be written.
    var isOfRefusal: Bool

    /// A line of a worker's log; `nil`: it tells of something else.
    init?(line: some StringProtocol) {
        guard line.hasSuffix(" is halted"), let named = line.range(of: "partition ", options: .backwards),
            let number = Int32(line[named.upperBound...].dropLast(" is halted".count)),
            let cause = line.range(of: "cause="), let end = line.range(of: " shard=")
        else { return nil }
        self.partition = number
        let text = cause.upperBound <= end.lowerBound ? line[cause.upperBound..<end.lowerBound] : ""
        self.cause = String(text.split(separator: ": ").last ?? "")
        self.isOfRefusal = text.contains(" is refused for good (")
    }

    /// Partitions that a worker's `/readyz` names as halted, and whether their reason has these words.
    static func named(in readiness: String, because words: String = "") -> Set<Int32> {
        var numbers: Set<Int32> = []
        var rest = readiness[...]
        while let found = rest.range(of: " is halted: ") {
            let number = rest[..<found.lowerBound].split { !$0.isNumber }.last.flatMap { Int32($0) }
            rest = rest[found.upperBound...]
            // The reason ends where the next partition is named.
            let reason = rest.range(of: " is halted: ").map { rest[..<$0.lowerBound] } ?? rest
            if let number, words.isEmpty || reason.contains(words) { numbers.insert(number) }
        }
        return numbers
    }

    /// All that a log tells of.
    static func read(_ path: String) -> [PartitionHalt] {
        guard let log = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        return log.split(separator: "\n").compactMap { PartitionHalt(line: $0) }
    }

    /// Those for which the run's faults are no reason.
    static func unexcused(_ halts: [PartitionHalt], _ refusals: [ChaosRefusal]) -> [PartitionHalt] {
        // Only a record of these may halt a partition; a dead letter only if it is a good event's, which `routed` did not take.
        let mayHalt = refusals.contains { $0.topics.contains(.state) || $0.topics.contains(.routed) }
        return halts.filter { !$0.isOfRefusal || !mayHalt }
    }

    /// How often each cause halted a partition, as text; `nil`: nothing was halted.
    static func summary(_ halts: [PartitionHalt]) -> String? {
        guard !halts.isEmpty else { return nil }
        let counts = Dictionary(grouping: halts, by: \.cause).mapValues(\.count).sorted { $0.key < $1.key }
        return counts.map { "\($0.value) times: \($0.key)" }.joined(separator: "; ")
    }
}
