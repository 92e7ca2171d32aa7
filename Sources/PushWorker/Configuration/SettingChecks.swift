import APNSProtocol
import Redaction

/// What several settings accept.
package enum SettingChecks {
    /// Apple's team and key identifiers.
    package static func isAppleIdentifier(_ text: String) -> Bool {
        text.utf8.count == ProviderTokenClaims.identifierByteCount && text.utf8.allSatisfy { Self.isWord($0) }
    }

    /// Apple: letters, digits, '-' and '.'.
    package static func isBundleID(_ text: String) -> Bool {
        (1...155).contains(text.utf8.count)
            && text.utf8.allSatisfy { Self.isWord($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
    }

    /// A name or an IP address.
    package static func isHost(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                Self.isWord($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                    || $0 == UInt8(ascii: ":")
            }
    }

    /// A key or certificate itself, given in place of its file's path, is none.
    static func isPath(_ text: String) -> Bool {
        (1...4_096).contains(text.utf8.count) && !text.utf8.contains(where: { $0 == 0 || $0 == 0x0a || $0 == 0x0d })
            && !SecretShape.isContentOfKey(text)
    }

    /// Looks like the text of a PEM file.
    static func isKeyText(_ text: String) -> Bool {
        text.utf8.count <= Self.keyTextByteCountMax && text.contains("-----BEGIN ") && text.contains("-----END ")
    }

    /// A `.p8` has about 260 bytes.
    private static let keyTextByteCountMax = 65_536

    /// What Kafka takes as the name of a group or of its member. A whole key is no name.
    static func isGroup(_ text: String) -> Bool {
        (1...249).contains(text.utf8.count) && SecretShape.noun(text) == nil
    }

    /// What a program can be given as one word, or be called by.
    static func isArgument(_ text: String) -> Bool {
        (1...4_096).contains(text.utf8.count) && !text.utf8.contains { $0 < 0x20 || $0 == 0x7f }
            && !SecretShape.isContentOfKey(text)
    }

    /// Visible ASCII characters, and nothing that looks like a key.
    static func isPlain(_ text: String, byteCountMax: Int, allowsBlanks: Bool = false) -> Bool {
        (1...byteCountMax).contains(text.utf8.count) && !SecretShape.isContentOfKey(text)
            && text.utf8.allSatisfy { (0x21...0x7e).contains($0) || (allowsBlanks && $0 == 0x20) }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
