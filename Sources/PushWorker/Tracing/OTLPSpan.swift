import PushModel
import Synchronization
public import Tracing

/// One span of an `OTLPTracer`. May be used from any thread.
public final class OTLPSpan: Span {
    private struct State {
        var name: String
        var attributes = SpanAttributes()
        var events: [SpanEvent] = []
        var droppedEventCount = 0
        var links: [SpanLink] = []
        var droppedLinkCount = 0
        var status: SpanStatus?
        var hasEnded = false
    }

    /// Maximum number of events that a span keeps. Further ones are only counted.
    static let eventCountMax = 32
    /// Maximum number of links that a span keeps.
    static let linkCountMax = 32

    /// The context in which the span's children are started.
    public let context: ServiceContext
    /// The span's identity in its trace.
    let traceContext: TraceContext
    private let parentSpanID: UInt64?
    private let kind: SpanKind
    private let startNanos: UInt64
    private let state: Mutex<State>
    private let spans: SpanQueue

    init(
        _ name: String, kind: SpanKind, traceContext: TraceContext, parentSpanID: UInt64?, context: ServiceContext,
        startNanos: UInt64, spans: SpanQueue
    ) {
        self.context = context
        self.traceContext = traceContext
        self.parentSpanID = parentSpanID
        self.kind = kind
        self.startNanos = startNanos
        self.spans = spans
        self.state = Mutex(State(name: name))
    }

    /// Whether the span still records. A span of a trace that is not sampled never does.
    public var isRecording: Bool { self.traceContext.isSampled && self.state.withLock { !$0.hasEnded } }

    public var operationName: String {
        get { self.state.withLock { $0.name } }
        set { self.change { $0.name = newValue } }
    }

    public var attributes: SpanAttributes {
        get { self.state.withLock { $0.attributes } }
        set { self.change { $0.attributes = newValue } }
    }

    public func setStatus(_ status: SpanStatus) { self.change { $0.status = status } }

    public func addEvent(_ event: SpanEvent) {
        self.change { state in
            if state.events.count < Self.eventCountMax {
                state.events.append(event)
            } else {
                state.droppedEventCount += 1
            }
        }
    }

    public func addLink(_ link: SpanLink) {
        self.change { state in
            if state.links.count < Self.linkCountMax {
                state.links.append(link)
            } else {
                state.droppedLinkCount += 1
            }
        }
    }

    public func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes["exception.type"] = "\(type(of: error))"
        attributes["exception.message"] = "\(error)"
        self.addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    /// Changes the span, unless it has ended.
    private func change(_ change: (inout State) -> Void) {
        guard self.traceContext.isSampled else { return }
        self.state.withLock { if !$0.hasEnded { change(&$0) } }
    }

    /// Ends the span and passes it to the queue. A second call does nothing.
    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        guard self.traceContext.isSampled else { return }
        let endNanos = instant().nanosecondsSinceEpoch
        let finished: FinishedSpan? = self.state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            return FinishedSpan(
                name: state.name, kind: self.kind, traceContext: self.traceContext, parentSpanID: self.parentSpanID,
                traceState: self.context.w3cTraceState ?? "", startNanos: self.startNanos,
                endNanos: max(self.startNanos, endNanos), attributes: state.attributes, events: state.events,
                droppedEventCount: state.droppedEventCount, links: state.links,
                droppedLinkCount: state.droppedLinkCount, status: state.status)
        }
        if let finished { self.spans.append(finished) }
    }
}

/// A span that has ended, in the form in which it is exported.
struct FinishedSpan: Sendable {
    var name: String
    var kind: SpanKind
    var traceContext: TraceContext
    /// The parent's id; `nil` for the first span of its trace.
    var parentSpanID: UInt64?
    /// The header `tracestate` that arrived; empty: none.
    var traceState: String
    var startNanos: UInt64
    var endNanos: UInt64
    var attributes: SpanAttributes
    var events: [SpanEvent]
    var droppedEventCount: Int
    var links: [SpanLink]
    var droppedLinkCount: Int
    var status: SpanStatus?
}
