import KafkaLog

/// Findings as a table for a person.
enum TopicsTable {
    /// Header and one line for each finding, columns aligned. Unless asked for all: the partition counts, and what is
    /// not as it should be.
    static func lines(_ findings: [TopicFinding], showsAll: Bool) -> [String] {
        let shown = findings.filter {
            showsAll || $0.verdict == .wrong || $0.verdict == .poor || $0.setting == "partitions"
        }
        guard !shown.isEmpty else { return [] }
        let rows =
            [["", "TOPIC", "SETTING", "IS", "EXPECTED", "BECAUSE"]]
            + shown.map { [$0.verdict.rawValue, $0.topic, $0.setting, $0.value, $0.expected, $0.reason] }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let line = row.indices.map { row[$0] + String(repeating: " ", count: widths[$0] - row[$0].count) }.joined(
                separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }

    static func summary(_ findings: [TopicFinding]) -> String {
        let topicCount = Set(findings.map(\.topic)).count
        let counts = TopicFinding.Verdict.allCases.map { verdict in (verdict, findings.count { $0.verdict == verdict })
        }
        return "\(topicCount) topics: "
            + counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0.rawValue)" }.joined(separator: ", ")
    }
}
