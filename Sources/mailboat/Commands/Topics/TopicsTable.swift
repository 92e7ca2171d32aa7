import CommandSupport
import KafkaLog

/// Findings as a table for a person, or as JSON for a program.
enum TopicsTable {
    /// Header and one line for each finding, columns aligned. Unless asked for all: the partition counts, and what is
    /// not as it should be.
    static func lines(_ findings: [TopicFinding], showsAll: Bool) -> [String] {
        let shown = Self.shown(findings, showsAll: showsAll)
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

    private static func shown(_ findings: [TopicFinding], showsAll: Bool) -> [TopicFinding] {
        findings.filter { showsAll || $0.verdict == .wrong || $0.verdict == .poor || $0.setting == "partitions" }
    }

    static func summary(_ findings: [TopicFinding]) -> String {
        let topicCount = Set(findings.map(\.topic)).count
        let counts = TopicFinding.Verdict.allCases.map { verdict in (verdict, findings.count { $0.verdict == verdict })
        }
        return "\(topicCount) topic\(topicCount == 1 ? "" : "s"): "
            + counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0.rawValue)" }.joined(separator: ", ")
    }

    /// What became of a topic that was missing. - Parameter topic: as it was asked for.
    static func line(_ answer: TopicAnswer, _ topic: NewTopic?) -> String {
        guard let error = answer.error else {
            return
                "created       \(answer.name)  (\(topic?.partitionCount ?? 0) partitions, \(topic?.replicationFactor ?? 0) replicas)"
        }
        return "not created   \(answer.name): \(error.text)" + (error.remedy.map { ": \($0)" } ?? "")
    }

    // MARK: For a program

    private struct Finding: Encodable {
        var topic: String
        var setting: String
        var value: String
        var expected: String
        var reason: String
        /// A word without spaces for each verdict.
        var verdict: String
    }

    /// The same findings as `lines`, an object each.
    static func json(_ findings: [TopicFinding], showsAll: Bool) -> [String] {
        Self.shown(findings, showsAll: showsAll).map {
            JSONLine.text(
                Finding(
                    topic: $0.topic, setting: $0.setting, value: $0.value, expected: $0.expected, reason: $0.reason,
                    verdict: $0.verdict == .unknown ? "not-checked" : $0.verdict.rawValue))
        }
    }

    private struct Answer: Encodable {
        var topic: String
        var created: Bool
        var partitions: Int?
        var replicas: Int?
        var error: String?
    }

    /// The same as `line`.
    static func json(_ answer: TopicAnswer, _ topic: NewTopic?) -> String {
        JSONLine.text(
            Answer(
                topic: answer.name, created: answer.error == nil, partitions: topic?.partitionCount,
                replicas: topic?.replicationFactor,
                error: answer.error.map { $0.text + ($0.remedy.map { ": \($0)" } ?? "") }))
    }
}
