import Foundation

/// A partition that a worker set aside, as its log tells.
struct PartitionHalt: Equatable {
    var partition: Int32
    /// Why, without what differs from partition to partition: `bytes behind the last pass`.
    var cause: String

    /// A line of a worker's log; `nil`: it tells of something else.
    init?(line: some StringProtocol) {
        guard line.hasSuffix(" is halted"), let named = line.range(of: "partition ", options: .backwards),
            let number = Int32(line[named.upperBound...].dropLast(" is halted".count)),
            let cause = line.range(of: "cause="), let end = line.range(of: " shard=")
        else { return nil }
        self.partition = number
        let text = cause.upperBound <= end.lowerBound ? line[cause.upperBound..<end.lowerBound] : ""
        self.cause = String(text.split(separator: ": ").last ?? "")
    }

    /// All that a log tells of.
    static func read(_ path: String) -> [PartitionHalt] {
        guard let log = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        return log.split(separator: "\n").compactMap { PartitionHalt(line: $0) }
    }

    /// How often each cause halted a partition, as text; `nil`: nothing was halted.
    static func summary(_ halts: [PartitionHalt]) -> String? {
        guard !halts.isEmpty else { return nil }
        let counts = Dictionary(grouping: halts, by: \.cause).mapValues(\.count).sorted { $0.key < $1.key }
        return counts.map { "\($0.value) times: \($0.key)" }.joined(separator: "; ")
    }
}
