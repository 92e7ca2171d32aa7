import APNSProtocol
import PushEngine
import PushModel
import Tracing

/// Keeps the traces of a shard's events: a span for an event's whole way through the worker, and below it one for each time it waits and one for
/// each push. Made of what the engine tells of events that were said to be traced; all others cost a look at the header. What follows where an event is for an
/// audience is kept by `FanOutTraces`.
///
/// The event carries on the context of its first span, in place of the one it came with: in what is forwarded, in its outcome, in `state`. Whoever
/// goes on from there goes on below that span.
///
/// Bounded: so many events begin a second, and so many wait. Confined to the shard's event loop.
final class EventTraces {
    /// What it needs to know.
    struct Configuration {
        var settings: WorkerConfiguration.Tracing
        var inputTopics: [String]
        var bundleIDs: [String]
        /// Where each route leads.
        var routes: [(host: String, port: Int)]
        var groupID: String
    }

    /// Events that are traced at a time, at most.
    static let liveMax = 2_048
    /// A trace of an event that waits longer ends before the event: it may be pending for days, and traces are about delays of minutes.
    static let ageMillisMax: Int64 = 3_600_000

    private let tracer: any Tracer
    private var configuration: Configuration
    private var random: SplitMix64
    private var live: [SourcePosition: EventTrace] = [:]
    private var fanOuts: FanOutTraces
    private var rate = TraceRate()
    private var now = EngineTime(steadyMillis: 0, wallMillis: 0)
    private var nextSweepMillis: Int64 = 0
    private var counts = TracingCounters()

    init(tracer: any Tracer, _ configuration: Configuration, randomSeed: UInt64) {
        self.tracer = tracer
        self.fanOuts = FanOutTraces(tracer: tracer)
        self.configuration = configuration
        self.random = SplitMix64(seed: randomSeed)
    }

    var counters: TracingCounters {
        var counters = self.counts
        counters.eventsLive = self.live.count
        counters.passesTraced = self.fanOuts.tracedCount
        counters.passesLive = self.fanOuts.liveCount
        counters.passesSkipped = self.fanOuts.skippedCount
        return counters
    }

    /// Other apps and routes from here on: the first are those there were.
    func follow(bundleIDs: [String], routes: [(host: String, port: Int)]) {
        self.configuration.bundleIDs = bundleIDs
        self.configuration.routes = routes
    }

    /// What happens from here on happens now.
    func turnBegan(now: EngineTime) {
        self.now = now
        if now.steadyMillis >= self.nextSweepMillis { self.sweep() }
    }

    // MARK: A record comes

    /// Of a record's key a span has this many bytes.
    static let keyByteCountMax = 256

    /// Looks whether the event of a record is to be traced, and begins its trace then.
    /// - Parameters:
    ///   - record: learns that it is traced.
    ///   - traceparent: as it came; empty: none came.
    ///   - traceState: asked for what came with it, if it is traced.
    ///   - key: asked for the record's key, if it is traced.
    /// - Returns: what the event is to carry in place of `traceparent`, and `tracestate` behind it; `nil`: what it has.
    func begin(
        _ record: inout InputRecord, traceparent: Swift.Span<UInt8>, traceState: () -> String?, key: () -> [UInt8]
    ) -> [UInt8]? {
        if traceparent.isEmpty {
            guard self.configuration.settings.sampleRatio > 0, self.drawsSample() else { return nil }
            return self.begin(&record, carrier: [:], key: key)
        }
        guard let parent = TraceContext(traceparent: traceparent) else {
            self.counts.traceparentsInvalid += 1
            return nil
        }
        guard parent.isSampled else { return nil }
        var carrier = ["traceparent": String(decoding: parent.traceparent, as: UTF8.self)]
        // One that is none is not carried on, whatever the tracer would do with it.
        carrier["tracestate"] = traceState().flatMap { Self.isTraceState($0) ? $0 : nil }
        return self.begin(&record, carrier: carrier, key: key)
    }

    private func drawsSample() -> Bool {
        Double.random(in: 0..<1, using: &self.random) < self.configuration.settings.sampleRatio
    }

