import CommandSupport
import KafkaLog

/// Findings as a table for a person, or as JSON for a program.
enum TopicsTable {
    /// Header and one line for each finding, in aligned columns. Without `showsAll`, only partition counts and faults
    /// have lines.
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

    /// The result for a missing topic, as a line.
    /// - Parameters:
    ///   - topic: the topic as requested.
    ///   - refused: settings that the cluster does not accept.
    static func line(_ answer: TopicAnswer, _ topic: NewTopic?, refused: [String] = []) -> String {
        guard let error = answer.error else {
            return
                "created       \(answer.name)  (\(Self.size(topic)))"
        }
        return "not created   \(answer.name): \(Self.text(error, topic, refused: refused))"
    }

    private static func size(_ topic: NewTopic?) -> String {
        NumberText.count(topic?.partitionCount ?? 0, "partition") + ", "
            + NumberText.count(topic?.replicationFactor ?? 0, "replica")
    }

    /// What would happen to the topic: a line for it, then one for each setting.
    /// - Parameter answer: the cluster's answer; `nil`: it was not asked.
    static func rehearsed(_ topic: NewTopic, _ answer: TopicAnswer?, refused: [String] = []) -> [String] {
        let first =
            answer?.error.map { "refused       \(topic.name): \(Self.text($0, topic, refused: refused))" }
            ?? "would create  \(topic.name)  (\(Self.size(topic)))"
        return [first]
            + topic.configuration.sorted { $0.key < $1.key }.map {
                "                \($0.key)=\($0.value)\(refused.contains($0.key) ? "  refused" : "")"
            }
    }

    private static func text(_ error: KafkaError, _ topic: NewTopic?, refused: [String]) -> String {
        let settings = refused.map { "\($0)=\(topic?.configuration[$0] ?? "")" }.joined(separator: ", ")
        return error.text + (error.remedy.map { ": \($0)" } ?? "")
            + (refused.isEmpty ? "" : ". Refused: \(settings)")
    }

    /// What to do about refused settings.
    /// - Parameter refused: settings by topic. An empty list: it is not known which settings are refused.
    static func leavingOut(_ refused: [String: [String]]) -> [String] {
        guard !refused.isEmpty else { return [] }
        let names = Set(refused.values.joined()).sorted()
        var lines: [String] = []
        if !names.isEmpty {
            lines.append(
                "To leave refused settings to the cluster, add \(names.map { "--without \($0)" }.joined(separator: " "))."
            )
        }
        let required = names.filter { TopicPlan.requiredSettings.contains($0) }
        if !required.isEmpty {
            lines.append(
                "A promise depends on \(required.joined(separator: ", ")): check with 'mailboat topics check' that the cluster's own value is good enough."
            )
        }
        let unknown = refused.filter(\.value.isEmpty).keys.sorted()
        if !unknown.isEmpty {
            lines.append(
                "The cluster refuses \(unknown.joined(separator: ", ")), but not because of a single setting: read its answer with --dry-run, or try --required-only."
            )
        }
        return lines
    }

    // MARK: JSON for a program

    private struct Finding: Encodable {
        var topic: String
        var setting: String
        var value: String
        var expected: String
        var reason: String
        /// The verdict as a word without spaces.
        var verdict: String
    }

    /// Findings, each as an object. They are the same findings as in `lines`.
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
        /// Names of the settings that the cluster refused; `nil`: none.
        var refused: [String]?
        /// Settings with which the topic would be created. Only in a dry run.
        var settings: [String: String]?
    }

    /// The result for a missing topic, as an object.
    static func json(_ answer: TopicAnswer, _ topic: NewTopic?, refused: [String] = []) -> String {
        JSONLine.text(
            Answer(
                topic: answer.name, created: answer.error == nil, partitions: topic?.partitionCount,
                replicas: topic?.replicationFactor, error: answer.error.map { Self.text($0, topic, refused: []) },
                refused: refused.isEmpty ? nil : refused))
    }

    /// What would happen to the topic, as an object.
    static func rehearsedJSON(_ topic: NewTopic, _ answer: TopicAnswer?, refused: [String] = []) -> String {
        JSONLine.text(
            Answer(
                topic: topic.name, created: false, partitions: topic.partitionCount, replicas: topic.replicationFactor,
                error: answer?.error.map { Self.text($0, topic, refused: []) },
                refused: refused.isEmpty ? nil : refused, settings: topic.configuration))
    }
}
