import Foundation

/// Counted values, or thresholds for them, by the name of the row.
struct OperationCounts: Codable, Equatable {
    struct Row: Codable, Equatable {
        var value: Double
        var unit: String
    }

    /// Rows by name.
    var rows: [String: Row] = [:]

    /// The share by which a row may be worse than its threshold.
    static let tolerance = 0.03
    /// How much a count near zero may grow: one allocation in a hundred operations.
    static let slack = 0.01

    /// How a row compares with its threshold.
    enum Comparison: String {
        case holds = "yes"
        case worse = "NO"
        case better = "better"
        case unknown = "new"
        case missing = "MISSING"
    }

    /// Comparisons of all rows that are counted or have a threshold, by name.
    func comparisons(beside thresholds: OperationCounts) -> [(name: String, comparison: Comparison)] {
        Set(self.rows.keys).union(thresholds.rows.keys).sorted().map { name in
            guard let row = self.rows[name] else { return (name, .missing) }
            guard let limit = thresholds.rows[name] else { return (name, .unknown) }
            let room = max(limit.value * Self.tolerance, Self.slack)
            if row.value > limit.value + room { return (name, .worse) }
            return (name, row.value < limit.value - room ? .better : .holds)
        }
    }

    static func read(from path: String) throws -> OperationCounts {
        do {
            return try JSONDecoder().decode(OperationCounts.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw BenchmarkFailure("\(path): no thresholds can be read: \(error)")
        }
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (encoder.encode(self) + Data("\n".utf8)).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
