public import PushModel

/// What became of one push attempt, as the transport reports it.
public struct PushAnswer: Sendable, Equatable {
    public enum Result: Sendable, Equatable {
        /// Another status than 200 came.
        case response(PushResponse)
        /// 200, the common case.
        case accepted
        /// REFUSED_STREAM, above GOAWAY's last stream, or never written: APNs did not process it.
        case notProcessed
        /// Connection lost, reset or timed out after the request left: nobody knows.
        case unknown(detail: String)
    }
    public var id: PushID
    public var result: Result
    /// From the request's headers leaving to this answer, in microseconds.
    public var apnsMicros: Int64

    public init(id: PushID, result: Result, apnsMicros: Int64) {
        self.id = id
        self.result = result
        self.apnsMicros = apnsMicros
    }
}

/// A status other than 200, and what it means: judged once, where it comes in.
public struct PushResponse: Sendable, Equatable {
    public let status: UInt16
    /// Empty: there was none.
    public let reason: String
    public let retryAfterSeconds: Int64?
    public let verdict: Verdict

    /// `timestampMillis`: `timestamp` of the body, with 410.
    public init(status: UInt16, reason: String, timestampMillis: Int64? = nil, retryAfterSeconds: Int64? = nil) {
        self.status = status
        self.reason = reason
        self.retryAfterSeconds = retryAfterSeconds
        self.verdict = ReasonTable.verdict(status: status, reason: reason, timestampMillis: timestampMillis)
    }
}
