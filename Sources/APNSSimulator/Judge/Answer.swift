import HTTP2Session

/// One answer to send. It is a plain value, except for `prepared`, which is rare.
struct Answer {
    var streamID: Int32
    /// Whether this answers a broadcast or a request about channels. Its id is then in `apns-request-id` instead of
    /// `apns-id`.
    var isAboutChannels = false
    /// The reason of a refusal; `nil` for success.
    var reason: Reason?
    /// The content of a successful answer.
    var success = Success.push
    var messageID: (UInt64, UInt64)
    /// The `timestamp` of a 410, milliseconds since 1970.
    var timestampMillis: Int64 = 0
    /// The answer of a fault, or `AnswerForms.fieldsTooLarge`; `nil` if `reason` gives the answer.
    var prepared: PreparedAnswer?
    /// Index of the token that was pushed to; -1 if it is unknown.
    var token: Int32 = -1
    /// Whether no observer wanted to see the push.
    var isPassedOver = false

    /// HTTP status of the answer to a push.
    var status: Int { self.prepared?.status ?? self.reason?.status ?? 200 }
}

/// The content of a successful answer, apart from its id.
enum Success {
    /// 200.
    case push
    /// 200, with an `apns-unique-id`.
    case broadcast(uniqueID: (UInt64, UInt64))
    /// 201, with the new channel's id.
    case created(channelID: [UInt8])
    /// 200, with this body: a channel's settings, or the list of channels. It may be empty.
    case body([UInt8])
    /// 204.
    case deleted
}

/// An answer that a fault requests, or `AnswerForms.fieldsTooLarge`. It may have any status and any body.
final class PreparedAnswer: Sendable {
    let status: Int
    /// The answer's name in the statistics.
    let name: String
    /// The answer's name, unless that is only its status; then empty.
    var reason: String { self.name == String(self.status) ? "" : self.name }
    private let template: HTTP2HeaderTemplate
    private let channelsTemplate: HTTP2HeaderTemplate
    private let pageTemplate: HTTP2HeaderTemplate
    let body: [UInt8]
    /// Whether the answer has an id, which differs from request to request.
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

    /// - Parameter hasPage: whether the address of a page follows the id. Ignored for answers about channels.
    func template(isAboutChannels: Bool, hasPage: Bool) -> HTTP2HeaderTemplate {
        if isAboutChannels { return self.channelsTemplate }
        return hasPage ? self.pageTemplate : self.template
    }
}

/// Header templates and bodies of Apple's own answers, made once.
enum AnswerForms {
    /// The answer to a field list above SETTINGS_MAX_HEADER_LIST_SIZE. Apple names no reason, but HTTP has a status
    /// (RFC 9113 §10.5.1, RFC 6585 §5).
    static let fieldsTooLarge = PreparedAnswer(
        status: 431, name: "RequestHeaderFieldsTooLarge", body: [], retryAfterSeconds: nil)

    /// The field with the address at which a person can look at the push.
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
        // Each reason is in the table, which was built from all of them.
        let forms =
            isAboutChannels ? Self.channelsRefusals : hasPage ? Self.refusalsWithPage : Self.refusals
        let form = forms[reason] ?? (Self.accepted, [])
        guard reason.status == 410 else { return form }
        return (form.template, Array("{\"reason\":\"\(reason.rawValue)\",\"timestamp\":\(timestampMillis)}".utf8))
    }
}

/// The results of a batch of requests. It is reused and keeps its memory.
struct Rulings {
    /// An effect on a stream or connection, instead of an answer or beside it.
    enum Effect {
        case reset(streamID: Int32, HTTP2ErrorCode)
        case cut
        case goAway(GoAway)
        /// Frames written by hand, after everything that waits to be written.
        case half(streamID: Int32, OddAnswer)
        case then(ConnectionAction)
    }

    /// Answers, each with its delay in nanoseconds.
    var answers: [(answer: Answer, delayNanos: Int64)] = []
    var effects: [Effect] = []
    /// Indices of tokens whose pushes are answered at once.
    var answeredTokens: [Int32] = []
    /// The stream limit of this connection from now on.
    var concurrentStreamsMax: UInt32 = 0

    mutating func removeAll() {
        self.answers.removeAll(keepingCapacity: true)
        self.effects.removeAll(keepingCapacity: true)
        self.answeredTokens.removeAll(keepingCapacity: true)
    }
}
