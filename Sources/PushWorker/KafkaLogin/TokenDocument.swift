import Foundation
import KafkaLog
import LocalFiles
import Redaction

/// A token as its source gave it.
struct ReadToken: Equatable, Sendable {
    /// The token's text, a secret.
    var value: String
    /// The time when the token expires, milliseconds since 1970.
    var expiresAtMillis: Int64
    /// The user that the token names; `nil` when there is no such name, or it cannot be read.
    var principal: String?
}

extension ReadToken: Redacted {}

/// Reads what a source gave: a bare JWT, or JSON with a token and its lifetime. Pure. Signatures are verified by the
/// brokers.
enum TokenDocument {
    /// Size of the longest output that is accepted.
    static let byteCountMax = 65_536
    /// A token with less time left is useless: it would expire before a client has logged in with it.
    static let leftMillisMin: Int64 = 1_000
    /// The latest accepted expiry, the end of the year 9999. Calculations with it do not overflow.
    private static let millisMax: Int64 = 253_402_300_799_000
    /// The earliest accepted expiry. A smaller number is not accepted, because it is probably in seconds.
    private static let millisMin: Int64 = 100_000_000_000
    /// Maximum lifetime in seconds, ten years. A longer one is shortened to it.
    private static let lifeSecondsMax = 315_360_000.0

    /// Description of what is accepted, completing "expected …".
    static let expected =
        "a JWT, JSON with access_token and expires_in (seconds), or JSON with token and expiry (milliseconds since 1970)"

    static func read(
        _ bytes: [UInt8], from source: TokenSource, wallMillis: Int64
    ) throws(TokenFault) -> ReadToken {
        func fault(_ text: String, _ cause: TokenFault.Cause = .content) -> TokenFault {
            TokenFault(cause: cause, setting: source.setting, text: "\(source.shown) \(text)")
        }
        let content = bytes.withoutBlanksAround
        guard !content.isEmpty else { throw fault("gave nothing: expected \(Self.expected)") }
        let document: Document
        if content[0] == UInt8(ascii: "{") {
            guard let decoded = try? JSONDecoder().decode(Document.self, from: Data(content)) else {
                throw fault("gave something else than a token: expected \(Self.expected)")
            }
            document = decoded
        } else {
            document = Document(token: String(decoding: content, as: UTF8.self))
        }
        guard let value = document.token else {
            throw fault("gave JSON without access_token or token: expected \(Self.expected)")
        }
        // An answer with another kind of token names its type (RFC 6749 §7.1).
        if let type = document.type, type.lowercased() != "bearer" {
            throw fault("gave a token whose token_type is not Bearer")
        }
        let claims = JWTClaims(value)
        let expiresAtMillis: Int64
        switch Self.life(document, claims, isFile: source.isWatched, wallMillis: wallMillis) {
        case .ends(let millis): expiresAtMillis = millis
        case .unsaid where source.isWatched:
            throw fault(
                "holds a token without an expiry: expected a JWT with exp, or JSON with token and expiry (milliseconds since 1970)"
            )
        case .unsaid: throw fault("gave a token without an expiry: expected \(Self.expected)")
        case .unreadable: throw fault("gave an expiry that is not in milliseconds since 1970")
        }
        // This checks only the number and kind of the token's characters.
        guard KafkaToken(value, expiresAtMillis: expiresAtMillis, principal: "") != nil else {
            throw fault(
                "gave something else than a token: expected at most \(KafkaToken.byteCountMax) visible ASCII characters"
            )
        }
        guard expiresAtMillis - wallMillis >= Self.leftMillisMin else {
            throw fault(
                source.isWatched
                    ? "holds a token that has expired: its writer has stopped, or this machine's clock is wrong"
                    : "gave a token that has expired already: this machine's clock is wrong, or that of the source",
                .expired)
        }
        return ReadToken(value: value, expiresAtMillis: expiresAtMillis, principal: claims?.subject)
    }

    private enum Life {
        case ends(atMillis: Int64)
        /// The source named no expiry.
        case unsaid
        /// The source named a time that cannot be right.
        case unreadable
    }

    private static func life(_ document: Document, _ claims: JWTClaims?, isFile: Bool, wallMillis: Int64) -> Life {
        if let seconds = claims?.expiresAtSeconds {
            return .ends(atMillis: Int64(min(max(0, seconds * 1_000), Double(Self.millisMax))))
        }
        // In a file, a lifetime in seconds says nothing: it is not known when the token was issued.
        if let seconds = document.livesSeconds, !isFile {
            return .ends(atMillis: wallMillis + Int64(min(max(0, seconds), Self.lifeSecondsMax) * 1_000))
        }
        guard let millis = document.expiryMillis else { return .unsaid }
        guard (Self.millisMin...Self.millisMax).contains(Int64(min(max(0, millis), 9e15))) else { return .unreadable }
        return .ends(atMillis: Int64(millis))
    }

    /// The JSON of a token endpoint (RFC 6749 §5.1), or of a program that signs tokens.
    private struct Document: Decodable {
        var token: String?
        var type: String?
        var livesSeconds: Double?
        var expiryMillis: Double?

        private enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case token
            case type = "token_type"
            case livesSeconds = "expires_in"
            case expiryMillis = "expiry"
        }

        init(token: String) { self.token = token }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            self.token =
                try fields.decodeIfPresent(String.self, forKey: .accessToken)
                ?? fields.decodeIfPresent(String.self, forKey: .token)
            self.type = try? fields.decodeIfPresent(String.self, forKey: .type)
            self.livesSeconds = Self.number(fields, .livesSeconds)
            self.expiryMillis = Self.number(fields, .expiryMillis)
        }

        /// Some sources write numbers as text.
        private static func number(_ fields: KeyedDecodingContainer<CodingKeys>, _ key: CodingKeys) -> Double? {
            let number =
                (try? fields.decodeIfPresent(Double.self, forKey: key))
                ?? (try? fields.decodeIfPresent(String.self, forKey: key)).flatMap { Double($0) }
            return number.flatMap { $0.isFinite ? $0 : nil }
        }
    }
}

/// The claims of a JWT (RFC 7519), unverified: the token is sent to brokers unchanged, and they judge it.
struct JWTClaims: Equatable {
    /// The claim `exp`.
    var expiresAtSeconds: Double?
    /// The claim `sub`, if it can be shown.
    var subject: String?

    /// - Returns: `nil` when `token` is not a JWT.
    init?(_ token: String) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Self.decoded(parts[1]),
            let claims = try? JSONDecoder().decode(Claims.self, from: bytes)
        else { return nil }
        self.expiresAtSeconds = claims.exp.flatMap { $0.isFinite ? $0 : nil }
        // librdkafka takes the subject as a C string, and shows it in lines of its log.
        self.subject = claims.sub.flatMap { subject in
            (1...256).contains(subject.utf8.count) && subject.utf8.allSatisfy { (0x20...0x7e).contains($0) }
                ? subject : nil
        }
    }

    private struct Claims: Decodable {
        var exp: Double?
        var sub: String?

        private enum CodingKeys: CodingKey { case exp, sub }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            self.exp = try? fields.decodeIfPresent(Double.self, forKey: .exp)
            self.sub = try? fields.decodeIfPresent(String.self, forKey: .sub)
        }
    }

    /// The bytes of base64url without padding (RFC 7515 §2).
    private static func decoded(_ text: Substring) -> Data? {
        var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
        return Data(base64Encoded: String(base64))
    }
}
