public import Logging
import PushModel
public import ServiceLifecycle
public import Tracing

/// A backend of swift-distributed-tracing that sends spans to a collector, as OTLP in JSON over HTTP
/// (https://opentelemetry.io/docs/specs/otlp/). It uses W3C Trace Context. May be used from any thread.
///
/// Bootstrap `InstrumentationSystem` with it, or give it to `WorkerService`. Run it beside the worker. In a
/// `ServiceGroup` it belongs before the worker, so that it ends after the worker.
public final class OTLPTracer: Tracer, Service {
    let spans = SpanQueue()
    private let exporter: OTLPExporter

    /// - Parameters:
    ///   - settings: settings with an endpoint.
    ///   - logger: logs exports that fail. Sent data and header fields are never logged.
    /// - Returns: `nil` when the settings name no endpoint, or one that cannot be used.
    public init?(_ settings: WorkerConfiguration.Tracing, logger: Logger) {
        guard let client = OTLPClient(settings) else { return nil }
        self.exporter = OTLPExporter(client, spans: self.spans, logger: logger)
    }

    /// Exports until graceful shutdown or cancellation, then exports the remaining spans, for a few seconds at most.
    public func run() async throws { await self.exporter.run() }

    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> OTLPSpan {
        var context = context()
        let parent = context.w3cTrace
        let traceContext = TraceContext(
            traceIDHigh: parent?.traceIDHigh ?? UInt64.random(in: .min ... .max),
            // A trace id and a span id must not be 0, because 0 means that there is no id.
            traceIDLow: parent?.traceIDLow ?? UInt64.random(in: 1 ... .max),
            spanID: UInt64.random(in: 1 ... .max), isSampled: parent?.isSampled ?? true)
        context.w3cTrace = traceContext
        return OTLPSpan(
            operationName, kind: kind, traceContext: traceContext, parentSpanID: parent?.spanID, context: context,
            startNanos: instant().nanosecondsSinceEpoch, spans: self.spans)
    }

    /// Does nothing, because spans leave within a second anyway.
    public func forceFlush() {}

    // MARK: W3C Trace Context

    public func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let header = extractor.extract(key: "traceparent", from: carrier) else { return }
        let bytes = Array(header.utf8)
        guard let traceContext = TraceContext(traceparent: bytes.span) else { return }
        context.w3cTrace = traceContext
        guard let state = extractor.extract(key: "tracestate", from: carrier) else { return }
        let stateBytes = Array(state.utf8)
        if TraceState.isValid(stateBytes.span) { context.w3cTraceState = state }
    }

    public func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let traceContext = context.w3cTrace else { return }
        injector.inject(
            String(decoding: traceContext.traceparent, as: UTF8.self), forKey: "traceparent", into: &carrier)
        guard let state = context.w3cTraceState else { return }
        injector.inject(state, forKey: "tracestate", into: &carrier)
    }
}

private enum W3CTraceKey: ServiceContextKey {
    typealias Value = TraceContext
    static let nameOverride: String? = "w3c-trace"
}

private enum W3CTraceStateKey: ServiceContextKey {
    typealias Value = String
    static let nameOverride: String? = "w3c-trace-state"
}

extension ServiceContext {
    /// The trace context of the span that is being worked on.
    var w3cTrace: TraceContext? {
        get { self[W3CTraceKey.self] }
        set { self[W3CTraceKey.self] = newValue }
    }
    /// The `tracestate` of other tracing systems, as it arrived.
    var w3cTraceState: String? {
        get { self[W3CTraceStateKey.self] }
        set { self[W3CTraceStateKey.self] = newValue }
    }
}
