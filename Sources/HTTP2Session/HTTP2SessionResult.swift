/// What feeding or draining a session came to.
public enum HTTP2SessionResult: Equatable, Sendable {
    /// Everything given was taken, or everything asked for was given; the session goes on.
    case ok
    /// The session is beyond use: nothing more can be read or written. `detail` says why.
    case failed(detail: String)
}

/// What became of a request handed to `HTTP2ClientSession.submit`.
public enum HTTP2SubmitResult: Equatable, Sendable {
    /// Queued; `drain` gives its bytes.
    case submitted(streamID: Int32)
    /// The peer's limit, or our own, is reached: no credit. Wait for an event.
    case noCredit
    /// All stream ids of this connection are used (2^30 requests): open another connection.
    case streamIDsExhausted
    /// GOAWAY came or went, or the session failed: this connection takes nothing new.
    case closing
    /// The body is longer than `HTTP2ClientSettings.requestBodyByteCountMax`.
    case bodyTooLong(byteCountMax: Int)
    /// The number of values is not the template's number of variable fields.
    case valueCountMismatch(expected: Int)
}
