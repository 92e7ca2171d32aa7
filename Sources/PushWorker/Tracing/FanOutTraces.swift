import APNSProtocol
import PushEngine
import PushModel
import Tracing

/// Keeps the traces of a shard's passes: of each a span `fan out`, below that of the event that made its version, and below it one for each push that the
/// engine tells as an example. A member that is not told of has no span.
///
/// Bounded: so many passes begin a second, and the engine tells of so many at a time. Confined to the shard's event loop.
struct FanOutTraces {
    private let tracer: any Tracer
    private var live: [PassTraceID: FanOutTrace] = [:]
    private var rate = TraceRate()
    /// Passes whose tracing began.
    private(set) var tracedCount: UInt64 = 0
    /// Passes that are not traced, as there were too many.
    private(set) var skippedCount: UInt64 = 0

    init(tracer: any Tracer) { self.tracer = tracer }

    var liveCount: Int { self.live.count }

    // MARK: What the engine tells

    /// - Parameter source: the event that speaks for what it brings, as text.
    mutating func begin(
        _ pass: TracedPass, source: String, _ configuration: EventTraces.Configuration, at now: EngineTime
    ) {
        guard self.rate.takes(at: now, perSecondMax: configuration.settings.samplesPerSecondMax) else {
            self.skippedCount += 1
            return
        }
        self.tracedCount += 1
        self.live[pass.id] = FanOutTrace(pass, source: source, configuration, by: self.tracer, at: now)
    }
    /// The engine has no room for another.
    mutating func skip() { self.skippedCount += 1 }
    mutating func answered(
        _ id: PassTraceID, _ push: TracedMemberPush, _ configuration: EventTraces.Configuration
    ) {
        let tracer = self.tracer
        self.live[id]?.answered(push, configuration, by: tracer)
    }
    mutating func end(_ id: PassTraceID, _ end: PassEnd, _ tally: PassTally, at now: EngineTime) {
        self.live.removeValue(forKey: id)?.end(end, tally, at: now)
    }

    // MARK: What nobody tells of

    /// What becomes of them is not seen here.
    mutating func abandon(_ why: String, at now: EngineTime, where isMeant: (FanOutTrace) -> Bool) {
        for (id, trace) in self.live where isMeant(trace) {
            self.live[id] = nil
            trace.abandon(why, at: now)
        }
    }
}

/// The trace of one pass.
struct FanOutTrace {
    private let span: any Span
    private let isStart: Bool
    private let clock: TraceClock
    /// Where its members are.
    let partition: Int32
    let beganSteadyMillis: Int64
    private var lastEnd: TraceMoment

    fileprivate init(
        _ pass: TracedPass, source: String, _ configuration: EventTraces.Configuration, by tracer: any Tracer,
        at now: EngineTime
    ) {
        self.clock = TraceClock(now)
        self.partition = pass.partition
        self.isStart = pass.isStart
        self.beganSteadyMillis = now.steadyMillis
        let began = self.clock.moment(of: now)
        self.lastEnd = began
        var context = ServiceContext.topLevel
        let carrier = ["traceparent": String(decoding: pass.parent.traceparent, as: UTF8.self)]
        tracer.extract(carrier, into: &context, using: TraceCarrier())
        self.span = tracer.startAnySpanAt("fan out", context: context, ofKind: .internal, at: began)
        var attributes = SpanAttributes()
        if Int(pass.app) < configuration.bundleIDs.count {
            attributes["mailboat.app"] = configuration.bundleIDs[Int(pass.app)]
        }
        // Somebody may have used a token as an id.
        attributes["mailboat.audience"] = TokenText.shortened(String(decoding: pass.audience, as: UTF8.self))
        attributes["mailboat.life"] = pass.life
        attributes["mailboat.version"] = pass.stampSeconds
        attributes["mailboat.members.kind"] = pass.isStart ? "start" : "update"
        attributes["mailboat.partition"] = Int(pass.partition)
        attributes["mailboat.source"] = source
        attributes["mailboat.record.age_ms"] = max(0, now.wallMillis - pass.recordMillis)
        if pass.isResumed { attributes["mailboat.resumed"] = true }
        self.span.attributes = attributes
    }

    fileprivate mutating func answered(
        _ push: TracedMemberPush, _ configuration: EventTraces.Configuration, by tracer: any Tracer
    ) {
        let attributes = PushSpan.attributes(
            .device, route: push.route, apnsID: (push.apnsIDHigh, push.apnsIDLow), priority: push.priority,
            resendCount: Int(push.attempt), configuration)
        let left = self.clock.moment(ofSteadyMillis: push.sentMillis)
        let end = PushSpan.tell(
            push.answer, left: left, attributes: attributes, below: self.span.context, by: tracer)
        self.lastEnd = max(self.lastEnd, end)
    }

    fileprivate func end(_ end: PassEnd, _ tally: PassTally, at now: EngineTime) {
        let counts = tally.counts
        var attributes = self.span.attributes
        attributes["mailboat.members.due"] = Int(clamping: counts.due)
        attributes["mailboat.members.accepted"] = Int(clamping: counts.accepted)
        attributes["mailboat.members.superseded"] = Int(clamping: counts.superseded)
        attributes["mailboat.members.expired"] = Int(clamping: counts.expired)
        attributes["mailboat.members.gone"] = Int(clamping: counts.gone)
        attributes["mailboat.members.failed"] = Int(clamping: counts.failed)
        if self.isStart { attributes["mailboat.members.unknown"] = Int(clamping: counts.unknown) }
        attributes["mailboat.members.left"] = Int(clamping: counts.left)
        attributes["mailboat.members.waiting"] = Int(clamping: tally.waitingCount)
        attributes["mailboat.members.retried"] = Int(clamping: counts.repeated)
        if !tally.refusals.isEmpty {
            attributes["mailboat.members.refused"] = tally.refusals.map { "\($0.reason): \($0.count)" }
        }
        self.span.attributes = attributes
        if end == .expired {
            self.span.attributes["error.type"] = end.text
            self.span.setStatus(SpanStatus(code: .error, message: end.text))
        }
        self.abandon(end.text, at: now)
    }

    fileprivate func abandon(_ why: String, at now: EngineTime) {
        self.span.attributes["mailboat.outcome"] = why
        self.span.end(at: max(self.lastEnd, self.clock.moment(of: now)))
    }
}

extension PassEnd {
    fileprivate var text: String {
        switch self {
        case .finished: "finished"
        case .superseded: "superseded"
        case .expired: "expired"
        case .paused: "paused"
        case .voided: "voided"
        case .handedOver: "handed over"
        }
    }
}
