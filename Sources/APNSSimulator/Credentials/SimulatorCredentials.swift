public import Redaction
public import TLSSession

/// The simulator's certificate for TLS, signed by an authority of its own.
public struct SimulatorCredentials: Sendable {
    /// The authority, for the client's trust roots.
    public var authorityPEM: [UInt8]
    /// The server's certificate, followed by the authority's certificate, and the server's private key.
    public var certificate: CertificateAndKey

    public init(authorityPEM: [UInt8], certificate: CertificateAndKey) {
        self.authorityPEM = authorityPEM
        self.certificate = certificate
    }

    /// Validity of a generated certificate, seconds.
    public static let validSeconds: Int64 = 30 * 86_400

    /// Makes an authority and a certificate for `names`. They are valid from an hour before `nowSeconds` (seconds since
    /// 1970) until 30 days after it.
    public static func generate(
        names: [String] = ["localhost", "127.0.0.1", "::1"], nowSeconds: Int64
    ) throws(TLSError) -> SimulatorCredentials {
        let (from, until) = (nowSeconds - 3_600, nowSeconds + Self.validSeconds)
        let authority = try CertificateAuthority(
            commonName: "Mailboat simulator authority", notBeforeSeconds: from, notAfterSeconds: until)
        let certificate = try authority.issue(names: names, notBeforeSeconds: from, notAfterSeconds: until)
        return SimulatorCredentials(authorityPEM: authority.certificatePEM, certificate: certificate)
    }
}

extension SimulatorCredentials: Redacted {}
