public import PushModel

/// What became of one push attempt, as the transport reports it.
public struct PushAnswer: Sendable, Equatable {
    /// How an attempt ended.
    public enum Result: Sendable, Equatable {
        /// Another status than 200 came.
        case response(PushResponse)
        /// 200, the common case.
        case accepted
        /// Another request than a push succeeded.
        case channel(ChannelAnswer)
        /// REFUSED_STREAM, above GOAWAY's last stream, or never written: APNs did not process it.
        case notProcessed
        /// Connection lost, reset or timed out after the request left: nobody knows.
        case unknown(detail: String)
    }
    /// The attempt that it answers, as `PushRequest.id` named it.
    public var id: PushID
    /// How the attempt ended.
    public var result: Result
    /// From the request's headers leaving to this answer, in microseconds.
    public var apnsMicros: Int64

    /// An answer to the attempt `id`; `apnsMicros` in microseconds.
    public init(id: PushID, result: Result, apnsMicros: Int64) {
        self.id = id
        self.result = result
        self.apnsMicros = apnsMicros
    }
}

/// What APNs said to a request about channels that succeeded.
public struct ChannelAnswer: Sendable, Equatable {
    /// The HTTP status, 200 to 299.
    public var status: UInt16
    /// `apns-channel-id` of the answer, base64; empty: it had none.
    public var channelID: [UInt8]
    /// JSON, as it came; empty: there was none.
    public var body: [UInt8]
    /// The body was longer than `ChannelRequest.answerByteCountMax`: its end is missing.
    public var isCut: Bool

    /// All as the answer has them.
    public init(status: UInt16, channelID: [UInt8], body: [UInt8], isCut: Bool = false) {
        self.status = status
        self.channelID = channelID
        self.body = body
        self.isCut = isCut
    }
}

/// A status other than 200, and what it means: judged once, where it comes in.
public struct PushResponse: Sendable, Equatable {
    /// The HTTP status, never 200.
    public let status: UInt16
    /// Empty: there was none.
    public let reason: String
    /// What the answer's `retry-after` asked for, in seconds; `nil`: it had none.
    public let retryAfterSeconds: Int64?
    /// What `ReasonTable` makes of the answer. Nobody else looks at status and reason to decide.
    public let verdict: Verdict

    /// `timestampMillis`: `timestamp` of the body, with 410.
    public init(status: UInt16, reason: String, timestampMillis: Int64? = nil, retryAfterSeconds: Int64? = nil) {
        self.status = status
        self.reason = reason
        self.retryAfterSeconds = retryAfterSeconds
        self.verdict = ReasonTable.verdict(status: status, reason: reason, timestampMillis: timestampMillis)
    }
}
