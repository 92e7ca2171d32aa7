import APNSProtocol
import PushEngine
import PushModel
import Tracing

/// Keeps the traces of a shard's events. An event has a span for its whole way through the worker, and below it a span
/// for each wait and each push. The spans are made from the engine's notices about traced events. For an event that is
/// not traced, only its header is read. `FanOutTraces` keeps the traces of what follows from an audience's event.
///
/// An event may arrive with a trace context. It leaves with the context of its first span: in the forwarded record, in
/// its outcome, and in `state`. So later spans, also of other workers, are below that span.
///
/// The shard's loop does little. It begins an event's first span, because the span's context is needed at once. A
/// `SpanDesk` does everything else.
///
/// The number of traces that begin per second is limited, and so is the number of traces that have not ended. Confined
/// to the shard's event loop.
final class EventTraces {
    /// The configuration of a shard's traces.
    struct Configuration {
        var settings: WorkerConfiguration.Tracing
        var inputTopics: [String]
        var bundleIDs: [String]
        /// The host and port of each route.
        var routes: [(host: String, port: Int)]
        var groupID: String
    }

    /// Maximum number of events that are traced at the same time.
    static let liveMax = 2_048
    /// A trace ends after this time in milliseconds, even if its event still waits. An event may be pending for days,
    /// but traces are about delays of minutes.
    static let ageMillisMax: Int64 = 3_600_000

    private let tracer: any Tracer
    private var configuration: Configuration
    private var names: TraceNames
    private let desk: SpanDesk
    /// Work for the desk that has not been handed over yet.
    private var works: [SpanDesk.Work] = []
    private var random: SplitMix64
    private var live: [SourcePosition: EventTrace] = [:]
    private var fanOuts: FanOutTraces
    /// The name of an event's first span, by topic index.
    private let spanNames: [String]
    private var rate = TraceRate()
    private var now = EngineTime(steadyMillis: 0, wallMillis: 0)
    private var nextSweepMillis: Int64 = 0
    private var counts = TracingCounters()

    /// - Parameter thread: the thread on which spans are made.
    init(tracer: any Tracer, _ configuration: Configuration, randomSeed: UInt64, on thread: SpanDesk.Thread = .here) {
        self.tracer = tracer
        self.names = TraceNames(configuration)
        self.desk = SpanDesk(thread)
        self.fanOuts = FanOutTraces(tracer: tracer)
        self.spanNames = configuration.inputTopics.map { "process \($0)" }
        self.configuration = configuration
        self.random = SplitMix64(seed: randomSeed)
    }

    var counters: TracingCounters {
        var counters = self.counts
        counters.eventsLive = self.live.count
        counters.passesTraced = self.fanOuts.tracedCount
        counters.passesLive = self.fanOuts.liveCount
        counters.passesSkipped = self.fanOuts.skippedCount
        counters.spansDropped = self.desk.droppedCount
        return counters
    }

    /// Uses other apps and routes from now on. The new lists begin with the former apps and routes.
    func follow(bundleIDs: [String], routes: [(host: String, port: Int)]) {
        self.configuration.bundleIDs = bundleIDs
        self.configuration.routes = routes
        self.names = TraceNames(self.configuration)
    }

    /// Hands the recorded work to the desk. Called after each turn, and when notices were taken outside of one.
    func handOver() { self.desk.take(&self.works) }

    /// Removes and returns the work that waits at the desk, without doing it.
    func takeWorks() -> [SpanDesk.Work] { self.desk.takeAll() }

    /// Begins a turn. Everything that is recorded from now on gets the time `now`.
    func turnBegan(now: EngineTime) {
        self.now = now
        if now.steadyMillis >= self.nextSweepMillis {
            self.sweep()
            self.handOver()
        }
    }

    // MARK: Records that arrive

    /// Maximum number of bytes of a record's key in a span.
    static let keyByteCountMax = 256

    /// Decides whether the event of a record is traced. If so, it begins the trace.
    /// - Parameters:
    ///   - record: marked as traced if it is.
    ///   - traceparent: the record's header; empty when there is none.
    ///   - traceState: returns the record's `tracestate`. Called only if the event is traced.
    ///   - key: returns the record's key. Called only if the event is traced.
    /// - Returns: the header that replaces `traceparent`, with `tracestate` after it; `nil` when the header stays.
    func begin(
        _ record: inout InputRecord, traceparent: Swift.Span<UInt8>, traceState: () -> String?, key: () -> [UInt8]
    ) -> [UInt8]? {
        if traceparent.isEmpty {
            guard self.configuration.settings.sampleRatio > 0, self.drawsSample() else { return nil }
            return self.begin(&record, below: nil, traceState: nil, key: key)
        }
        guard let parent = TraceContext(traceparent: traceparent) else {
            self.counts.traceparentsInvalid += 1
            return nil
        }
        guard parent.isSampled else { return nil }
        // An invalid `tracestate` is dropped here, because tracers may treat it in different ways.
        let state = traceState().flatMap { Self.isTraceState($0) ? $0 : nil }
        return self.begin(&record, below: parent, traceState: state, key: key)
    }

