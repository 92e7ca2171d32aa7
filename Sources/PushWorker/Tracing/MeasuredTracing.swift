import Logging
package import PushEngine
package import PushModel

/// The traces of a shard's events as a benchmark counts them: what they cost the shard's loop, and what their spans cost whoever sends them. Confined to
/// one thread.
package final class MeasuredTracing {
    private let tracer: OTLPTracer
    private let traces: EventTraces

    /// - Parameter share: of events, which come without a context, those that are traced: 0...1.
    /// - Returns: `nil` when there is no such share.
    package init?(inputTopics: [String], bundleIDs: [String], share: Double) {
        var settings = WorkerConfiguration.Tracing()
        settings.otlpEndpoint = "http://127.0.0.1:1"
        settings.sampleRatio = share
        // No clock limits what is counted.
        settings.samplesPerSecondMax = .max
        guard (0...1).contains(share), let tracer = OTLPTracer(settings, logger: .init(label: "measured")) else {
            return nil
        }
        self.tracer = tracer
        self.traces = EventTraces(
            tracer: tracer,
            EventTraces.Configuration(
                settings: settings, inputTopics: inputTopics, bundleIDs: bundleIDs,
                routes: [("api.push.apple.com", 443)], groupID: "mailboat"), randomSeed: 1, at: .whenAsked)
    }

    /// See `EventTraces.turnBegan`.
    package func turnBegan(now: EngineTime) { self.traces.turnBegan(now: now) }

    /// As a record without a context is taken.
    /// - Parameter record: learns that it is traced.
    /// - Returns: what the event carries; `nil`: it is not traced.
    package func begin(_ record: inout InputRecord) -> [UInt8]? {
        self.traces.begin(&record, traceparent: Span()) {
            nil
        } key: {
            Array("00000000-0000-0000-0000-000000000000".utf8)
        }
    }

    /// What the engine tells.
    package func take(_ note: TraceNote) { _ = self.traces.take(note) }

    /// See `EventTraces.handOver`.
    package func turnEnded() { self.traces.handOver() }

    /// Does what the loop has noted, as the desk does, and takes the spans that wait, as the exporter does.
    /// - Parameter writes: whether spans are made and written; otherwise what the loop has noted is thrown away.
    /// - Returns: how many spans there were.
    package func export(writes: Bool) -> Int {
        let works = self.traces.takeWorks()
        guard writes else { return 0 }
        for work in works { work() }
        let spans = self.tracer.spans.take(max: .max)
        _ = OTLPDocument.write(spans, of: TelemetryResource(WorkerConfiguration.Tracing()))
        return spans.count
    }
}
