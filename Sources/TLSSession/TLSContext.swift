import COpenSSL

/// Which certificate authorities a client believes.
public enum TLSTrustRoots: Equatable, Sendable {
    /// The operating system's, where OpenSSL looks for them (`SSL_CERT_FILE`, `SSL_CERT_DIR` are honoured).
    case system
    /// A file of PEM certificates.
    case file(path: String)
    /// PEM certificates, one or several.
    case pem([UInt8])
}

/// What all TLS sessions of one kind share: trust roots or certificate, protocol versions, ALPN. TLS 1.2 or later, always verified.
///
/// Immutable after `init`; may be used from any thread.
public final class TLSContext: Sendable {
    /// For connections we open: the peer's certificate chain and host name are verified.
    public static func client(roots: TLSTrustRoots = .system, applicationProtocols: [String] = ["h2"]) throws(TLSError) -> TLSContext {
        preconditionFailure("to be filled in")
    }

    /// For connections we accept. `certificateChainPEM`: the leaf first, then intermediates. Without a common application protocol
    /// the handshake fails; an empty list accepts whatever the client offers.
    public static func server(
        certificateChainPEM: [UInt8], privateKeyPEM: [UInt8], applicationProtocols: [String] = ["h2"]
    ) throws(TLSError) -> TLSContext {
        preconditionFailure("to be filled in")
    }
}
