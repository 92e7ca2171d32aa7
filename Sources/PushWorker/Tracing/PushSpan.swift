import APNSProtocol
import PushEngine
import PushModel
import Tracing

/// The span of one request to APNs, an event's or a member's. It is told once it is answered.
enum PushSpan {
    /// What is known of it when it leaves.
    /// - Parameter resendCount: attempts before.
    static func attributes(
        _ kind: RequestKind, route: UInt16, apnsID: (UInt64, UInt64), priority: PushPriority, resendCount: Int,
        _ configuration: EventTraces.Configuration
    ) -> SpanAttributes {
        var attributes = SpanAttributes()
        attributes["http.request.method"] = "POST"
        attributes["url.template"] = kind == .broadcast ? "/4/broadcasts/apps/{bundleId}" : "/3/device/{token}"
        if Int(route) < configuration.routes.count {
            attributes["server.address"] = configuration.routes[Int(route)].host
            attributes["server.port"] = configuration.routes[Int(route)].port
        }
        attributes["apns.id"] = Self.uuid(apnsID.0, apnsID.1)
        attributes["apns.priority"] = Int(priority.rawValue)
        if resendCount > 0 { attributes["http.request.resend_count"] = resendCount }
        return attributes
    }

    /// It was answered.
    /// - Returns: when.
    static func tell(
        _ answer: PushAnswer, left: TraceMoment, attributes: SpanAttributes, below context: ServiceContext,
        by tracer: any Tracer
    ) -> TraceMoment {
        let end = left.later(byMicros: answer.apnsMicros)
        var attributes = attributes
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
        let span = tracer.startAnySpanAt("push", context: context, ofKind: .client, at: left)
        if let fault {
            attributes["error.type"] = fault
            span.setStatus(SpanStatus(code: .error, message: fault))
        }
        span.attributes = attributes
        span.end(at: end)
        return end
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
