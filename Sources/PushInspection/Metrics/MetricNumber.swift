/// A number from the worker's `/metrics` that a developer looks at, in plain words.
public struct MetricNumber: Equatable, Sendable {
    /// What the number counts.
    public var label: String
    /// The series from which it was added up, such as `mailboat_events_consumed_total`.
    public var metric: String
    /// The number as a person reads it.
    public var value: String

    private struct Row {
        var label: String
        var metric: String
        /// A label that a series must have; empty: all series are added up.
        var part = ""
    }

    private static let rows: [Row] = [
        Row(label: "Events taken from Kafka", metric: "mailboat_events_consumed_total"),
        Row(label: "Events that wait", metric: "mailboat_events_pending"),
        Row(label: "Events merged into newer ones", metric: "mailboat_events_merged_total"),
        Row(label: "Dead letters", metric: "mailboat_events_outcomes_total", part: "outcome=\"dead-lettered\""),
        Row(label: "Pushes sent", metric: "mailboat_pushes_sent_total"),
        Row(label: "Pushes accepted", metric: "mailboat_pushes_answered_total", part: "result=\"accepted\""),
        Row(label: "Pushes refused", metric: "mailboat_pushes_answered_total", part: "result=\"refused\""),
        Row(label: "Sent at priority 5 because the budget was spent", metric: "mailboat_pushes_downgraded_total"),
        Row(label: "Activities, audiences and channels in memory", metric: "mailboat_slots"),
    ]

    /// Reads the Prometheus text format. A number whose series is missing is left out.
    public static func read(_ text: String) -> [MetricNumber] {
        var sums: [Int: Double] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
                continue
            }
            let series = line[..<space]
            let name = series.prefix { $0 != "{" }
            for (index, row) in Self.rows.enumerated()
            where row.metric == name && (row.part.isEmpty || series.contains(row.part)) {
                sums[index, default: 0] += value
            }
        }
        return Self.rows.enumerated().compactMap { index, row in
            sums[index].map { sum in
                let isWhole = sum == sum.rounded() && abs(sum) < 1e15
                return MetricNumber(
                    label: row.label, metric: row.metric + (row.part.isEmpty ? "" : "{\(row.part)}"),
                    value: isWhole ? "\(Int64(sum))" : "\(sum)")
            }
        }
    }

    /// The number as JSON for the page and the API.
    public var json: JSONTree {
        ["label": .string(self.label), "metric": .string(self.metric), "value": .string(self.value)]
    }
}
