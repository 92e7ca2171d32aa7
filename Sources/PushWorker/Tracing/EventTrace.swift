import APNSProtocol
import PushEngine
import PushModel
import Tracing

/// The trace of one event: its span, and what of its way has not ended yet.
struct EventTrace {
    let span: any Span
    /// As others are told of it; `nil`: the tracer does not speak W3C Trace Context.
    let place: TraceContext?
    /// Where its record lies.
    let partition: Int32
    let beganSteadyMillis: Int64
    private let recordMillis: Int64
    private let clock: TraceClock
    /// Since when it waits; `nil`: it is on its way to APNs.
    private var waitingSince: TraceMoment?
    private var push: (id: PushID, left: TraceMoment, attributes: SpanAttributes)?
    private var sentSteadyMillis: Int64 = 0
    private var attemptCount = 0
    private var lastEnd: TraceMoment

    init(
        span: any Span, place: TraceContext?, partition: Int32, recordMillis: Int64, clock: TraceClock, now: EngineTime
    ) {
        self.span = span
        self.place = place
        self.partition = partition
        self.recordMillis = recordMillis
        self.clock = clock
        self.beganSteadyMillis = now.steadyMillis
        let began = clock.moment(of: now)
        self.waitingSince = began
        self.lastEnd = began
    }

    mutating func sent(
        _ push: TracedPush, _ configuration: EventTraces.Configuration, by tracer: any Tracer, at now: EngineTime
    ) {
        let moment = self.clock.moment(of: now)
        self.endWait(by: tracer, at: moment)
        self.attemptCount += 1
        if self.attemptCount == 1 {
            let name = push.kind == .broadcast ? "mailboat.channel" : "mailboat.activity"
            // Somebody may have used a token as a key.
            self.span.attributes[name] = TokenText.shortened(String(decoding: push.slotID, as: UTF8.self))
            self.span.attributes["mailboat.app"] = configuration.bundleIDs[Int(push.app)]
        }
        var attributes = PushSpan.attributes(
            push.kind, route: push.route, apnsID: (push.apnsIDHigh, push.apnsIDLow), priority: push.priority,
            resendCount: self.attemptCount - 1, configuration)
        attributes["mailboat.merged"] = Int(push.mergedCount)
        self.push = (push.id, moment, attributes)
        self.sentSteadyMillis = now.steadyMillis
    }

    mutating func answered(_ answer: PushAnswer, by tracer: any Tracer, at now: EngineTime) {
        guard let push = self.push, push.id == answer.id else { return }
        self.push = nil
        let end = PushSpan.tell(
            answer, left: push.left, attributes: push.attributes, below: self.span.context, by: tracer)
        self.lastEnd = max(self.lastEnd, end)
        self.waitingSince = max(end, self.clock.moment(of: now))
    }

    private mutating func endWait(by tracer: any Tracer, at moment: TraceMoment) {
        guard let since = self.waitingSince else { return }
        self.waitingSince = nil
        let span = tracer.startAnySpanAt("queued", context: self.span.context, ofKind: .internal, at: since)
        let end = max(since, moment)
        span.end(at: end)
        self.lastEnd = max(self.lastEnd, end)
    }

    /// The event has its outcome.
    mutating func end(_ outcome: Outcome, reason: String, by tracer: any Tracer, at now: EngineTime) {
        let moment = self.clock.moment(of: now)
        let reason = TokenText.shortened(reason)
        // What has its outcome at once, as after an answer, has not waited.
        if let since = self.waitingSince, since < moment { self.endWait(by: tracer, at: moment) }
        self.span.attributes["mailboat.outcome"] = "\(outcome.name)"
        if !reason.isEmpty { self.span.attributes["mailboat.reason"] = reason }
        if outcome.isFailure {
            self.span.attributes["error.type"] = "\(outcome.name)"
            self.span.setStatus(SpanStatus(code: .error, message: reason.isEmpty ? "\(outcome.name)" : reason))
        }
        self.span.end(at: max(self.lastEnd, moment))
    }

    /// It goes to another partition.
    func forwarded(at now: EngineTime) {
        self.span.attributes["mailboat.outcome"] = "forwarded"
        self.span.end(at: max(self.lastEnd, self.clock.moment(of: now)))
    }

    /// What becomes of it is not seen here.
    func abandon(_ why: String, at now: EngineTime) {
        self.span.attributes["mailboat.outcome"] = why
        self.span.end(at: max(self.lastEnd, self.clock.moment(of: now)))
    }

    /// As the histograms measure it.
    func accepted(afterMicros apnsMicros: Int64, at now: EngineTime) -> AcceptedTrace? {
        self.place.map { place in
            AcceptedTrace(
                place: place, recordToAcceptedMillis: now.wallMillis - self.recordMillis,
                takenToAcceptedMicros: (self.sentSteadyMillis - self.beganSteadyMillis) * 1_000 + apnsMicros)
        }
    }
}

extension Outcome {
    /// It did not reach the device as it was meant, and nothing newer did in its place.
    fileprivate var isFailure: Bool {
        switch self {
        case .rejected, .unregistered, .unknown, .deadLettered, .expired: true
        case .applied, .delivered, .superseded, .late, .duplicate, .fannedOut: false
        }
    }
}
