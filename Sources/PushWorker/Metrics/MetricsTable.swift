import PushEngine
import PushTransport

/// The metrics in a form for people.
public enum MetricsTable {
    /// All metrics that a worker counts itself, in the order of the page.
    static var all: [MetricDescription] {
        Self.families(EngineCounters.rows) + Self.families(AppCounters.rows)
            + [
                WorkerMetrics.refusals,
                WorkerMetrics.unaccounted, WorkerMetrics.recordToAccepted, WorkerMetrics.takenToAccepted,
                WorkerMetrics.membersCurrent, WorkerMetrics.memberFreshness, WorkerMetrics.fanoutDrain,
                WorkerMetrics.channelsListed, WorkerMetrics.partitions, WorkerMetrics.shards,
            ] + Self.families(RouteCounters.rows) + [WorkerMetrics.goAways]
            + Self.families(KafkaCounters.rows) + Self.families(TracingCounters.rows)
            + [
                WorkerMetrics.lag, WorkerMetrics.tokenAge, WorkerMetrics.ready,
                WorkerMetrics.brokerConnections, WorkerMetrics.kafkaTokens, WorkerMetrics.kafkaTokenFailures,
                WorkerMetrics.kafkaTokenLeft, WorkerMetrics.errors,
                WorkerMetrics.nothingLeaves, WorkerMetrics.degraded, WorkerMetrics.reloadSuccess,
                WorkerMetrics.reloadTime, WorkerMetrics.awaitingRestart, WorkerMetrics.configuration,
                WorkerMetrics.clock, WorkerMetrics.build, WorkerMetrics.target,
            ] + ProcessReading.metrics.map(\.metric) + [PrometheusMetricsFactory.ignoredSeries]
    }

    /// A Markdown table with each metric's name and labels, kind, unit and meaning.
    public static func markdown() -> String {
        var lines = ["| metric | kind | unit | meaning |", "|---|---|---|---|"]
        for metric in Self.all {
            let labels = metric.labels.isEmpty ? "" : "{\(metric.labels.joined(separator: ","))}"
            lines.append("| `\(metric.name)\(labels)` | \(metric.kind) | \(metric.unit) | \(metric.help) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The metrics of the rows. Rows with the same name are one metric.
    private static func families<Counters: CountedBySource>(_ rows: [CounterRow<Counters>]) -> [MetricDescription] {
        var families: [MetricDescription] = []
        for metric in rows.flatMap(\.metrics) where families.last?.name != metric.name { families.append(metric) }
        return families
    }
}
