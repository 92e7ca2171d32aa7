import HTTP2Session

/// One answer to be sent, plain bits but for the rare prepared one.
struct Answer {
    var streamID: Int32
    /// `nil`: 200.
    var reason: Reason?
    var messageID: (UInt64, UInt64)
    /// The `timestamp` of a 410, milliseconds since 1970.
    var timestampMillis: Int64 = 0
    /// Set by a fault: takes the place of `reason`.
    var prepared: PreparedAnswer?
}

/// An answer a fault asks for: any status, any body.
final class PreparedAnswer: Sendable {
    let status: Int
    /// What the statistics count it under.
    let name: String
    let template: HTTP2HeaderTemplate
    let body: [UInt8]
    /// The template has `apns-id`, whose value varies.
    let sendsMessageID: Bool

    init(status: Int, name: String, body: [UInt8], retryAfterSeconds: Int?, sendsMessageID: Bool = true) {
        self.status = status
        self.name = name
        self.body = body
        self.sendsMessageID = sendsMessageID
        var fields: [HTTP2Field] = [.fixed(":status", String(status))]
        if sendsMessageID { fields.append(.variable("apns-id")) }
        if !body.isEmpty { fields.append(.fixed("content-type", "application/json")) }
        if let retryAfterSeconds { fields.append(.fixed("retry-after", String(retryAfterSeconds))) }
        self.template = HTTP2HeaderTemplate(fields)
    }
}

/// Header templates and bodies of Apple's own answers, made once.
enum AnswerForms {
    /// Apple names no reason for a field list above its SETTINGS_MAX_HEADER_LIST_SIZE; HTTP has a status for it (RFC 9113 §10.5.1, RFC 6585 §5).
    static let fieldsTooLarge = PreparedAnswer(
        status: 431, name: "RequestHeaderFieldsTooLarge", body: [], retryAfterSeconds: nil)

    static let accepted = HTTP2HeaderTemplate([.fixed(":status", "200"), .variable("apns-id")])

    private static let refusals: [Reason: (template: HTTP2HeaderTemplate, body: [UInt8])] = Dictionary(
        uniqueKeysWithValues: Reason.allCases.map { reason in
            let template = HTTP2HeaderTemplate([
                .fixed(":status", String(reason.status)), .variable("apns-id"),
                .fixed("content-type", "application/json"),
            ])
            return (reason, (template, Array("{\"reason\":\"\(reason.rawValue)\"}".utf8)))
        })

    static func refusal(_ reason: Reason, timestampMillis: Int64) -> (template: HTTP2HeaderTemplate, body: [UInt8]) {
        // Each reason is in the table: it was built from all of them.
        let form = Self.refusals[reason] ?? (Self.accepted, [])
        guard reason.status == 410 else { return form }
        return (form.template, Array("{\"reason\":\"\(reason.rawValue)\",\"timestamp\":\(timestampMillis)}".utf8))
    }
}

/// What a batch of requests came to. Reused: it keeps its memory.
struct Rulings {
    /// What is done to a stream or connection instead of, or besides, an answer.
    enum Effect {
        case reset(streamID: Int32, HTTP2ErrorCode)
        case cut
        case goAway(GoAway)
        /// Frames by hand, after what waits to be written.
        case half(streamID: Int32, OddAnswer)
        case then(ConnectionAction)
    }

    /// With the time each has to wait, nanoseconds.
    var answers: [(answer: Answer, delayNanos: Int64)] = []
    var effects: [Effect] = []
    /// The stream limit this connection is to have from now on.
    var concurrentStreamsMax: UInt32 = 0

    mutating func removeAll() {
        self.answers.removeAll(keepingCapacity: true)
        self.effects.removeAll(keepingCapacity: true)
    }
}
