import COpenSSL
import Glibc

/// The main fields of a peer's certificate, for people to read.
public struct PeerCertificate: Equatable, Sendable {
    /// The subject, such as `/C=US/O=Apple Inc./CN=api.push.apple.com`.
    public var subject: String
    /// The issuer, who has signed the certificate.
    public var issuer: String
    /// Start of the validity, seconds since 1970.
    public var notBeforeSeconds: Int64
    /// End of the validity, seconds since 1970.
    public var notAfterSeconds: Int64

    public init(subject: String, issuer: String, notBeforeSeconds: Int64, notAfterSeconds: Int64) {
        self.subject = subject
        self.issuer = issuer
        self.notBeforeSeconds = notBeforeSeconds
        self.notAfterSeconds = notAfterSeconds
    }

    /// - Parameter certificate: OpenSSL's certificate, which the caller keeps and frees.
    init(_ certificate: OpaquePointer) {
        self.init(
            subject: Self.text(X509_get_subject_name(certificate)),
            issuer: Self.text(X509_get_issuer_name(certificate)),
            notBeforeSeconds: Self.seconds(X509_get0_notBefore(certificate)),
            notAfterSeconds: Self.seconds(X509_get0_notAfter(certificate)))
    }

    private static func text(_ name: OpaquePointer?) -> String {
        // A name that is longer than the buffer is cut.
        var text = [CChar](repeating: 0, count: 512)
        guard X509_NAME_oneline(name, &text, Int32(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
        var parts = tm()
        guard ASN1_TIME_to_tm(time, &parts) == 1 else { return 0 }
        return Int64(timegm(&parts))
    }
}

extension TLSSession {
    /// The certificate chain that OpenSSL has built from what the peer sent, beginning with the peer's own certificate.
    /// A chain that was not accepted may be incomplete. Empty before verification, and if the peer sent no certificate.
    public var peerCertificates: [PeerCertificate] {
        guard let chain = SSL_get0_verified_chain(self.handle) else { return [] }
        return (0..<OPENSSL_sk_num(chain)).compactMap { index in
            OPENSSL_sk_value(chain, index).map { PeerCertificate(OpaquePointer($0)) }
        }
    }
}
