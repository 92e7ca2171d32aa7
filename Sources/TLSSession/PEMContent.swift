/// Recognises what a file contains instead of a key or a certificate in PEM, for a person who has given the wrong one.
/// The content itself is not repeated.
public enum PEMContent {
    /// Labels of PEM (RFC 7468) and their meanings. The first label found counts: a key beside its certificate is a
    /// key.
    private static let kinds: [(label: String, name: String)] = [
        ("ENCRYPTED PRIVATE KEY", "a private key that is protected by a password"),
        ("RSA PRIVATE KEY", "an RSA private key"), ("EC PRIVATE KEY", "an EC private key"),
        ("OPENSSH PRIVATE KEY", "an OpenSSH private key"), ("PRIVATE KEY", "a private key"),
        ("CERTIFICATE REQUEST", "a certificate request"), ("CERTIFICATE", "a certificate"),
        ("PUBLIC KEY", "a public key"),
    ]
    /// ASN.1's tag SEQUENCE, with which every key and certificate in DER begins.
    private static let sequenceTag: UInt8 = 0x30

    /// The content as a noun, such as `a certificate` or `nothing: it is empty`.
    public static func found(in bytes: [UInt8]) -> String {
        let isBlank = bytes.allSatisfy { $0 == 0x20 || (0x09...0x0d).contains($0) }
        guard !isBlank else { return "nothing: it is empty" }
        let text = String(decoding: bytes, as: UTF8.self)
        // A key in the old format says below its first line that it is protected.
        if text.contains("Proc-Type: 4,ENCRYPTED") { return Self.kinds[0].name }
        if let kind = Self.kinds.first(where: { text.contains("-----BEGIN \($0.label)-----") }) { return kind.name }
        if text.contains("-----BEGIN ") { return "PEM of another kind" }
        if bytes.first == Self.sequenceTag { return "binary data, perhaps a key or certificate in DER" }
        return "no PEM"
    }

    /// What is wrong with bytes that could not be read, as a text after what was expected.
    /// - Parameter noun: noun for what was expected, such as `private key`. If the content has this kind, it is
    ///   damaged.
    static func complaint(expected: String, noun: String, _ bytes: [UInt8]) -> String {
        let found = Self.found(in: bytes)
        return "expected \(expected), found \(found)" + (found.hasSuffix(noun) ? " that is damaged" : "")
    }
}
