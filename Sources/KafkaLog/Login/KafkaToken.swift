public import Redaction

/// A bearer token that a client shows when it logs in by OAUTHBEARER (RFC 7628).
public struct KafkaToken: Sendable, Hashable {
    /// One more word of a login, such as the identity pool that Confluent Cloud wants to know.
    public struct Extension: Sendable, Hashable {
        /// Letters alone, and not `auth` (RFC 7628 §3.1).
        public var name: String
        /// Visible ASCII characters and blanks.
        public var value: String

        /// - Returns: `nil`: brokers would not understand it.
        public init?(name: String, value: String) {
            let isLetter: (UInt8) -> Bool = { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }
            guard !name.isEmpty, name.utf8.allSatisfy(isLetter), name != "auth", !value.isEmpty,
                value.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
            else { return nil }
            self.name = name
            self.value = value
        }
    }

    /// The longest token. Kafka takes 512 KiB of a login at most, and no header field of a token endpoint is nearly so long.
    public static let byteCountMax = 32_768

    /// The token itself, a secret.
    public let value: String
    /// When it ends, milliseconds since 1970.
    public var expiresAtMillis: Int64
    /// Whom it is of, as far as somebody knows: librdkafka says so when a broker refuses it.
    public var principal: String
    /// Said beside it.
    public var extensions: [Extension]

    /// - Parameter value: 1 to `byteCountMax` visible ASCII characters.
    /// - Returns: `nil`: it is no token. librdkafka would repeat such a one in its error.
    public init?(_ value: String, expiresAtMillis: Int64, principal: String, extensions: [Extension] = []) {
        guard (1...Self.byteCountMax).contains(value.utf8.count), value.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        self.value = value
        self.expiresAtMillis = expiresAtMillis
        self.principal = principal
        self.extensions = extensions
    }
}

extension KafkaToken: Untold {}
