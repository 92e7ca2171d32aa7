import COpenSSL

/// The TLS session of one connection, for a client or a server. It works on bytes alone and has no socket. It checks
/// certificates' dates against the system's clock. It uses OpenSSL.
///
/// It is confined to one thread or event loop. Pass received bytes to `receive` and plaintext to `write`. After each
/// call, send the bytes that `takeCiphertext` returns. A client begins with `start`.
public final class TLSSession {
    /// The progress of a session.
    public enum State: Equatable, Sendable {
        /// The handshake has not finished, and nothing may be written yet.
        case handshaking
        /// The handshake has finished, and plaintext can be sent and received.
        case established
        /// The peer has sent close_notify, so nothing more will arrive.
        case peerClosed
        /// The session has failed. Bytes that `takeCiphertext` still returns, such as an alert, may be sent.
        case failed(TLSError)
    }

    /// Maximum size of a piece of received plaintext, bytes: four records.
    private static let plaintextByteCountMax = 64 * 1024
    /// Maximum number of bytes of plaintext in one record.
    private static let recordByteCountMax = 16 * 1024

    /// The session's state. It changes only during calls to this object.
    public private(set) var state: State = .handshaking

    /// The shared settings. OpenSSL's callbacks point to the context, so the session holds it.
    private let context: TLSContext
    let handle: OpaquePointer
    private let bytes: UnsafeMutablePointer<TLSBytes>
    private let plaintext: UnsafeMutableRawBufferPointer
    private var closeSent = false

    private init(_ context: TLSContext) throws(TLSError) {
        OpenSSLError.clear()
        guard let handle = SSL_new(context.handle), let bio = BIO_new(TLSBytes.method) else {
            throw OpenSSLError.make(.library, "no TLS session can be made")
        }
        self.context = context
        self.handle = handle
        self.bytes = .allocate(capacity: 1)
        self.bytes.initialize(to: TLSBytes())
        self.plaintext = .allocate(byteCount: Self.plaintextByteCountMax, alignment: 16)
        BIO_set_data(bio, self.bytes)
        // From here on the session owns the BIO.
        SSL_set_bio(handle, bio, bio)
    }

    deinit {
        SSL_free(self.handle)
        self.bytes.deinitialize(count: 1)
        self.bytes.deallocate()
        self.plaintext.deallocate()
    }

    /// Makes a client's session. `serverName` is sent as SNI, and the certificate must have this name. An IP address is
    /// verified as an address, without SNI. Throws `.library` if the name is empty or contains a NUL, because OpenSSL
    /// would not verify it.
    public convenience init(client context: TLSContext, serverName: String) throws(TLSError) {
        precondition(!context.isServer, "a client's session needs a client's context")
        let name = serverName.hasSuffix(".") ? String(serverName.dropLast()) : serverName
        guard !name.isEmpty, !name.utf8.contains(0) else {
            throw TLSError(
                kind: .library,
                detail: "the server name \"\(serverName)\" cannot be verified (expected: a host name or IP address)")
        }
        try self.init(context)
        SSL_set_connect_state(self.handle)
        SSL_set_hostflags(self.handle, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        guard X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(self.handle), name) != 1 else { return }
        OpenSSLError.clear()
        guard SSL_set1_host(self.handle, name) == 1, mailboat_SSL_set_tlsext_host_name(self.handle, name) == 1 else {
            throw OpenSSLError.make(.library, "the server name \"\(name)\" cannot be used")
        }
    }

    /// Makes a server's session.
    public convenience init(server context: TLSContext) throws(TLSError) {
        precondition(context.isServer, "a server's session needs a server's context")
        try self.init(context)
        SSL_set_accept_state(self.handle)
    }

    // MARK: From the peer

    /// Begins the handshake. A client's first bytes can then be taken. On a server it has no effect.
    @discardableResult
    public func start() -> State {
        if self.state == .handshaking { self.shakeHands() }
        return self.state
    }

    /// Takes any number of bytes from the peer, split anywhere, and passes the decrypted bytes to `plaintext` in large
    /// pieces. A piece is valid only during the call of `plaintext`, which must not call this object.
    @discardableResult
    public func receive(_ ciphertext: RawSpan, plaintext: (RawSpan) -> Void) -> State {
        ciphertext.withUnsafeBytes { input in
            // OpenSSL reads all the input before it asks for more. So nothing is left of the input when the call
            // succeeds.
            self.bytes.pointee.input = input
            if self.state == .handshaking { self.shakeHands() }
            while self.state == .established, self.read(plaintext) {}
            self.bytes.pointee.input = nil
        }
        return self.state
    }

    private func shakeHands() {
        OpenSSLError.clear()
        let result = SSL_do_handshake(self.handle)
        guard result == 1 else {
            switch SSL_get_error(self.handle, result) {
            case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return
            default: return self.state = .failed(self.handshakeError())
            }
        }
        guard self.context.applicationProtocols.isEmpty || self.applicationProtocol != nil else {
            return self.state = .failed(self.noCommonProtocol())
        }
        self.state = .established
    }

