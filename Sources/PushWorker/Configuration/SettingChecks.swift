import APNSProtocol
import Redaction

/// Checks that several settings share.
package enum SettingChecks {
    /// Whether `text` has the form of Apple's team and key identifiers.
    package static func isAppleIdentifier(_ text: String) -> Bool {
        text.utf8.count == ProviderTokenClaims.identifierByteCount && text.utf8.allSatisfy { Self.isWord($0) }
    }

    /// Whether `text` has the form of a bundle id. Apple allows letters, digits, '-' and '.'. A '.' must be between two
    /// other characters.
    package static func isBundleID(_ text: String) -> Bool {
        (1...155).contains(text.utf8.count) && Self.bundleIDInTopic(text) == nil
            && text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
                .allSatisfy { !$0.isEmpty && $0.allSatisfy { Self.isWord($0) || $0 == UInt8(ascii: "-") } }
    }

    /// The bundle id at the beginning of an APNs topic for Live Activities; `nil` when the text is not such a topic.
    static func bundleIDInTopic(_ text: String) -> Substring? {
        text.hasSuffix(Self.topicSuffix) ? text.dropLast(Self.topicSuffix.count) : nil
    }

    private static let topicSuffix = "\(DeviceRequest.topicSuffix)"

    /// A description of what is expected instead of a text that is not a bundle id.
    package static func expectedBundleID(for text: String) -> String {
        if Self.bundleIDInTopic(text) != nil {
            return "the bundle id alone, without \(Self.topicSuffix), which belongs to APNs' topic"
        }
        return "a bundle id such as com.example.pizza: letters, digits and '-', with '.' between them"
    }

    /// Whether `text` is a host name or an IP address.
    package static func isHost(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                Self.isWord($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                    || $0 == UInt8(ascii: ":")
            }
    }

    /// Whether `text` may be a path. A key or certificate that was given instead of its file's path is not accepted.
    static func isPath(_ text: String) -> Bool {
        (1...4_096).contains(text.utf8.count) && !text.utf8.contains(where: { $0 == 0 || $0 == 0x0a || $0 == 0x0d })
            && !SecretShape.isContentOfKey(text)
    }

    /// Whether `text` looks like the content of a PEM file.
    static func isKeyText(_ text: String) -> Bool {
        text.utf8.count <= Self.keyTextByteCountMax && text.contains("-----BEGIN ") && text.contains("-----END ")
    }

    /// Maximum number of bytes of a key's text. A `.p8` file has about 260.
    private static let keyTextByteCountMax = 65_536

    /// Whether `text` may be the name of a group or of its member. A text that looks like a secret is not accepted.
    static func isGroup(_ text: String) -> Bool {
        (1...249).contains(text.utf8.count) && SecretShape.noun(text) == nil
    }

    /// Whether `text` can be passed to a program as one argument, or be its name.
    static func isArgument(_ text: String) -> Bool {
        (1...4_096).contains(text.utf8.count) && !text.utf8.contains { $0 < 0x20 || $0 == 0x7f }
            && !SecretShape.isContentOfKey(text)
    }

    /// Whether `text` has only visible ASCII characters and does not look like a key.
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
