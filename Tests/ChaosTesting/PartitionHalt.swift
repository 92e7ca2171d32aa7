import Foundation
import KafkaLog

/// A partition that a worker halted, as its log says.
struct PartitionHalt: Equatable {
    var partition: Int32
    /// Cause of the halt, for example `bytes behind the last pass`. Details that differ between partitions are left
    /// out.
    var cause: String
    /// Whether the partition halted because Kafka refused a record for good.
    var isOfRefusal: Bool
    /// Whether the refused record names the event that it is about. Records of `routed` and `dead-letters` do, except
    /// messages between workers. Records of `state` do not.
    var namesEvent: Bool
    /// When the halt was logged, milliseconds since 1970. A time that cannot be read is long ago, so that no refusal
    /// excuses the halt.
    var atMillis: Int64

    /// Reads a line of a worker's log. `nil` means that the line is about something else.
    init?(line: some StringProtocol) {
        guard line.hasSuffix(" is halted"), let named = line.range(of: "partition ", options: .backwards),
            let number = Int32(line[named.upperBound...].dropLast(" is halted".count)),
            let cause = line.range(of: "cause="), let end = line.range(of: " shard=")
        else { return nil }
        self.partition = number
        let text = cause.upperBound <= end.lowerBound ? line[cause.upperBound..<end.lowerBound] : ""
        self.cause = String(text.split(separator: ": ").last ?? "")
        self.isOfRefusal = text.contains(" is refused for good (")
        self.namesEvent = text.hasPrefix("a record of ")
        let time = try? Date(String(line.prefix { $0 != " " }), strategy: .iso8601)
        self.atMillis = time.map { Int64($0.timeIntervalSince1970 * 1_000) } ?? .min / 2
    }

    /// The answer of `/readyz`.
    private struct Readiness: Decodable {
        struct Halted: Decodable {
            var partition: Int32
            var reason: String
        }
        var halted: [Halted]
    }

    /// The partitions that `/readyz` names as halted, for a reason that contains `words`. Empty words match every
    /// reason. The set is empty when the answer cannot be read.
    static func named(in readiness: String, because words: String = "") -> Set<Int32> {
        guard let told = try? JSONDecoder().decode(Readiness.self, from: Data(readiness.utf8)) else { return [] }
        return Set(told.halted.filter { words.isEmpty || $0.reason.contains(words) }.map(\.partition))
    }

    /// All halts in a log.
    static func read(_ path: String) -> [PartitionHalt] {
        guard let log = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        return log.split(separator: "\n").compactMap { PartitionHalt(line: $0) }
    }

    /// Halts that the run's faults do not excuse. Only a refusal at the time of the halt can excuse it.
    static func unexcused(_ halts: [PartitionHalt], _ refusals: [ChaosRefusal]) -> [PartitionHalt] {
        // Only a refused record of `state` or `routed` may halt a partition. A refused dead letter halts a partition
        // only if it is about a good event that `routed` refused, too.
        halts.filter { halt in
            !halt.isOfRefusal
                || !refusals.contains {
                    $0.covers(halt.atMillis)
                        && ($0.topics.contains(.routed) || $0.topics.contains(.state) && !halt.namesEvent)
                }
        }
    }

    /// How often each cause halted a partition, as text. `nil` means that nothing was halted.
    static func summary(_ halts: [PartitionHalt]) -> String? {
        guard !halts.isEmpty else { return nil }
        let counts = Dictionary(grouping: halts, by: \.cause).mapValues(\.count).sorted { $0.key < $1.key }
        return counts.map { "\($0.value) times: \($0.key)" }.joined(separator: "; ")
    }
}