    private func drawsSample() -> Bool {
        Double.random(in: 0..<1, using: &self.random) < self.configuration.settings.sampleRatio
    }

    private func begin(
        _ record: inout InputRecord, below parent: TraceContext?, traceState: String?, key: () -> [UInt8]
    ) -> [UInt8]? {
        guard self.hasRoom() else {
            self.counts.eventsSkipped += 1
            return nil
        }
        let clock = TraceClock(self.now)
        let writtenMillis = RecordTime.believed(millis: record.timestampMillis, nowMillis: self.now.wallMillis)
        let began = self.startSpan(
            self.spanNames[Int(record.topic)], below: parent, traceState: traceState, at: clock.moment(of: self.now))
        let (span, context) = (began.span, began.context)
        let keyBytes = record.hasKey ? Array(key().prefix(Self.keyByteCountMax)) : nil
        self.works.append {
            [record, names = self.names, ageMillis = max(0, self.now.wallMillis - writtenMillis)] in
            span.attributes = Self.attributes(of: record, key: keyBytes, ageMillis: ageMillis, names)
        }

        let source =
            record.origin
            ?? SourcePosition(topic: record.topic, partition: record.partition, offset: record.offset)
        let trace = EventTrace(
            span: span, context: context, partition: record.partition,
            recordMillis: writtenMillis, clock: clock, now: self.now)
        // The event may be read a second time before its trace has ended. Then the former trace ends here.
        self.live.removeValue(forKey: source)?.abandon("read again", at: self.now, to: &self.works)
        self.live[source] = trace
        self.counts.eventsTraced += 1
        record.isTraced = true
        // If the tracer provides no context, the event keeps the one that it arrived with.
        let header = (context ?? parent)?.traceparent ?? []
        let carried = context == nil ? traceState : began.traceState
        guard let carried, !header.isEmpty, Self.isTraceState(carried) else { return header }
        return header + carried.utf8
    }

