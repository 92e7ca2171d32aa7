/// Recognises the kind of secret that a text looks like, so that a message can name the kind and need not repeat the
/// text. Pure.
package enum SecretShape {
    /// Minimum length in bytes of a text that counts as a key in base64.
    private static let keyByteCountMin = 64
    /// Labels of PEM with their kinds (RFC 7468). If a text has several of these labels, the first in this list counts.
    /// So a private key with its certificate is "a private key".
    private static let labels = [
        (label: "PRIVATE KEY-----", noun: "a private key"), (label: "PUBLIC KEY-----", noun: "a public key"),
        (label: "CERTIFICATE REQUEST-----", noun: "a certificate request"),
        (label: "CERTIFICATE-----", noun: "a certificate"), (label: "-----BEGIN", noun: "PEM"),
    ]

    /// The kind as a noun, such as `a private key`; `nil` when the text looks like no known kind.
    package static func noun(_ text: String) -> String? {
        if let found = Self.labels.first(where: { text.contains($0.label) }) { return found.noun }
        if Self.isContentOfKey(text) { return "the content of a key" }
        if text.contains("LoginModule") || text.contains("password=") || text.contains("\" password") {
            return "a line of JAAS"
        }
        if let scheme = text.firstRange(of: "://"), text[scheme.upperBound...].contains("@") {
            return "a URL with a user"
        }
        if Self.isHeaderField(text) { return "a header field" }
        return nil
    }

    /// Whether the text is a whole key or certificate, or most of one, and so cannot be a name.
    package static func isContentOfKey(_ text: String) -> Bool {
        if text.contains("-----BEGIN") { return true }
        guard text.utf8.count >= Self.keyByteCountMin, Self.beginsAsKey(Array(text.utf8.prefix(4)))
        else { return false }
        return text.utf8.allSatisfy {
            TextBytes.isLetter($0) || TextBytes.isDigit($0) || [0x2b, 0x2f, 0x3d, 0x0a, 0x0d, 0x20].contains($0)
        }
    }

    /// Whether base64 begins with a SEQUENCE of DER, as keys and certificates do (X.690 §8.1).
    ///
    /// `M` and a letter up to `H` encode 0x30 and a length below 128; then an INTEGER (`C`) or SEQUENCE (`w`) has to
    /// follow. `MI` encodes a length of several bytes.
    private static func beginsAsKey(_ text: [UInt8]) -> Bool {
        guard text.count == 4, text[0] == UInt8(ascii: "M") else { return false }
        if text[1] == UInt8(ascii: "I") { return true }
        return (UInt8(ascii: "A")...UInt8(ascii: "H")).contains(text[1])
            && (text[3] == UInt8(ascii: "C") || text[3] == UInt8(ascii: "w"))
    }

    private static func isHeaderField(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else { return false }
        return text[..<colon].utf8.allSatisfy { TextBytes.isLetter($0) || $0 == UInt8(ascii: "-") }
            && text[text.index(after: colon)...].hasPrefix(" ")
    }
}

/// Kinds of ASCII characters.
enum TextBytes {
    static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
    static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
