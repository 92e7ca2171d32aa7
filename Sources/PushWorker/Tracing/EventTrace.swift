import APNSProtocol
import PushEngine
import PushModel
import Tracing

/// The trace of one event: its span, and the spans below it that have not ended yet.
struct EventTrace {
    let span: any Span
    /// The W3C trace context of the span, which the event carries on; `nil`: the tracer does not use W3C Trace Context.
    let context: TraceContext?
    /// The partition that has the event's record.
    let partition: Int32
    let beganSteadyMillis: Int64
    private let recordMillis: Int64
    private let clock: TraceClock
    /// Since when the event waits; `nil` while a push with it is on its way to APNs.
    private var waitingSince: TraceMoment?
    private var push: (id: PushID, span: PushSpan)?
    private var sentSteadyMillis: Int64 = 0
    private var attemptCount = 0
    private var lastEnd: TraceMoment

    init(
        span: any Span, context: TraceContext?, partition: Int32, recordMillis: Int64, clock: TraceClock,
        now: EngineTime
    ) {
        self.span = span
        self.context = context
        self.partition = partition
        self.recordMillis = recordMillis
        self.clock = clock
        self.beganSteadyMillis = now.steadyMillis
        let began = clock.moment(of: now)
        self.waitingSince = began
        self.lastEnd = began
    }

    mutating func sent(
        _ push: TracedPush, _ names: TraceNames, by tracer: any Tracer, at now: EngineTime,
        to works: inout [SpanDesk.Work]
    ) {
        let moment = self.clock.moment(of: now)
        self.endWait(by: tracer, at: moment, to: &works)
        self.attemptCount += 1
        if self.attemptCount == 1 {
            works.append { [span = self.span, app = push.app, kind = push.kind, slotID = push.slotID] in
                span.add([
                    // The key is shortened, because somebody may have used a token as a key.
                    (
                        kind == .broadcast ? "mailboat.channel" : "mailboat.activity",
                        .string(TokenText.shortened(String(decoding: slotID, as: UTF8.self)))
                    ), ("mailboat.app", .string(names.bundleIDs[Int(app)])),
                ])
            }
        }
        self.push = (
            push.id,
            PushSpan(
                kind: push.kind, route: push.route, apnsID: (push.apnsIDHigh, push.apnsIDLow),
                priority: push.priority, resendCount: self.attemptCount - 1, mergedCount: push.mergedCount,
                left: moment)
        )
        self.sentSteadyMillis = now.steadyMillis
    }

    mutating func answered(
        _ answer: PushAnswer, _ names: TraceNames, by tracer: any Tracer, at now: EngineTime,
        to works: inout [SpanDesk.Work]
    ) {
        guard let push = self.push, push.id == answer.id else { return }
        self.push = nil
        works.append { [span = self.span] in
            push.span.report(answer, below: span.context, names, by: tracer)
        }
        let end = push.span.end(answer)
        self.lastEnd = max(self.lastEnd, end)
        self.waitingSince = max(end, self.clock.moment(of: now))
    }

    private mutating func endWait(by tracer: any Tracer, at moment: TraceMoment, to works: inout [SpanDesk.Work]) {
        guard let since = self.waitingSince else { return }
        self.waitingSince = nil
        let end = max(since, moment)
        works.append { [span = self.span] in
            tracer.startAnySpanAt("queued", context: span.context, ofKind: .internal, at: since).end(at: end)
        }
        self.lastEnd = max(self.lastEnd, end)
    }

    /// Ends the trace because the event has its outcome.
    /// - Parameters:
    ///   - into: the event that replaced this one.
    ///   - other: the context of that event's span, if it is traced.
    mutating func end(
        _ outcome: Outcome, reason: String, into: SourcePosition?, other: ServiceContext?, _ names: TraceNames,
        by tracer: any Tracer, at now: EngineTime, to works: inout [SpanDesk.Work]
    ) {
        let moment = self.clock.moment(of: now)
        // A wait without any duration gets no span. The outcome may follow at once, for example after an answer.
        if let since = self.waitingSince, since < moment { self.endWait(by: tracer, at: moment, to: &works) }
        works.append { [span = self.span, end = max(self.lastEnd, moment)] in
            let reason = TokenText.shortened(reason)
            var attributes: [(String, SpanAttribute)] = [("mailboat.outcome", .string("\(outcome.name)"))]
            if !reason.isEmpty { attributes.append(("mailboat.reason", .string(reason))) }
            if let into { attributes.append(("mailboat.into", .string(into.text(names)))) }
            if outcome.isFailure {
                attributes.append(("error.type", .string("\(outcome.name)")))
                span.setStatus(SpanStatus(code: .error, message: reason.isEmpty ? "\(outcome.name)" : reason))
            }
            span.add(attributes)
            if let other { span.addLink(SpanLink(context: other, attributes: [:])) }
            span.end(at: end)
        }
    }

    /// Ends the trace because the event is forwarded to another partition.
    func forwarded(to partition: Int32, at now: EngineTime, to works: inout [SpanDesk.Work]) {
        self.end(
            [("mailboat.outcome", .string("forwarded")), ("mailboat.forwarded.partition", .int64(Int64(partition)))],
            at: now, to: &works)
    }

    /// Ends the trace because this shard will not see what becomes of the event.
    func abandon(_ why: String, at now: EngineTime, to works: inout [SpanDesk.Work]) {
        self.end([("mailboat.outcome", .string(why))], at: now, to: &works)
    }

    private func end(_ attributes: [(String, SpanAttribute)], at now: EngineTime, to works: inout [SpanDesk.Work]) {
        works.append { [span = self.span, end = max(self.lastEnd, self.clock.moment(of: now))] in
            span.add(attributes)
            span.end(at: end)
        }
    }

    /// The trace of an accepted push, with its latency as the histograms measure it.
    func accepted(afterMicros apnsMicros: Int64, at now: EngineTime) -> AcceptedTrace? {
        self.context.map { context in
            AcceptedTrace(
                context: context, recordToAcceptedMillis: now.wallMillis - self.recordMillis,
                takenToAcceptedMicros: (self.sentSteadyMillis - self.beganSteadyMillis) * 1_000 + apnsMicros)
        }
    }
}

extension Span {
    /// Adds several attributes together, because each change copies all of them.
    func add(_ attributes: [(String, SpanAttribute)]) {
        var all = self.attributes
        for (name, value) in attributes { all[name] = value }
        self.attributes = all
    }
}

extension SourcePosition {
    /// The position as the name of an event in spans.
    func text(_ names: TraceNames) -> String {
        "\(names.inputTopics[Int(self.topic)])/\(self.partition)/\(self.offset)"
    }
}

extension Outcome {
    /// Whether the outcome means that neither the event nor newer content has reached the device as it should.
    fileprivate var isFailure: Bool {
        switch self {
        case .rejected, .unregistered, .unknown, .deadLettered, .expired: true
        case .applied, .delivered, .superseded, .late, .duplicate, .fannedOut: false
        }
    }
}
