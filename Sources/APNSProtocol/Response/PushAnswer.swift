public import PushModel

/// The result of one push attempt, as the transport reports it.
public struct PushAnswer: Sendable, Equatable {
    /// How an attempt ended.
    public enum Result: Sendable, Equatable {
        /// APNs answered a status other than 200.
        case response(PushResponse)
        /// APNs answered 200, the common case.
        case accepted
        /// A request about channels succeeded.
        case channel(ChannelAnswer)
        /// APNs did not process the request. The request got REFUSED_STREAM, was above GOAWAY's last stream, or was
        /// never written. Or its connection was too old to know the app's topic.
        case notProcessed
        /// After the request had left, the connection was lost, the stream was reset, or no answer arrived in time. It
        /// is unknown whether APNs processed the request.
        case unknown(detail: String)
    }
    /// The attempt that is answered, from `PushRequest.id`.
    public var id: PushID
    /// How the attempt ended.
    public var result: Result
    /// Microseconds from the departure of the request's headers to this answer.
    public var apnsMicros: Int64

    /// An answer to the attempt `id`; `apnsMicros` in microseconds.
    public init(id: PushID, result: Result, apnsMicros: Int64) {
        self.id = id
        self.result = result
        self.apnsMicros = apnsMicros
    }
}

/// APNs' answer to a successful request about channels.
public struct ChannelAnswer: Sendable, Equatable {
    /// The HTTP status, 200 to 299.
    public var status: UInt16
    /// `apns-channel-id` of the answer, base64; empty without one.
    public var channelID: [UInt8]
    /// The JSON body, unchanged; empty without one.
    public var body: [UInt8]
    /// Whether the end of the body is missing, because the body was longer than
    /// `ChannelRequest.answerByteCountMax(_:)`.
    public var isCut: Bool

    /// An answer with these parts.
    public init(status: UInt16, channelID: [UInt8], body: [UInt8], isCut: Bool = false) {
        self.status = status
        self.channelID = channelID
        self.body = body
        self.isCut = isCut
    }
}

/// A status other than 200, with its verdict. The verdict is decided once, when the answer arrives.
public struct PushResponse: Sendable, Equatable {
    /// The HTTP status, never 200.
    public let status: UInt16
    /// The reason in the body; empty without one.
    public let reason: String
    /// The answer's `retry-after` in seconds; `nil` without one.
    public let retryAfterSeconds: Int64?
    /// The verdict of `ReasonTable` for status and reason.
    public let verdict: Verdict

    /// - Parameter timestampMillis: `timestamp` of the body, with 410.
    public init(status: UInt16, reason: String, timestampMillis: Int64? = nil, retryAfterSeconds: Int64? = nil) {
        self.status = status
        self.reason = reason
        self.retryAfterSeconds = retryAfterSeconds
        self.verdict = ReasonTable.verdict(status: status, reason: reason, timestampMillis: timestampMillis)
    }
}