    /// Starts a span.
    /// - Returns: the span, and its context for other systems. `context` is `nil` if the tracer does not use W3C Trace
    ///   Context.
    private func startSpan(
        _ name: String, below parent: TraceContext?, traceState: String?, at moment: TraceMoment
    ) -> (span: any Span, context: TraceContext?, traceState: String?) {
        var context = ServiceContext.topLevel
        if let own = self.tracer as? OTLPTracer {
            // Mailboat's own tracer gets the context directly. Other tracers read it from headers, which takes longer.
            context.w3cTrace = parent
            context.w3cTraceState = parent == nil ? nil : traceState
            let span = own.startSpan(
                name, context: context, ofKind: .consumer, at: moment, function: #function, file: #fileID, line: #line)
            return (span, span.traceContext, context.w3cTraceState)
        }
        var carrier: [String: String] = [:]
        carrier["traceparent"] = parent.map { String(decoding: $0.traceparent, as: UTF8.self) }
        carrier["tracestate"] = traceState
        self.tracer.extract(carrier, into: &context, using: TraceCarrier())
        let span = self.tracer.startAnySpanAt(name, context: context, ofKind: .consumer, at: moment)
        var injected: [String: String] = [:]
        self.tracer.inject(span.context, into: &injected, using: TraceCarrier())
        let traced = injected["traceparent"].map { Array($0.utf8) }.flatMap { TraceContext(traceparent: $0.span) }
        return (span, traced, injected["tracestate"])
    }

    private static func attributes(
        of record: InputRecord, key: [UInt8]?, ageMillis: Int64, _ names: TraceNames
    ) -> SpanAttributes {
        var attributes: [String: SpanAttribute] = [:]
        attributes.reserveCapacity(16)
        attributes["messaging.system"] = .string("kafka")
        attributes["messaging.operation.type"] = .string("process")
        attributes["messaging.operation.name"] = .string("process")
        attributes["messaging.destination.name"] = .string(names.inputTopics[Int(record.topic)])
        attributes["messaging.destination.partition.id"] = .string("\(record.partition)")
        attributes["messaging.kafka.offset"] = .int64(record.offset)
        if let key {
            // The key of a join is a token, and other keys may be tokens by mistake, so a key is shortened.
            let text = String(decoding: key, as: UTF8.self)
            attributes["messaging.kafka.message.key"] = .string(TokenText.shortened(text))
        }
        attributes["messaging.consumer.group.name"] = .string(names.groupID)
        attributes["mailboat.record.age_ms"] = .int64(ageMillis)
        if let origin = record.origin { attributes["mailboat.source"] = .string(origin.text(names)) }
        return SpanAttributes(attributes)
    }

    private static func isTraceState(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return TraceState.isValid(bytes.span)
    }

    /// Whether another trace may begin. If so, it is counted.
    private func hasRoom() -> Bool {
        self.live.count < Self.liveMax
            && self.rate.takes(at: self.now, perSecondMax: self.configuration.settings.samplesPerSecondMax)
    }

    // MARK: Notes of the engine

    /// Takes a notice of the engine.
    /// - Returns: for an accepted push, the event's latency until then, and its trace.
    func take(_ note: TraceNotice) -> AcceptedTrace? {
        switch note.happening {
        case .passBegan(let pass):
            self.fanOuts.begin(
                pass, of: note.source, self.names, perSecondMax: self.configuration.settings.samplesPerSecondMax,
                at: self.now, to: &self.works)
        case .passSkipped: self.fanOuts.skip()
        case .passAnswered(let id, let push): self.fanOuts.answered(id, push, self.names, to: &self.works)
        case .passEnded(let id, let end, let tally):
            self.fanOuts.end(id, end, tally, at: self.now, to: &self.works)
        case .broadcastAnswered(let broadcast, let answer):
            self.fanOuts.broadcastAnswered(
                broadcast, answer, self.names, perSecondMax: self.configuration.settings.samplesPerSecondMax,
                at: self.now, to: &self.works)
        case .sent, .answered, .ended, .forwarded: return self.takeOfEvent(note)
        }
        return nil
    }

    private func takeOfEvent(_ note: TraceNotice) -> AcceptedTrace? {
        switch note.happening {
        case .passBegan, .passSkipped, .passAnswered, .passEnded, .broadcastAnswered: break
        case .sent(let push):
            self.live[note.source]?.sent(push, self.names, by: self.tracer, at: self.now, to: &self.works)
        case .answered(let answer):
            self.live[note.source]?.answered(answer, self.names, by: self.tracer, at: self.now, to: &self.works)
            guard answer.isAccepted else { return nil }
            return self.live[note.source]?.accepted(afterMicros: answer.apnsMicros, at: self.now)
        case .ended(let outcome, let reason, let into):
            guard var trace = self.live.removeValue(forKey: note.source) else { return nil }
            trace.end(
                outcome, reason: reason, into: into, other: into.flatMap { self.live[$0]?.span.context }, self.names,
                by: self.tracer, at: self.now, to: &self.works)
        case .forwarded(let partition):
            self.live.removeValue(forKey: note.source)?.forwarded(to: partition, at: self.now, to: &self.works)
        }
        return nil
    }

    // MARK: Ends without a note

    /// Ends the traces of partitions that belong to another worker now. Pending events have been written down, and that
    /// worker continues their traces.
    func partitionsLeft(_ numbers: [Int32]) {
        self.fanOuts.abandon("handed over", at: self.now, to: &self.works) { numbers.contains($0.partition) }
        self.abandon("handed over") { numbers.contains($0.partition) }
        self.handOver()
    }

    /// Ends all traces, because the shard ends.
    func close() {
        self.fanOuts.abandon("handed over", at: self.now, to: &self.works) { _ in true }
        self.abandon("handed over") { _ in true }
        self.handOver()
        // The desk does its work before this returns, because the exporter of spans ends soon.
        self.desk.work()
    }

    private func sweep() {
        self.nextSweepMillis = self.now.steadyMillis + 60_000
        let oldest = self.now.steadyMillis - Self.ageMillisMax
        self.fanOuts.abandon("still under way", at: self.now, to: &self.works) { $0.beganSteadyMillis < oldest }
        self.abandon("still pending") { $0.beganSteadyMillis < oldest }
    }

    private func abandon(_ why: String, where isMeant: (EventTrace) -> Bool) {
        for (source, trace) in self.live where isMeant(trace) {
            self.live[source] = nil
            trace.abandon(why, at: self.now, to: &self.works)
        }
    }
}

/// The latency and trace of an accepted push, kept as an example in the histograms.
struct AcceptedTrace {
    var context: TraceContext
    var recordToAcceptedMillis: Int64
    var takenToAcceptedMicros: Int64
}

/// Reads and writes the headers through which a tracer passes its context.
struct TraceCarrier: Extractor, Injector {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }

    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
}

extension PushAnswer {
    fileprivate var isAccepted: Bool {
        switch self.result {
        case .accepted: true
        case .response(let response): response.verdict == .accepted
        case .channel, .notProcessed, .unknown: false
        }
    }
}
