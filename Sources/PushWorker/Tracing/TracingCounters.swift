/// Numbers of traced events, and of exported and lost spans.
struct TracingCounters: Sendable, Equatable {
    /// Number of events whose tracing began.
    var eventsTraced: UInt64 = 0
    /// Number of traced events without an outcome yet.
    var eventsLive = 0
    /// Number of sampled events that were not traced because a limit was reached.
    var eventsSkipped: UInt64 = 0
    /// Number of passes of versions and starts whose tracing began.
    var passesTraced: UInt64 = 0
    /// Number of traced passes that have not ended.
    var passesLive = 0
    /// Number of passes that are not traced although their event was sampled, because a limit was reached.
    var passesSkipped: UInt64 = 0
    /// Number of `traceparent` headers that are invalid.
    var traceparentsInvalid: UInt64 = 0
    /// Number of spans that the collector has taken.
    var spansExported: UInt64 = 0
    /// Number of spans that were lost.
    var spansDropped: UInt64 = 0
    /// Number of requests that the collector did not take.
    var exportsFailed: UInt64 = 0

    /// Adds the counters of the worker's own tracer.
    mutating func add(_ other: ExportCounters) {
        self.spansExported += other.spansExported
        self.spansDropped += other.spansDropped
        self.exportsFailed += other.exportsFailed
    }
}

extension TracingCounters: CountedBySource {
    static let sourceLabels: [String] = []

    static let rows: [CounterRow<TracingCounters>] = [
        .total("mailboat_tracing_events_total", unit: "events", "Events that were traced.", \.eventsTraced),
        .gauge(
            "mailboat_tracing_events_live", unit: "events", "Events that are traced and have no outcome yet.",
            \.eventsLive),
        .total(
            "mailboat_tracing_events_skipped_total", unit: "events",
            "Events that were sampled and are not traced: too many in a second, or too many that wait.",
            \.eventsSkipped),
        .total(
            "mailboat_tracing_passes_total", unit: "passes",
            "Passes of an audience's version or start over the members of a partition that were traced.",
            \.passesTraced),
        .gauge(
            "mailboat_tracing_passes_live", unit: "passes", "Passes that are traced and under way.", \.passesLive),
        .total(
            "mailboat_tracing_passes_skipped_total", unit: "passes",
            "Passes of sampled events that are not traced: too many in a second, or too many under way.",
            \.passesSkipped),
        .total(
            "mailboat_tracing_traceparents_invalid_total", unit: "events",
            "Events with an invalid header `traceparent`; they are treated like other events.", \.traceparentsInvalid),
        .total(
            "mailboat_tracing_spans_exported_total", unit: "spans", "Spans that the collector has taken.",
            \.spansExported),
        .total(
            "mailboat_tracing_spans_dropped_total", unit: "spans",
            "Spans that were lost: no room to wait, refused, or not delivered in time.", \.spansDropped),
        .total(
            "mailboat_tracing_exports_failed_total", unit: "requests",
            "Requests that the collector did not take; most are sent again.", \.exportsFailed),
    ]

    /// Adds the counters of another shard.
    mutating func add(_ other: TracingCounters) { for row in Self.rows { row.add(other, to: &self) } }
}