    private func begin(
        _ record: inout InputRecord, carrier: [String: String], key: () -> [UInt8]
    ) -> [UInt8]? {
        guard self.hasRoom() else {
            self.counts.eventsSkipped += 1
            return nil
        }
        var context = ServiceContext.topLevel
        self.tracer.extract(carrier, into: &context, using: TraceCarrier())
        let topic = self.configuration.inputTopics[Int(record.topic)]
        let clock = TraceClock(self.now)
        let span = self.tracer.startAnySpanAt(
            "process \(topic)", context: context, ofKind: .consumer, at: clock.moment(of: self.now))
        var attributes = SpanAttributes()
        attributes["messaging.system"] = "kafka"
        attributes["messaging.operation.type"] = "process"
        attributes["messaging.operation.name"] = "process"
        attributes["messaging.destination.name"] = topic
        attributes["messaging.destination.partition.id"] = "\(record.partition)"
        attributes["messaging.kafka.offset"] = record.offset
        if record.hasKey {
            // The key of a join is a token, and somebody may have used one as another key.
            let key = String(decoding: key().prefix(Self.keyByteCountMax), as: UTF8.self)
            attributes["messaging.kafka.message.key"] = TokenText.shortened(key)
        }
        attributes["messaging.consumer.group.name"] = self.configuration.groupID
        attributes["mailboat.record.age_ms"] = max(0, self.now.wallMillis - record.timestampMillis)
        if let origin = record.origin { attributes["mailboat.source"] = self.text(of: origin) }
        span.attributes = attributes

        var injected: [String: String] = [:]
        self.tracer.inject(span.context, into: &injected, using: TraceCarrier())
        let place = injected["traceparent"].map { Array($0.utf8) }.flatMap { TraceContext(traceparent: $0.span) }
        let source =
            record.origin
            ?? SourcePosition(topic: record.topic, partition: record.partition, offset: record.offset)
        let trace = EventTrace(
            span: span, place: place, partition: record.partition,
            recordMillis: record.timestampMillis, clock: clock, now: self.now)
        // The partition has come back meanwhile, and what it had was not finished.
        self.live.removeValue(forKey: source)?.abandon("read again", at: self.now)
        self.live[source] = trace
        self.counts.eventsTraced += 1
        record.isTraced = true
        // A tracer that has nothing to say keeps what it does to itself: the event carries on what it came with.
        let carried = place == nil ? carrier : injected
        let header = place?.traceparent ?? carrier["traceparent"].map { Array($0.utf8) } ?? []
        guard let state = carried["tracestate"], !header.isEmpty, Self.isTraceState(state) else { return header }
        return header + state.utf8
    }

    private static func isTraceState(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return TraceState.isValid(bytes.span)
    }

    /// Counts the event that begins.
    private func hasRoom() -> Bool {
        self.live.count < Self.liveMax
            && self.rate.takes(at: self.now, perSecondMax: self.configuration.settings.samplesPerSecondMax)
    }

    // MARK: What the engine tells

    /// - Returns: of a push that was accepted, how long the event had been on its way then, and its trace.
    func take(_ note: TraceNote) -> AcceptedTrace? {
        switch note.happening {
        case .passBegan(let pass):
            self.fanOuts.begin(pass, source: self.text(of: note.source), self.configuration, at: self.now)
            return nil
        case .passSkipped:
            self.fanOuts.skip()
            return nil
        case .passAnswered(let id, let push):
            self.fanOuts.answered(id, push, self.configuration)
            return nil
        case .passEnded(let id, let end, let tally):
            self.fanOuts.end(id, end, tally, at: self.now)
            return nil
        // Nothing is made of it yet.
        case .broadcastAnswered: return nil
        case .sent, .answered, .ended, .forwarded: return self.takeOfEvent(note)
        }
    }

    private func takeOfEvent(_ note: TraceNote) -> AcceptedTrace? {
        guard var trace = self.live[note.source] else { return nil }
        switch note.happening {
        case .passBegan, .passSkipped, .passAnswered, .passEnded, .broadcastAnswered: return nil
        case .sent(let push):
            trace.sent(push, self.configuration, by: self.tracer, at: self.now)
            self.live[note.source] = trace
        case .answered(let answer):
            trace.answered(answer, by: self.tracer, at: self.now)
            self.live[note.source] = trace
            return answer.isAccepted ? trace.accepted(afterMicros: answer.apnsMicros, at: self.now) : nil
        case .ended(let outcome, let reason, let into):
            self.live[note.source] = nil
            if let into {
                trace.span.attributes["mailboat.into"] = self.text(of: into)
                if let other = self.live[into] {
                    trace.span.addLink(SpanLink(context: other.span.context, attributes: [:]))
                }
            }
            trace.end(outcome, reason: reason, by: self.tracer, at: self.now)
        case .forwarded(let partition):
            self.live[note.source] = nil
            trace.span.attributes["mailboat.forwarded.partition"] = Int(partition)
            trace.forwarded(at: self.now)
        }
        return nil
    }

    private func text(of source: SourcePosition) -> String {
        "\(self.configuration.inputTopics[Int(source.topic)])/\(source.partition)/\(source.offset)"
    }

    // MARK: What nobody tells of

    /// These partitions are another's: what was pending is written down, and goes on elsewhere.
    func partitionsLeft(_ numbers: [Int32]) {
        self.fanOuts.abandon("handed over", at: self.now) { numbers.contains($0.partition) }
        guard !self.live.isEmpty else { return }
        self.abandon("handed over") { numbers.contains($0.partition) }
    }

    /// Nothing more happens here.
    func close() {
        self.fanOuts.abandon("handed over", at: self.now) { _ in true }
        self.abandon("handed over") { _ in true }
    }

    private func sweep() {
        self.nextSweepMillis = self.now.steadyMillis + 60_000
        let oldest = self.now.steadyMillis - Self.ageMillisMax
        self.fanOuts.abandon("still under way", at: self.now) { $0.beganSteadyMillis < oldest }
        self.abandon("still pending") { $0.beganSteadyMillis < oldest }
    }

    private func abandon(_ why: String, where isMeant: (EventTrace) -> Bool) {
        for (source, trace) in self.live where isMeant(trace) {
            self.live[source] = nil
            trace.abandon(why, at: self.now)
        }
    }
}

/// Of a push that was accepted: an example for the histograms.
struct AcceptedTrace {
    var place: TraceContext
    var recordToAcceptedMillis: Int64
    var takenToAcceptedMicros: Int64
}

/// Headers as a tracer reads and writes them.
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
