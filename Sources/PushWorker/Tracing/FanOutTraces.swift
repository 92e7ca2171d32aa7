import APNSProtocol
import PushEngine
import PushModel
import Tracing

/// Keeps the traces of a shard's passes. Each pass has a span `fan out`, below the span of the event that made its
/// version. Below `fan out` is a span for each push that the engine reports as an example. Other members have no span.
///
/// The number of passes that begin per second is limited, and so is the number that the engine reports at the same
/// time. Confined to the shard's event loop.
struct FanOutTraces {
    private let tracer: any Tracer
    private var live: [PassTraceID: FanOutTrace] = [:]
    private var rate = TraceRate()
    /// Number of passes whose tracing began.
    private(set) var tracedCount: UInt64 = 0
    /// Number of passes that were not traced because a limit was reached.
    private(set) var skippedCount: UInt64 = 0

    init(tracer: any Tracer) { self.tracer = tracer }

    var liveCount: Int { self.live.count }

    // MARK: Notes of the engine

    mutating func begin(
        _ pass: TracedPass, of source: SourcePosition, _ names: TraceNames, perSecondMax: Int, at now: EngineTime,
        to works: inout [SpanDesk.Work]
    ) {
        guard self.rate.takes(at: now, perSecondMax: perSecondMax) else {
            self.skippedCount += 1
            return
        }
        self.tracedCount += 1
        self.live[pass.id] = FanOutTrace(pass, of: source, names, by: self.tracer, at: now, to: &works)
    }
    /// Counts a pass that the engine did not report because too many were traced.
    mutating func skip() { self.skippedCount += 1 }
    mutating func answered(
        _ id: PassTraceID, _ push: TracedMemberPush, _ names: TraceNames, to works: inout [SpanDesk.Work]
    ) {
        let tracer = self.tracer
        self.live[id]?.answered(push, names, by: tracer, to: &works)
    }
    mutating func end(
        _ id: PassTraceID, _ end: PassEnd, _ tally: PassTally, at now: EngineTime, to works: inout [SpanDesk.Work]
    ) {
        self.live.removeValue(forKey: id)?.end(end, tally, at: now, to: &works)
    }
    /// Traces a broadcast, which is a single request. For the limit per second, it counts as a pass that begins.
    mutating func broadcastAnswered(
        _ broadcast: TracedBroadcast, _ answer: PushAnswer, _ names: TraceNames, perSecondMax: Int, at now: EngineTime,
        to works: inout [SpanDesk.Work]
    ) {
        guard self.rate.takes(at: now, perSecondMax: perSecondMax) else {
            self.skippedCount += 1
            return
        }
        let sentAgoMillis = max(0, now.steadyMillis - broadcast.sentMillis)
        let clock = TraceClock(
            EngineTime(steadyMillis: broadcast.sentMillis, wallMillis: now.wallMillis - sentAgoMillis))
        let push = PushSpan(
            kind: .broadcast, route: broadcast.route, apnsID: (broadcast.apnsIDHigh, broadcast.apnsIDLow),
            priority: broadcast.priority, resendCount: 0, mergedCount: broadcast.mergedCount,
            left: clock.moment(ofSteadyMillis: broadcast.sentMillis))
        works.append { [tracer = self.tracer] in
            var others: [String: SpanAttribute] = [
                "mailboat.audience": .string(
                    TokenText.shortened(String(decoding: broadcast.audience, as: UTF8.self))),
                "mailboat.channel": .string(String(decoding: broadcast.channel, as: UTF8.self)),
                "mailboat.life": .int64(broadcast.life), "mailboat.version": .int64(broadcast.stampSeconds),
                "mailboat.source": .string(broadcast.source.text(names)),
            ]
            if Int(broadcast.app) < names.bundleIDs.count {
                others["mailboat.app"] = .string(names.bundleIDs[Int(broadcast.app)])
            }
            push.report(answer, others: others, below: .below(broadcast.parent, by: tracer), names, by: tracer)
        }
    }

    // MARK: Ends without a note

    /// Ends traces because this shard will not see what becomes of their passes.
    mutating func abandon(
        _ why: String, at now: EngineTime, to works: inout [SpanDesk.Work], where isMeant: (FanOutTrace) -> Bool
    ) {
        for (id, trace) in self.live where isMeant(trace) {
            self.live[id] = nil
            trace.abandon(why, at: now, to: &works)
        }
    }
}

