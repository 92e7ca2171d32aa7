/// The result of `HTTP2Endpoint.receive`.
public enum HTTP2SessionResult: Equatable, Sendable {
    /// All bytes were taken. The session continues.
    case ok
    /// The session has failed, and can neither read nor write. `detail` says why.
    case failed(detail: String)
}

/// The result of `HTTP2ClientSession.submit`.
public enum HTTP2SubmitResult: Equatable, Sendable {
    /// The request is queued; `drain` gives its bytes.
    case submitted(streamID: Int32)
    /// There is no credit: the peer's limit of open streams, or our own, is reached. Try again after an event.
    case noCredit
    /// The connection has used all its stream ids (2^30 requests). Open another connection.
    case streamIDsExhausted
    /// No requests are accepted any longer: GOAWAY was sent or received, or the session failed.
    case closing
    /// The body is longer than `HTTP2ClientSettings.requestBodyByteCountMax`.
    case bodyTooLong(byteCountMax: Int)
    /// The number of values differs from the template's number of variable fields.
    case valueCountMismatch(expected: Int)
}
