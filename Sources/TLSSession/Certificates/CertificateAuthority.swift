import COpenSSL

/// A certificate with its key, as PEM.
public struct CertificateAndKey: Sendable {
    /// The leaf, followed by the authority that signed it.
    public var chainPEM: [UInt8]
    public var privateKeyPEM: [UInt8]
}

/// A throwaway certificate authority on P-256, for simulators and tests: nothing is kept but in memory. May be used from any thread.
public final class CertificateAuthority: Sendable {
    /// Makes a self-signed authority. Times in seconds since 1970.
    public init(commonName: String = "Mailboat test authority", notBeforeSeconds: Int64, notAfterSeconds: Int64) throws(TLSError) {
        preconditionFailure("to be filled in")
    }

    /// The authority's certificate, for `TLSTrustRoots.pem` or a file.
    public var certificatePEM: [UInt8] { preconditionFailure("to be filled in") }

    /// Makes a server certificate with a new key. `names`: DNS names and IP addresses of its subjectAltName. Times in seconds since 1970.
    public func issue(
        names: [String] = ["localhost", "127.0.0.1", "::1"], notBeforeSeconds: Int64, notAfterSeconds: Int64
    ) throws(TLSError) -> CertificateAndKey {
        preconditionFailure("to be filled in")
    }
}
