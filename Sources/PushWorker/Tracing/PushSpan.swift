import APNSProtocol
import PushEngine
import PushModel
import Tracing

/// The span of one request to APNs for an event or a member. The value keeps what is known when the request leaves. The
/// span is reported after the answer.
struct PushSpan: Sendable {
    var kind: RequestKind
    var route: UInt16
    var apnsID: (UInt64, UInt64)
    var priority: PushPriority
    /// Number of earlier attempts.
    var resendCount: Int
    /// Number of events that were merged into the push; 0 when it is not known.
    var mergedCount: UInt32 = 0
    var left: TraceMoment

    /// The time of an answer.
    func end(_ answer: PushAnswer) -> TraceMoment { self.left.later(byMicros: answer.apnsMicros) }

    /// Reports the span of an answered request. This is slow, so it must not be called on a shard's loop.
    /// - Parameter others: attributes that only some requests have.
    func report(
        _ answer: PushAnswer, others: [String: SpanAttribute] = [:], below context: ServiceContext,
        _ names: TraceNames, by tracer: any Tracer
    ) {
        var attributes = others
        attributes.reserveCapacity(others.count + 10)
        attributes["http.request.method"] = .string("POST")
        attributes["url.template"] = .string(
            self.kind == .broadcast ? "/4/broadcasts/apps/{bundleId}" : "/3/device/{token}")
        if Int(self.route) < names.routes.count {
            attributes["server.address"] = .string(names.routes[Int(self.route)].host)
            attributes["server.port"] = .int64(Int64(names.routes[Int(self.route)].port))
        }
        attributes["apns.id"] = .string(Self.uuid(self.apnsID.0, self.apnsID.1))
        attributes["apns.priority"] = .int64(Int64(self.priority.rawValue))
        if self.resendCount > 0 { attributes["http.request.resend_count"] = .int64(Int64(self.resendCount)) }
        if self.mergedCount > 0 { attributes["mailboat.merged"] = .int64(Int64(self.mergedCount)) }
        var fault: String?
        switch answer.result {
        case .accepted, .channel: attributes["http.response.status_code"] = .int64(200)
        case .response(let response):
            attributes["http.response.status_code"] = .int64(Int64(response.status))
            if response.verdict != .accepted {
                fault = response.reason.isEmpty ? "\(response.status)" : response.reason
            }
        case .notProcessed: fault = "not processed"
        case .unknown(let detail): fault = detail
        }
        let span = tracer.startAnySpanAt("push", context: context, ofKind: .client, at: self.left)
        if let fault {
            attributes["error.type"] = .string(fault)
            span.setStatus(SpanStatus(code: .error, message: fault))
        }
        span.attributes = SpanAttributes(attributes)
        span.end(at: self.end(answer))
    }

    private static func uuid(_ high: UInt64, _ low: UInt64) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(36)
        Hex.append(high, to: &digits)
        Hex.append(low, to: &digits)
        for place in [8, 13, 18, 23] { digits.insert(UInt8(ascii: "-"), at: place) }
        return String(decoding: digits, as: UTF8.self)
    }
}
