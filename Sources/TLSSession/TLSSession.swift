import COpenSSL

/// TLS over bytes, one connection, client or server: no socket, no clock. OpenSSL underneath.
///
/// Confined to one thread or event loop. Feed what came with `receive`, write with `write`, and after each call send off what
/// `drain` gives. A client produces its first bytes with `start`.
public final class TLSSession {
    public enum State: Equatable, Sendable {
        /// Nothing may be written yet.
        case handshaking
        case established
        /// The peer said close_notify: nothing more will come.
        case peerClosed
        /// Beyond use. What `drain` still gives (an alert) may be sent.
        case failed(TLSError)
    }

    /// A client's session. `serverName` is sent as SNI and verified against the certificate; an IP address is verified as such, without SNI.
    public init(client context: TLSContext, serverName: String) throws(TLSError) { preconditionFailure("to be filled in") }

    /// A server's session.
    public init(server context: TLSContext) throws(TLSError) { preconditionFailure("to be filled in") }

    /// Where the session is. Changes only within calls to this object.
    public var state: State { preconditionFailure("to be filled in") }

    /// Begins the handshake: a client's first flight lies ready for `drain`. A server does nothing.
    @discardableResult
    public func start() -> State { preconditionFailure("to be filled in") }

    /// Feeds bytes that came from the peer, any number, cut anywhere, and gives what they decrypt to, in large pieces. A piece lives for the
    /// duration of the call. `plaintext` must not call this object.
    @discardableResult
    public func receive(_ ciphertext: RawSpan, plaintext: (RawSpan) -> Void) -> State { preconditionFailure("to be filled in") }

    /// Says that the peer closed the transport. Without close_notify before, the session fails as `.truncated`.
    @discardableResult
    public func transportClosed() -> State { preconditionFailure("to be filled in") }

    /// Encrypts all of `plaintext`, in records as large as TLS allows: give it much at once. `false` when not established.
    @discardableResult
    public func write(_ plaintext: RawSpan) -> Bool { preconditionFailure("to be filled in") }

    /// Queues close_notify.
    public func shutdown() { preconditionFailure("to be filled in") }

    /// Bytes waiting to be sent to the peer.
    public var ciphertextByteCount: Int { preconditionFailure("to be filled in") }

    /// Moves waiting bytes into `buffer`, from its start, and returns how many.
    public func drain(into buffer: UnsafeMutableRawBufferPointer) -> Int { preconditionFailure("to be filled in") }

    /// Lends all waiting bytes to `body` and then forgets them: one copy less than a `drain` that is copied on.
    public func takeCiphertext<Result>(_ body: (RawSpan) -> Result) -> Result { preconditionFailure("to be filled in") }

    /// The protocol agreed on by ALPN, such as "h2"; `nil` before the handshake's end or without one.
    public var applicationProtocol: String? { preconditionFailure("to be filled in") }

    /// Such as "TLSv1.3"; `nil` before the handshake's end.
    public var protocolVersion: String? { preconditionFailure("to be filled in") }
}