    /// Decrypts one piece and passes it to `body`. Returns `false` if no more can be read now.
    private func read(_ body: (RawSpan) -> Void) -> Bool {
        var count = 0
        var result: Int32 = 1
        OpenSSLError.clear()
        while result == 1, self.plaintext.count - count >= Self.recordByteCountMax {
            var read = 0
            result = SSL_read_ex(self.handle, self.plaintext.baseAddress! + count, self.plaintext.count - count, &read)
            count += result == 1 ? read : 0
        }
        // The error is read before `body` is called, because `body` may use OpenSSL on this thread.
        let reason = result == 1 ? SSL_ERROR_NONE : SSL_get_error(self.handle, result)
        let failure = reason == SSL_ERROR_SSL || reason == SSL_ERROR_SYSCALL ? self.readError() : nil
        if count > 0 { body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: self.plaintext[..<count]))) }
        switch reason {
        case SSL_ERROR_NONE: return true
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return false
        case SSL_ERROR_ZERO_RETURN: self.state = .peerClosed
        default:
            self.state = .failed(failure ?? TLSError(kind: .library, detail: "TLS read failed with code \(reason)"))
        }
        return false
    }

    /// Tells the session that the transport was closed. Without an earlier close_notify, the session fails as
    /// `.truncated`.
    @discardableResult
    public func transportClosed() -> State {
        switch self.state {
        case .handshaking:
            self.state = .failed(
                TLSError(kind: .truncated, detail: "the connection was closed during the TLS handshake"))
        case .established:
            self.state = .failed(
                TLSError(kind: .truncated, detail: "the connection was closed without TLS close_notify"))
        case .peerClosed, .failed: break
        }
        return self.state
    }

    // MARK: To the peer

    /// Encrypts all of `plaintext`, in records as large as TLS allows, so large pieces are cheaper. Returns `false` if
    /// the session is not established, or after `shutdown`.
    @discardableResult
    public func write(_ plaintext: RawSpan) -> Bool {
        guard self.state == .established, !self.closeSent else { return false }
        guard plaintext.byteCount > 0 else { return true }
        OpenSSLError.clear()
        var written = 0
        let result = plaintext.withUnsafeBytes { SSL_write_ex(self.handle, $0.baseAddress, $0.count, &written) }
        // A write never waits, because the BIO accepts everything and renegotiation is off.
        guard result == 1, written == plaintext.byteCount else {
            self.state = .failed(OpenSSLError.make(.library, "TLS write failed"))
            return false
        }
        return true
    }

    /// Queues close_notify. Received bytes can still be read. Further calls do nothing.
    public func shutdown() {
        guard !self.closeSent else { return }
        switch self.state {
        case .established, .peerClosed:
            self.closeSent = true
            OpenSSLError.clear()
            SSL_shutdown(self.handle)
            OpenSSLError.clear()
        case .handshaking, .failed: break
        }
    }

    /// Number of bytes that must still be sent to the peer.
    public var ciphertextByteCount: Int { self.bytes.pointee.outputByteCount }

    /// Moves bytes for the peer to the start of `buffer`, and returns their number.
    public func drain(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let start = self.bytes.pointee.outputTaken
        let count = min(buffer.count, self.bytes.pointee.outputByteCount)
        guard count > 0 else { return 0 }
        self.bytes.pointee.output.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count]))
        }
        self.bytes.pointee.outputTaken += count
        if self.bytes.pointee.outputByteCount == 0 { self.bytes.pointee.forgetOutput() }
        return count
    }

    /// Passes all bytes for the peer to `body`, and then removes them. Unlike `drain`, it does not copy them. `body`
    /// must not call this object.
    public func takeCiphertext<Result>(_ body: (RawSpan) -> Result) -> Result {
        let start = self.bytes.pointee.outputTaken
        let result = self.bytes.pointee.output.withUnsafeBytes {
            body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: $0[start...])))
        }
        self.bytes.pointee.forgetOutput()
        return result
    }

    // MARK: Agreed parameters

    /// The application protocol that ALPN has agreed on, such as "h2". `nil` before the end of the handshake, or if
    /// there is none.
    public var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(self.handle, &name, &count)
        guard let name, count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    /// The version of TLS, such as "TLSv1.3"; `nil` before the end of the handshake.
    public var protocolVersion: String? {
        guard SSL_is_init_finished(self.handle) == 1 else { return nil }
        return String(cString: SSL_get_version(self.handle))
    }

    // MARK: Errors

    /// OpenSSL's reason for an alert of the peer is this number plus the alert's number.
    private static let alertReasonBase: Int32 = 1_000

    private func noCommonProtocol() -> TLSError {
        TLSError(
            kind: .noApplicationProtocol,
            detail:
                "the peer does not speak \(self.context.applicationProtocols.joined(separator: " or ")) (nothing agreed on by ALPN)"
        )
    }

    private func handshakeError() -> TLSError {
        let verifyCode = SSL_get_verify_result(self.handle)
        let (reason, text) = OpenSSLError.take()
        if reason == SSL_R_CERTIFICATE_VERIFY_FAILED {
            return TLSError(
                kind: .certificateRejected(verifyCode: verifyCode),
                detail: "the server's certificate is not accepted: "
                    + String(cString: X509_verify_cert_error_string(verifyCode)))
        }
        if reason == SSL_R_NO_APPLICATION_PROTOCOL || reason == Self.alertReasonBase + SSL_AD_NO_APPLICATION_PROTOCOL {
            return self.noCommonProtocol()
        }
        if let alert = Self.alert(reason) {
            return TLSError(
                kind: .alertReceived(alert), detail: "the peer ended the TLS handshake with alert \(alert): \(text)")
        }
        return TLSError(kind: .handshakeFailed, detail: "the TLS handshake failed: " + text)
    }

    private func readError() -> TLSError {
        let (reason, text) = OpenSSLError.take()
        if let alert = Self.alert(reason) {
            return TLSError(
                kind: .alertReceived(alert), detail: "the peer ended the TLS connection with alert \(alert): \(text)")
        }
        return TLSError(kind: .badRecord, detail: "the peer sent bytes that are no valid TLS record: " + text)
    }

    private static func alert(_ reason: Int32) -> UInt8? {
        guard reason >= Self.alertReasonBase else { return nil }
        return UInt8(exactly: reason - Self.alertReasonBase)
    }
}
