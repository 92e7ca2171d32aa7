/// Why TLS or a key operation failed. The text is for an operator; it never holds key material.
public struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What failed. `TLSError.detail` has the words.
    public enum Kind: Equatable, Sendable {
        /// The given PEM has the wrong kind, or does not fit (key and certificate, curve).
        case badKeyMaterial
        /// A file named in the configuration cannot be read or contains no certificate.
        case badTrustRoots
        /// The peer's certificate was not accepted. `verifyCode` is OpenSSL's `X509_V_ERR_…`, and `detail` has the
        /// words for it.
        case certificateRejected(verifyCode: Int)
        /// The peer ended the handshake or the connection with an alert; the number is that of RFC 8446 §6.
        case alertReceived(UInt8)
        /// The peer's application protocols and ours have nothing in common.
        case noApplicationProtocol
        /// The handshake failed for another reason.
        case handshakeFailed
        /// Received bytes are not a valid TLS record.
        case badRecord
        /// The peer closed the transport without close_notify: data may be missing.
        case truncated
        /// OpenSSL failed in a way that no other kind describes.
        case library
    }

    /// The kind of the failure, for a program to decide by.
    public var kind: Kind
    /// The failure in words, with OpenSSL's own reason.
    public var detail: String

    public init(kind: Kind, detail: String) {
        self.kind = kind
        self.detail = detail
    }

    public var description: String { self.detail }
}
