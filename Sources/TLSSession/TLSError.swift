/// Why TLS or a key operation failed. The text is for an operator; it never holds key material.
public struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What failed. `TLSError.detail` has the words.
    public enum Kind: Equatable, Sendable {
        /// The PEM given is not what it should be, or does not fit (key and certificate, curve).
        case badKeyMaterial
        /// A file named in the configuration cannot be read or holds no certificate.
        case badTrustRoots
        /// The peer's certificate was not accepted; `verifyCode` is OpenSSL's `X509_V_ERR_…`, `detail` says it in
        /// words.
        case certificateRejected(verifyCode: Int)
        /// The peer ended the handshake or the connection with an alert; the number is RFC 8446 §6's.
        case alertReceived(UInt8)
        /// The peer's application protocols and ours have nothing in common.
        case noApplicationProtocol
        /// The handshake failed for another reason.
        case handshakeFailed
        /// Bytes came that are no valid TLS record.
        case badRecord
        /// The peer closed the transport without close_notify: data may be missing.
        case truncated
        /// OpenSSL failed in a way that names no better kind.
        case library
    }

    /// What failed, for a program to decide by.
    public var kind: Kind
    /// What happened, in words, with OpenSSL's own reason.
    public var detail: String

    public init(kind: Kind, detail: String) {
        self.kind = kind
        self.detail = detail
    }

    public var description: String { self.detail }
}
