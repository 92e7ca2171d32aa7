import COpenSSL
import Glibc
public import Redaction

/// A certificate chain and the private key that belongs to it, as PEM.
public struct CertificateAndKey: Sendable {
    /// The server's certificate, followed by the authority's.
    public var chainPEM: [UInt8]
    /// The private key of the server's certificate, as PKCS #8.
    public var privateKeyPEM: [UInt8]

    public init(chainPEM: [UInt8], privateKeyPEM: [UInt8]) {
        self.chainPEM = chainPEM
        self.privateKeyPEM = privateKeyPEM
    }
}

/// A certificate authority for simulators and tests. It uses P-256, and its key is kept only in memory. It may be used
/// from any thread.
public final class CertificateAuthority: Sendable {
    /// The authority's certificate, for `TLSTrustRoots.pem` or a file.
    public let certificatePEM: [UInt8]
    private let key: ES256PrivateKey

    /// Makes a self-signed authority. Times are in seconds since 1970. Throws `.library` if OpenSSL fails.
    public init(commonName: String = "Mailboat test authority", notBeforeSeconds: Int64, notAfterSeconds: Int64)
        throws(TLSError)
    {
        self.key = try ES256PrivateKey.generate()
        self.certificatePEM = try makeCertificate(
            CertificateRequest(
                commonName: commonName, notBeforeSeconds: notBeforeSeconds, notAfterSeconds: notAfterSeconds,
                extensions: [
                    (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
                    (NID_subject_key_identifier, "hash"),
                ]),
            key: self.key, issuerPEM: nil, issuerKey: self.key)
    }

    /// Makes a server certificate with a new key. `names` are DNS names and IP addresses for its subjectAltName, at
    /// least one. Times are in seconds since 1970. Throws `.badKeyMaterial` if `names` is empty, or if a name is
    /// neither a DNS name nor an IP address. Throws `.library` if OpenSSL fails.
    public func issue(
        names: [String] = ["localhost", "127.0.0.1", "::1"], notBeforeSeconds: Int64, notAfterSeconds: Int64
    ) throws(TLSError) -> CertificateAndKey {
        guard let first = names.first else {
            throw TLSError(kind: .badKeyMaterial, detail: "a server certificate needs a name")
        }
        var alternatives: [String] = []
        for name in names { alternatives.append(try alternativeName(name)) }
        let leafKey = try ES256PrivateKey.generate()
        let leaf = try makeCertificate(
            CertificateRequest(
                commonName: first, notBeforeSeconds: notBeforeSeconds, notAfterSeconds: notAfterSeconds,
                extensions: [
                    (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
                    (NID_ext_key_usage, "serverAuth"), (NID_subject_key_identifier, "hash"),
                    (NID_authority_key_identifier, "keyid"),
                    (NID_subject_alt_name, alternatives.joined(separator: ",")),
                ]),
            key: leafKey, issuerPEM: self.certificatePEM, issuerKey: self.key)
        return CertificateAndKey(chainPEM: leaf + self.certificatePEM, privateKeyPEM: try leafKey.pem())
    }
}

/// The content of a certificate. The values of extensions are written as in openssl.cnf.
private struct CertificateRequest {
    var commonName: String
    var notBeforeSeconds: Int64
    var notAfterSeconds: Int64
    var extensions: [(nid: Int32, value: String)]
}

/// Writes a name as an entry of subjectAltName. A DNS name may have only letters, digits, `.`, `-`, `_` and `*`,
/// because OpenSSL reads the text as a list.
private func alternativeName(_ name: String) throws(TLSError) -> String {
    var address = in6_addr()
    if inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1 { return "IP:" + name }
    let allowed = name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "*"):
            true
        default: false
        }
    }
    guard allowed, !name.isEmpty, name.utf8.count <= 253 else {
        throw TLSError(kind: .badKeyMaterial, detail: "\"\(name)\" is neither a DNS name nor an IP address")
    }
    return "DNS:" + name
}

/// Makes and signs a certificate, and returns it as PEM. It is self-signed if `issuerPEM` is `nil`.
private func makeCertificate(
    _ request: CertificateRequest, key: ES256PrivateKey, issuerPEM: [UInt8]?, issuerKey: ES256PrivateKey
) throws(TLSError) -> [UInt8] {
    OpenSSLError.clear()
    guard let certificate = X509_new() else { throw OpenSSLError.make(.library, "no memory for a certificate") }
    defer { X509_free(certificate) }
    let issuers = issuerPEM.map { PEM.readCertificates($0) } ?? []
    defer { for issuer in issuers { X509_free(issuer) } }
    let issuer = issuers.first ?? certificate

    var serial: UInt64 = 0
    let random = withUnsafeMutableBytes(of: &serial) {
        RAND_bytes($0.baseAddress?.assumingMemoryBound(to: UInt8.self), 8)
    }
    // A serial number must be positive (RFC 5280 §4.1.2.2).
    let name = Array(request.commonName.utf8)
    guard random == 1,
        X509_set_version(certificate, 2) == 1,
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1 | 1) == 1,
        ASN1_TIME_set(X509_getm_notBefore(certificate), time_t(request.notBeforeSeconds)) != nil,
        ASN1_TIME_set(X509_getm_notAfter(certificate), time_t(request.notAfterSeconds)) != nil,
        X509_set_pubkey(certificate, key.handle) == 1,
        X509_NAME_add_entry_by_NID(
            X509_get_subject_name(certificate), NID_commonName, MBSTRING_UTF8, name,
            Int32(truncatingIfNeeded: name.count), -1, 0) == 1,
        X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1
    else { throw OpenSSLError.make(.library, "a certificate cannot be made") }
    for (nid, value) in request.extensions {
        guard mailboat_X509_add_extension(certificate, issuer, nid, value) == 1 else {
            throw OpenSSLError.make(.library, "the certificate extension \"\(value)\" cannot be added")
        }
    }
    guard X509_sign(certificate, issuerKey.handle, EVP_sha256()) > 0, let pem = PEM.writeCertificate(certificate) else {
        throw OpenSSLError.make(.library, "a certificate cannot be signed")
    }
    return pem
}

extension CertificateAndKey: Redacted {}
