import HTTP2Session

/// One answer to be sent, plain bits but for the rare prepared one.
struct Answer {
    var streamID: Int32
    /// Whether it answers a broadcast or a request about channels: its id is called `apns-request-id`, not `apns-id`.
    var isAboutChannels = false
    /// `nil`: it succeeded.
    var reason: Reason?
    /// What it says when it succeeded.
    var success = Success.push
    var messageID: (UInt64, UInt64)
    /// The `timestamp` of a 410, milliseconds since 1970.
    var timestampMillis: Int64 = 0
    /// Set by a fault: takes the place of `reason`.
    var prepared: PreparedAnswer?
    /// The token that was pushed to, as an index; -1: none that is known.
    var token: Int32 = -1
    /// Nobody who watches wanted to see the push.
    var isPassedOver = false

    /// HTTP status, as far as a push is answered.
    var status: Int { self.prepared?.status ?? self.reason?.status ?? 200 }
}

/// What an answer says beside its id when the request succeeded.
enum Success {
    /// 200.
    case push
    /// 200, with an `apns-unique-id`.
    case broadcast(uniqueID: (UInt64, UInt64))
    /// 201, with the new channel's id.
    case created(channelID: [UInt8])
    /// 200, with this body: a channel's settings, or the list of channels. Empty: none.
    case body([UInt8])
    /// 204.
    case deleted
}

/// An answer a fault asks for: any status, any body.
final class PreparedAnswer: Sendable {
    let status: Int
    /// What the statistics count it under.
    let name: String
    private let template: HTTP2HeaderTemplate
    private let channelsTemplate: HTTP2HeaderTemplate
    private let pageTemplate: HTTP2HeaderTemplate
    let body: [UInt8]
    /// The template has an id, whose value varies.
    let sendsMessageID: Bool

    init(
        status: Int, name: String, body: [UInt8], retryAfterSeconds: Int?, date: String? = nil,
        sendsMessageID: Bool = true
    ) {
        self.status = status
        self.name = name
        self.body = body
        self.sendsMessageID = sendsMessageID
        func template(_ idName: String, hasPage: Bool = false) -> HTTP2HeaderTemplate {
            var fields: [HTTP2Field] = [.fixed(":status", String(status))]
            if sendsMessageID { fields.append(.variable(idName)) }
            if hasPage { fields.append(.variable(AnswerForms.pageName)) }
            if !body.isEmpty { fields.append(.fixed("content-type", "application/json")) }
            if let retryAfterSeconds { fields.append(.fixed("retry-after", String(retryAfterSeconds))) }
            if let date { fields.append(.fixed("date", date)) }
            return HTTP2HeaderTemplate(fields)
        }
        self.template = template("apns-id")
        self.channelsTemplate = template("apns-request-id")
        self.pageTemplate = template("apns-id", hasPage: true)
    }

    /// - Parameter hasPage: the address of a page follows the id; not about channels.
    func template(isAboutChannels: Bool, hasPage: Bool) -> HTTP2HeaderTemplate {
        if isAboutChannels { return self.channelsTemplate }
        return hasPage ? self.pageTemplate : self.template
    }
}

/// Header templates and bodies of Apple's own answers, made once.
enum AnswerForms {
    /// Apple names no reason for a field list above its SETTINGS_MAX_HEADER_LIST_SIZE; HTTP has a status for it (RFC 9113 §10.5.1, RFC 6585 §5).
    static let fieldsTooLarge = PreparedAnswer(
        status: 431, name: "RequestHeaderFieldsTooLarge", body: [], retryAfterSeconds: nil)

    /// Where a person can look at the push.
    static let pageName = "mailboat-page"

    static let accepted = HTTP2HeaderTemplate([.fixed(":status", "200"), .variable("apns-id")])
    static let acceptedWithPage = HTTP2HeaderTemplate([
        .fixed(":status", "200"), .variable("apns-id"), .variable(Self.pageName),
    ])

    static let broadcast = HTTP2HeaderTemplate([
        .fixed(":status", "200"), .variable("apns-request-id"), .variable("apns-unique-id"),
    ])
    static let created = HTTP2HeaderTemplate([
        .fixed(":status", "201"), .variable("apns-request-id"), .variable("apns-channel-id"),
    ])
    static let channelsBody = HTTP2HeaderTemplate([
        .fixed(":status", "200"), .variable("apns-request-id"), .fixed("content-type", "application/json"),
    ])
    static let deleted = HTTP2HeaderTemplate([.fixed(":status", "204"), .variable("apns-request-id")])

    private typealias Refusal = (template: HTTP2HeaderTemplate, body: [UInt8])

    private static let refusals = Self.makeRefusals(idName: "apns-id")
    private static let refusalsWithPage = Self.makeRefusals(idName: "apns-id", hasPage: true)
    private static let channelsRefusals = Self.makeRefusals(idName: "apns-request-id")

    private static func makeRefusals(idName: String, hasPage: Bool = false) -> [Reason: Refusal] {
        Dictionary(
            uniqueKeysWithValues: Reason.allCases.map { reason in
                var fields: [HTTP2Field] = [.fixed(":status", String(reason.status)), .variable(idName)]
                if hasPage { fields.append(.variable(Self.pageName)) }
                fields.append(.fixed("content-type", "application/json"))
                return (reason, (HTTP2HeaderTemplate(fields), Array("{\"reason\":\"\(reason.rawValue)\"}".utf8)))
            })
    }

    static func refusal(
        _ reason: Reason, isAboutChannels: Bool, hasPage: Bool, timestampMillis: Int64
    ) -> (template: HTTP2HeaderTemplate, body: [UInt8]) {
        // Each reason is in the table: it was built from all of them.
        let forms =
            isAboutChannels ? Self.channelsRefusals : hasPage ? Self.refusalsWithPage : Self.refusals
        let form = forms[reason] ?? (Self.accepted, [])
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
    /// Tokens whose pushes are answered at once, as indices.
    var answeredTokens: [Int32] = []
    /// The stream limit this connection is to have from now on.
    var concurrentStreamsMax: UInt32 = 0

    mutating func removeAll() {
        self.answers.removeAll(keepingCapacity: true)
        self.effects.removeAll(keepingCapacity: true)
        self.answeredTokens.removeAll(keepingCapacity: true)
    }
}
