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
        var attributes = SpanAttributes()
        attributes["http.request.method"] = "POST"
        attributes["url.template"] = push.kind == .broadcast ? "/4/broadcasts/apps/{bundleId}" : "/3/device/{token}"
        if Int(push.route) < configuration.routes.count {
            attributes["server.address"] = configuration.routes[Int(push.route)].host
            attributes["server.port"] = configuration.routes[Int(push.route)].port
        }
        attributes["apns.id"] = Self.uuid(push.apnsIDHigh, push.apnsIDLow)
        attributes["apns.priority"] = Int(push.priority.rawValue)
        attributes["mailboat.merged"] = Int(push.mergedCount)
        if self.attemptCount > 1 { attributes["http.request.resend_count"] = self.attemptCount - 1 }
        self.push = (push.id, moment, attributes)
        self.sentSteadyMillis = now.steadyMillis
    }

    mutating func answered(_ answer: PushAnswer, by tracer: any Tracer, at now: EngineTime) {
        guard let push = self.push, push.id == answer.id else { return }
        self.push = nil
        let end = push.left.later(byMicros: answer.apnsMicros)
        var attributes = push.attributes
        var fault: String?
        switch answer.result {
        case .accepted, .channel: attributes["http.response.status_code"] = 200
        case .response(let response):
            attributes["http.response.status_code"] = Int(response.status)
            if response.verdict != .accepted {
                fault = response.reason.isEmpty ? "\(response.status)" : response.reason
            }
        case .notProcessed: fault = "not processed"
        case .unknown(let detail): fault = detail
        }
        let span = tracer.startAnySpanAt("push", context: self.span.context, ofKind: .client, at: push.left)
        if let fault {
            attributes["error.type"] = fault
            span.setStatus(SpanStatus(code: .error, message: fault))
        }
        span.attributes = attributes
        span.end(at: end)
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

    private static func uuid(_ high: UInt64, _ low: UInt64) -> String {
        var digits: [UInt8] = []
        Hex.append(high, to: &digits)
        Hex.append(low, to: &digits)
        let text = String(decoding: digits, as: UTF8.self)
        let ends = [0, 8, 12, 16, 20, 32]
        return zip(ends, ends.dropFirst()).map { start, end in text.dropFirst(start).prefix(end - start) }
            .joined(separator: "-")
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

/// A moment as tracers take it.
struct TraceMoment: TracerInstant {
    var nanosecondsSinceEpoch: UInt64

    static func < (left: Self, right: Self) -> Bool { left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch }

    func later(byMicros micros: Int64) -> TraceMoment {
        TraceMoment(nanosecondsSinceEpoch: self.nanosecondsSinceEpoch &+ UInt64(max(0, micros)) &* 1_000)
    }
}

/// The machine's time when a trace began, and from there the time that never steps: no span of a trace ends before it begins.
struct TraceClock {
    private let beganSteadyMillis: Int64
    private let beganWallMillis: Int64

    init(_ began: EngineTime) {
        self.beganSteadyMillis = began.steadyMillis
        self.beganWallMillis = began.wallMillis
    }

    func moment(of now: EngineTime) -> TraceMoment {
        let millis = self.beganWallMillis + max(0, now.steadyMillis - self.beganSteadyMillis)
        return TraceMoment(nanosecondsSinceEpoch: UInt64(max(0, millis)) * 1_000_000)
    }
}

extension Tracer {
    /// As `startSpan`, of a tracer whose kind is not known.
    func startAnySpanAt(
        _ name: String, context: ServiceContext, ofKind kind: SpanKind, at moment: TraceMoment
    ) -> any Tracing.Span {
        self.startSpan(
            name, context: context, ofKind: kind, at: moment, function: #function, file: #fileID, line: #line)
    }
}
