/// Why TLS or an operation on a key failed. The text is for an operator, and never contains key material.
public struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What failed. `TLSError.detail` says it in words.
    public enum Kind: Equatable, Sendable {
        /// A given key or certificate cannot be used. It may be of the wrong kind or on another curve, or key and
        /// certificate do not belong together.
        case badKeyMaterial
        /// The certificate authorities cannot be read, or the given file or text contains none.
        case badTrustRoots
        /// The peer's certificate was not accepted. `verifyCode` is OpenSSL's `X509_V_ERR_…`; `detail` explains it.
        case certificateRejected(verifyCode: Int)
        /// The peer ended the handshake or the connection with an alert. The value is the alert's number in RFC 8446
        /// §6.
        case alertReceived(UInt8)
        /// The peer supports none of our application protocols.
        case noApplicationProtocol
        /// The handshake failed for another reason.
        case handshakeFailed
        /// Received bytes are not a valid TLS record.
        case badRecord
        /// The peer closed the transport without close_notify, so data may be missing.
        case truncated
        /// OpenSSL failed in a way that no other kind describes.
        case library
    }

    /// The kind of the failure, by which a program can decide.
    public var kind: Kind
    /// The failure in words, with OpenSSL's own reason.
    public var detail: String

    public init(kind: Kind, detail: String) {
        self.kind = kind
        self.detail = detail
    }

    public var description: String { self.detail }
}
