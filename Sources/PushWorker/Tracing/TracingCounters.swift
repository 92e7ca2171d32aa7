/// What was traced, and what became of the spans.
struct TracingCounters: Sendable, Equatable {
    /// Events whose tracing began.
    var eventsTraced: UInt64 = 0
    /// Traced events without an outcome yet.
    var eventsLive = 0
    /// Events that were sampled and are not traced.
    var eventsSkipped: UInt64 = 0
    /// Passes of versions and starts whose tracing began.
    var passesTraced: UInt64 = 0
    /// Traced passes that go on.
    var passesLive = 0
    /// Passes of events that were sampled which are not traced.
    var passesSkipped: UInt64 = 0
    /// Headers that mean nothing.
    var traceparentsInvalid: UInt64 = 0
    /// Spans that the collector has taken.
    var spansExported: UInt64 = 0
    /// Spans that were lost.
    var spansDropped: UInt64 = 0
    /// Requests that the collector did not take.
    var exportsFailed: UInt64 = 0

    /// With what the worker's own tracer counts.
    mutating func add(_ other: ExportCounters) {
        self.spansExported += other.spansExported
        self.spansDropped += other.spansDropped
        self.exportsFailed += other.exportsFailed
    }
}

extension TracingCounters: CountedBySource {
    static let sourceLabels: [String] = []

    static let rows: [CounterRow<TracingCounters>] = [
        .total("mailboat_tracing_events_total", unit: "events", "Events whose way was traced.", \.eventsTraced),
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
            "mailboat_tracing_passes_live", unit: "passes", "Passes that are traced and go on.", \.passesLive),
        .total(
            "mailboat_tracing_passes_skipped_total", unit: "passes",
            "Passes of sampled events that are not traced: too many in a second, or too many that go on.",
            \.passesSkipped),
        .total(
            "mailboat_tracing_traceparents_invalid_total", unit: "events",
            "Events with a header `traceparent` that is none; they are taken like others.", \.traceparentsInvalid),
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

    /// Sums over shards.
    mutating func add(_ other: TracingCounters) { for row in Self.rows { row.add(other, to: &self) } }
}