/// The trace of one pass.
struct FanOutTrace {
    private let span: any Span
    private let isStart: Bool
    private let clock: TraceClock
    /// The partition that has the pass's members.
    let partition: Int32
    let beganSteadyMillis: Int64
    private var lastEnd: TraceMoment

    fileprivate init(
        _ pass: TracedPass, of source: SourcePosition, _ names: TraceNames, by tracer: any Tracer, at now: EngineTime,
        to works: inout [SpanDesk.Work]
    ) {
        self.clock = TraceClock(now)
        self.partition = pass.partition
        self.isStart = pass.isStart
        self.beganSteadyMillis = now.steadyMillis
        let began = self.clock.moment(of: now)
        self.lastEnd = began
        let span = tracer.startAnySpanAt(
            "fan out", context: .below(pass.parent, by: tracer), ofKind: .internal, at: began)
        self.span = span
        works.append { [ageMillis = max(0, now.wallMillis - pass.recordMillis)] in
            var attributes: [String: SpanAttribute] = [
                // The id is shortened, because it may be a token by mistake.
                "mailboat.audience": .string(TokenText.shortened(String(decoding: pass.audience, as: UTF8.self))),
                "mailboat.life": .int64(pass.life), "mailboat.version": .int64(pass.stampSeconds),
                "mailboat.members.kind": .string(pass.isStart ? "start" : "update"),
                "mailboat.partition": .int64(Int64(pass.partition)),
                "mailboat.source": .string(source.text(names)), "mailboat.record.age_ms": .int64(ageMillis),
            ]
            if Int(pass.app) < names.bundleIDs.count {
                attributes["mailboat.app"] = .string(names.bundleIDs[Int(pass.app)])
            }
            if pass.isResumed { attributes["mailboat.resumed"] = .bool(true) }
            span.attributes = SpanAttributes(attributes)
        }
    }

    fileprivate mutating func answered(
        _ push: TracedMemberPush, _ names: TraceNames, by tracer: any Tracer, to works: inout [SpanDesk.Work]
    ) {
        let request = PushSpan(
            kind: .device, route: push.route, apnsID: (push.apnsIDHigh, push.apnsIDLow), priority: push.priority,
            resendCount: Int(push.attempt), left: self.clock.moment(ofSteadyMillis: push.sentMillis))
        works.append { [span = self.span] in
            request.report(push.answer, below: span.context, names, by: tracer)
        }
        self.lastEnd = max(self.lastEnd, request.end(push.answer))
    }

    fileprivate func end(_ end: PassEnd, _ tally: PassTally, at now: EngineTime, to works: inout [SpanDesk.Work]) {
        works.append { [span = self.span, isStart = self.isStart] in
            let counts = tally.counts
            var attributes: [(String, SpanAttribute)] = [
                ("due", counts.due), ("accepted", counts.accepted), ("superseded", counts.superseded),
                ("expired", counts.expired), ("gone", counts.gone), ("failed", counts.failed), ("left", counts.left),
                ("waiting", tally.waitingCount), ("retried", counts.repeated),
            ].map { name, count in ("mailboat.members.\(name)", .int64(Int64(clamping: count))) }
            if isStart { attributes.append(("mailboat.members.unknown", .int64(Int64(clamping: counts.unknown)))) }
            if !tally.refusals.isEmpty {
                let refusals = tally.refusals.map { "\($0.reason): \($0.count)" }
                attributes.append(("mailboat.members.refused", .stringArray(refusals)))
            }
            if end == .expired {
                attributes.append(("error.type", .string(end.text)))
                span.setStatus(SpanStatus(code: .error, message: end.text))
            }
            span.add(attributes)
        }
        self.abandon(end.text, at: now, to: &works)
    }

    fileprivate func abandon(_ why: String, at now: EngineTime, to works: inout [SpanDesk.Work]) {
        works.append { [span = self.span, end = max(self.lastEnd, self.clock.moment(of: now))] in
            span.add([("mailboat.outcome", .string(why))])
            span.end(at: end)
        }
    }
}

extension ServiceContext {
    /// A context below `parent`. The tracer makes the context as it would from a header.
    fileprivate static func below(_ parent: TraceContext, by tracer: any Tracer) -> ServiceContext {
        var context = ServiceContext.topLevel
        let carrier = ["traceparent": String(decoding: parent.traceparent, as: UTF8.self)]
        tracer.extract(carrier, into: &context, using: TraceCarrier())
        return context
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
