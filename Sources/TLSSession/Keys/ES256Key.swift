import COpenSSL
import Glibc

/// OpenSSL's name for the curve of ES256.
let p256 = "prime256v1"

/// Throws an error unless `key` is an elliptic-curve key on P-256.
private func requireP256(_ key: OpaquePointer) throws(TLSError) {
    guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC else {
        let name = EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "unknown"
        throw TLSError(
            kind: .badKeyMaterial,
            detail: "expected an elliptic-curve key on P-256, as ES256 needs, found a key of the type \(name)")
    }
    var name = [CChar](repeating: 0, count: 64)
    var count = 0
    guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else {
        throw OpenSSLError.make(.badKeyMaterial, "the key names no curve")
    }
    let curve = String(decoding: name[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard curve == p256 else {
        throw TLSError(
            kind: .badKeyMaterial, detail: "expected a key on curve P-256, as ES256 needs, found one on \(curve)")
    }
}

/// A P-256 private key that signs as JWT's ES256 requires (RFC 7518 §3.4). May be used from any thread.
///
/// `@unchecked`: the key never changes. OpenSSL 3 lets several threads use one key at a time, if each has a context of
/// its own.
public final class ES256PrivateKey: @unchecked Sendable {
    let handle: OpaquePointer

    /// Makes a key that owns the handle.
    init(handle: OpaquePointer) { self.handle = handle }

    deinit { EVP_PKEY_free(self.handle) }

    /// Reads a private key in PEM: PKCS#8 (`.p8`, as Apple provides it) or SEC 1. Throws `.badKeyMaterial` if the text
    /// is not a private key, or the key is encrypted or not on P-256.
    public convenience init(pem: [UInt8]) throws(TLSError) {
        guard let handle = PEM.readPrivateKey(pem) else {
            OpenSSLError.clear()
            throw TLSError(
                kind: .badKeyMaterial,
                detail: PEMContent.complaint(
                    expected: "an unencrypted private key in PEM (-----BEGIN PRIVATE KEY-----)", noun: "private key",
                    pem))
        }
        self.init(handle: handle)
        try requireP256(handle)
    }

    /// Makes a new random key.
    public static func generate() throws(TLSError) -> ES256PrivateKey {
        OpenSSLError.clear()
        guard let handle = mailboat_EVP_EC_gen(p256) else {
            throw OpenSSLError.make(.library, "no key can be generated")
        }
        return ES256PrivateKey(handle: handle)
    }

    /// Signs `message` with ECDSA over SHA-256. Returns r and s, 32 bytes each, big-endian. A call takes about 20 µs,
    /// too long for each push.
    public func sign(_ message: [UInt8]) throws(TLSError) -> [UInt8] {
        OpenSSLError.clear()
        guard let context = EVP_MD_CTX_new() else { throw OpenSSLError.make(.library, "no memory to sign") }
        defer { EVP_MD_CTX_free(context) }
        var byteCount = 0
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, self.handle) == 1,
            EVP_DigestSign(context, nil, &byteCount, message, message.count) == 1
        else { throw OpenSSLError.make(.library, "signing failed") }
        var der = [UInt8](repeating: 0, count: byteCount)
        guard EVP_DigestSign(context, &der, &byteCount, message, message.count) == 1,
            let raw = ES256Signature.raw(der: Array(der[..<byteCount]))
        else { throw OpenSSLError.make(.library, "signing failed") }
        return raw
    }

    /// The private key as PEM: PKCS#8 without encryption.
    public func pem() throws(TLSError) -> [UInt8] {
        guard let pem = PEM.writePrivateKey(self.handle) else {
            throw OpenSSLError.make(.library, "the key cannot be written")
        }
        return pem
    }

    /// The public key that belongs to this private key.
    public func publicKey() throws(TLSError) -> ES256PublicKey {
        guard let pem = PEM.writePublicKey(self.handle) else {
            throw OpenSSLError.make(.library, "the public key cannot be written")
        }
        return try ES256PublicKey(pem: pem)
    }
}

/// A P-256 public key that verifies ES256 signatures. May be used from any thread.
///
/// `@unchecked`: the key never changes, as in `ES256PrivateKey`.
public final class ES256PublicKey: @unchecked Sendable {
    private let handle: OpaquePointer

    /// Reads a public key in PEM (SubjectPublicKeyInfo). Throws `.badKeyMaterial` if the text is not a public key, or
    /// the key is not on P-256.
    public init(pem: [UInt8]) throws(TLSError) {
        guard let handle = PEM.readPublicKey(pem) else {
            OpenSSLError.clear()
            throw TLSError(
                kind: .badKeyMaterial,
                detail: PEMContent.complaint(
                    expected: "a public key in PEM (-----BEGIN PUBLIC KEY-----)", noun: "public key", pem))
        }
        self.handle = handle
        try requireP256(handle)
    }

    deinit { EVP_PKEY_free(self.handle) }

    /// Whether `signature` (r and s, 64 bytes) was made for `message` by this key's private key. `false` if it is
    /// malformed.
    public func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let der = ES256Signature.der(raw: signature), let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        // A wrong signature may leave errors in this thread's queue. The next call would take them for its own.
        defer { OpenSSLError.clear() }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, self.handle) == 1
            && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
    }

    /// The public key as PEM.
    public func pem() throws(TLSError) -> [UInt8] {
        guard let pem = PEM.writePublicKey(self.handle) else {
            throw OpenSSLError.make(.library, "the public key cannot be written")
        }
        return pem
    }
}
