/// The result of feeding or draining a session.
public enum HTTP2SessionResult: Equatable, Sendable {
    /// All input was taken, or all output was given. The session continues.
    case ok
    /// The session can no longer be used: nothing more can be read or written. `detail` says why.
    case failed(detail: String)
}

/// The result of `HTTP2ClientSession.submit`.
public enum HTTP2SubmitResult: Equatable, Sendable {
    /// The request is queued; `drain` gives its bytes.
    case submitted(streamID: Int32)
    /// There is no credit: the peer's limit, or our own, is reached. Wait for an event.
    case noCredit
    /// All stream ids of this connection are used (2^30 requests): open another connection.
    case streamIDsExhausted
    /// The connection takes nothing new: GOAWAY was sent or received, or the session failed.
    case closing
    /// The body is longer than `HTTP2ClientSettings.requestBodyByteCountMax`.
    case bodyTooLong(byteCountMax: Int)
    /// The number of values differs from the template's number of variable fields.
    case valueCountMismatch(expected: Int)
}
