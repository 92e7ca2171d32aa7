public import Redaction

/// A bearer token with which a client logs in by OAUTHBEARER (RFC 7628).
public struct KafkaToken: Sendable, Hashable {
    /// An additional name and value sent with a login, such as the identity pool that Confluent Cloud expects.
    public struct Extension: Sendable, Hashable {
        /// The name: letters only, and not `auth` (RFC 7628 §3.1).
        public var name: String
        /// The value: visible ASCII characters and spaces.
        public var value: String

        /// - Returns: `nil` when the name or the value has characters that are not allowed in an extension.
        public init?(name: String, value: String) {
            let isLetter: (UInt8) -> Bool = { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }
            guard !name.isEmpty, name.utf8.allSatisfy(isLetter), name != "auth", !value.isEmpty,
                value.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
            else { return nil }
            self.name = name
            self.value = value
        }
    }

    /// Maximum length of a token in bytes. Real tokens are much shorter, and Kafka itself accepts 512 KiB in a login.
    public static let byteCountMax = 32_768

    /// The token itself, a secret.
    public let value: String
    /// The time when the token expires, milliseconds since 1970.
    public var expiresAtMillis: Int64
    /// The user that the token belongs to, as far as the user is known. librdkafka's message names the user when a
    /// broker refuses the token.
    public var principal: String
    /// Extensions that are sent with the token.
    public var extensions: [Extension]

    /// - Parameter value: 1 to `byteCountMax` visible ASCII characters.
    /// - Returns: `nil` when `value` cannot be a token. Such a value must not reach librdkafka, whose error would
    ///   repeat it.
    public init?(_ value: String, expiresAtMillis: Int64, principal: String, extensions: [Extension] = []) {
        guard (1...Self.byteCountMax).contains(value.utf8.count), value.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        self.value = value
        self.expiresAtMillis = expiresAtMillis
        self.principal = principal
        self.extensions = extensions
    }
}

extension KafkaToken: Redacted {}
