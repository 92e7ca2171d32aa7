import COpenSSL

/// A P-256 private key that signs as JWT's ES256 demands (RFC 7518 §3.4). May be used from any thread.
public final class ES256PrivateKey: Sendable {
    /// Reads a PEM private key: PKCS#8 (`.p8`, as Apple gives it) or SEC 1. Throws `.badKeyMaterial` when it is none, or not on P-256.
    public init(pem: [UInt8]) throws(TLSError) { preconditionFailure("to be filled in") }

    /// A new key.
    public static func generate() throws(TLSError) -> ES256PrivateKey { preconditionFailure("to be filled in") }

    /// SHA-256 and ECDSA over `message`: r and s, 32 bytes each, big-endian. About 20 µs: off the hot path.
    public func sign(_ message: [UInt8]) throws(TLSError) -> [UInt8] { preconditionFailure("to be filled in") }

    /// The key as unencrypted PKCS#8 PEM.
    public func pem() throws(TLSError) -> [UInt8] { preconditionFailure("to be filled in") }

    /// The public half.
    public func publicKey() throws(TLSError) -> ES256PublicKey { preconditionFailure("to be filled in") }
}

/// A P-256 public key that verifies ES256 signatures. May be used from any thread.
public final class ES256PublicKey: Sendable {
    /// Reads a PEM public key (SubjectPublicKeyInfo). Throws `.badKeyMaterial` when it is none, or not on P-256.
    public init(pem: [UInt8]) throws(TLSError) { preconditionFailure("to be filled in") }

    /// `true` when `signature` (r and s, 64 bytes) is the key's over `message`. Anything malformed is `false`.
    public func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool { preconditionFailure("to be filled in") }

    /// The key as PEM.
    public func pem() throws(TLSError) -> [UInt8] { preconditionFailure("to be filled in") }
}
