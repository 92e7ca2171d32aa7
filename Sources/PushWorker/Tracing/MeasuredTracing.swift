import Logging
package import PushEngine
package import PushModel

/// The traces of a shard's events for a benchmark, which measures their cost for the shard's loop and for the thread
/// that sends the spans. Confined to one thread.
package final class MeasuredTracing {
    private let tracer: OTLPTracer
    private let traces: EventTraces

    /// - Parameter share: share of the events that are traced, 0...1. No event arrives with a trace context.
    /// - Returns: `nil` when `share` is out of range.
    package init?(inputTopics: [String], bundleIDs: [String], share: Double) {
        var settings = WorkerConfiguration.Tracing()
        settings.otlpEndpoint = "http://127.0.0.1:1"
        settings.sampleRatio = share
        // The default limit per second would decide how many events are traced, so there is no limit here.
        settings.samplesPerSecondMax = .max
        guard (0...1).contains(share), let tracer = OTLPTracer(settings, logger: .init(label: "measured")) else {
            return nil
        }
        self.tracer = tracer
        self.traces = EventTraces(
            tracer: tracer,
            EventTraces.Configuration(
                settings: settings, inputTopics: inputTopics, bundleIDs: bundleIDs,
                routes: [("api.push.apple.com", 443)], groupID: "mailboat"), randomSeed: 1, on: .whenAsked)
    }

    /// Begins a turn, see `EventTraces.turnBegan`.
    package func turnBegan(now: EngineTime) { self.traces.turnBegan(now: now) }

    /// Begins the trace of a record without a context, if the record is chosen.
    /// - Parameter record: marked as traced if it is.
    /// - Returns: the header that the event carries on; `nil` when it is not traced.
    package func begin(_ record: inout InputRecord) -> [UInt8]? {
        self.traces.begin(&record, traceparent: Span()) {
            nil
        } key: {
            Array("00000000-0000-0000-0000-000000000000".utf8)
        }
    }

    /// Takes a notice of the engine.
    package func take(_ note: TraceNotice) { _ = self.traces.take(note) }

    /// Hands over the turn's work, see `EventTraces.handOver`.
    package func turnEnded() { self.traces.handOver() }

    /// Does the work that the loop has recorded, as the desk does. Then takes the waiting spans, as the exporter does.
    /// - Parameter writes: whether spans are made and written. Otherwise the recorded work is discarded.
    /// - Returns: number of spans.
    package func export(writes: Bool) -> Int {
        let works = self.traces.takeWorks()
        guard writes else { return 0 }
        for work in works { work() }
        let spans = self.tracer.spans.take(max: .max)
        _ = OTLPDocument.write(spans, of: TelemetryResource(WorkerConfiguration.Tracing()))
        return spans.count
    }
}
