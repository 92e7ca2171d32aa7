/// Says what bytes contain instead of the key or certificate in PEM that was expected. People may have given the wrong
/// file. The content itself is not repeated.
public enum PEMContent {
    /// PEM's labels (RFC 7468) and their meanings. If the content has several, the first one in this list counts. So a
    /// key together with its certificate is called a key.
    private static let kinds: [(label: String, name: String)] = [
        ("ENCRYPTED PRIVATE KEY", "a private key that is protected by a password"),
        ("RSA PRIVATE KEY", "an RSA private key"), ("EC PRIVATE KEY", "an EC private key"),
        ("OPENSSH PRIVATE KEY", "an OpenSSH private key"), ("PRIVATE KEY", "a private key"),
        ("CERTIFICATE REQUEST", "a certificate request"), ("CERTIFICATE", "a certificate"),
        ("PUBLIC KEY", "a public key"),
    ]
    /// ASN.1's tag SEQUENCE. Every key and certificate in DER begins with it.
    private static let sequenceTag: UInt8 = 0x30

    /// Names the content with a noun, such as `a certificate` or `nothing: it is empty`.
    public static func found(in bytes: [UInt8]) -> String {
        let isBlank = bytes.allSatisfy { $0 == 0x20 || (0x09...0x0d).contains($0) }
        guard !isBlank else { return "nothing: it is empty" }
        let text = String(decoding: bytes, as: UTF8.self)
        // A key in the old format has a header after its first line if it is protected by a password.
        if text.contains("Proc-Type: 4,ENCRYPTED") { return Self.kinds[0].name }
        if let kind = Self.kinds.first(where: { text.contains("-----BEGIN \($0.label)-----") }) { return kind.name }
        if text.contains("-----BEGIN ") { return "PEM of another kind" }
        if bytes.first == Self.sequenceTag { return "binary data, perhaps a key or certificate in DER" }
        return "no PEM"
    }

    /// Says what was expected, and what the bytes contain instead.
    /// - Parameter noun: the expected kind as a noun, such as `private key`. If the content is of this kind and could
    ///   not be read, it is damaged.
    static func complaint(expected: String, noun: String, _ bytes: [UInt8]) -> String {
        let found = Self.found(in: bytes)
        return "expected \(expected), found \(found)" + (found.hasSuffix(noun) ? " that is damaged" : "")
    }
}
