import FoundationEssentials
import TLSSession

/// A parsed provider token (RFC 7519, RFC 7515 §3.1). It shares no code with the worker's tokens. It uses Foundation,
/// because it runs only once for each new token.
struct ParsedProviderToken {
    var keyID: String
    var teamID: String
    /// `iat`, seconds since 1970.
    var issuedAtSeconds: Int64
    /// Header and claims, the bytes that were signed.
    var signedBytes: [UInt8]
    var signature: [UInt8]

    private struct Header: Decodable {
        var alg: String
        var kid: String
    }
    private struct Claims: Decodable {
        var iss: String
        /// A number; a string is refused.
        var iat: Double
    }

    /// Parses a token; `nil` if it is not a JWT with `alg` ES256, `kid` and `iss` of 10 characters and a numeric `iat`.
    init?(_ token: Span<UInt8>) {
        let bytes = token.array
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.base64URLDecoded(parts[0]),
            let claims = Self.base64URLDecoded(parts[1]),
            let signature = Self.base64URLDecoded(parts[2]), signature.count == 64,
            let parsedHeader = try? JSONDecoder().decode(Header.self, from: header), parsedHeader.alg == "ES256",
            let parsedClaims = try? JSONDecoder().decode(Claims.self, from: claims), parsedHeader.kid.utf8.count == 10,
            parsedClaims.iss.utf8.count == 10, let issuedAt = Int64(exactly: parsedClaims.iat)
        else { return nil }
        self.keyID = parsedHeader.kid
        self.teamID = parsedClaims.iss
        self.issuedAtSeconds = issuedAt
        self.signedBytes = Array(bytes[0..<parts[1].endIndex])
        self.signature = Array(signature)
    }

    private static func base64URLDecoded(_ text: ArraySlice<UInt8>) -> Data? {
        guard !text.contains(UInt8(ascii: "=")), !text.contains(UInt8(ascii: "+")), !text.contains(UInt8(ascii: "/"))
        else { return nil }
        var base64 = text.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "-"): return UInt8(ascii: "+")
            case UInt8(ascii: "_"): return UInt8(ascii: "/")
            default: return byte
            }
        }
        while base64.count & 3 != 0 { base64.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(base64))
    }
}

/// Checks provider tokens against the registered keys. Remembers in a connection's record which token was accepted
/// there.
struct ProviderTokenChecks {
    /// Greatest difference of `iat` from the server's clock, seconds.
    static let ageSecondsMax: Int64 = 3_600
    /// Time within which a second new token on one connection is too many, milliseconds.
    static let renewalDistanceMillis: Int64 = 1_200_000
    /// Maximum number of verified tokens that are remembered.
    static let verifiedMax = 256

    private var keys: [String: RegisteredKey] = [:]
    /// Grows whenever a key changes, so that connections check their token again.
    private(set) var generation = 1
    private var verified: [[UInt8]: ParsedProviderToken] = [:]
    /// Number of tokens with a valid signature, each counted once as long as it is remembered.
    private(set) var tokenCount = 0
    let environment: SimulatorConfiguration.Environment
    let checksSignatures: Bool

    init(environment: SimulatorConfiguration.Environment, checksSignatures: Bool) {
        self.environment = environment
        self.checksSignatures = checksSignatures
    }

    var keyIDs: [String] { self.keys.keys.sorted() }

    mutating func register(_ key: RegisteredKey) {
        self.keys[key.keyID] = key
        self.forget()
    }

    mutating func revoke(id: String) {
        self.keys[id] = nil
        self.forget()
    }

    private mutating func forget() {
        self.generation += 1
        self.verified.removeAll()
    }

    /// Checks the value of `authorization` on a connection, and remembers a valid one there. Returns `nil` if it is
    /// valid.
    mutating func check(_ value: Span<UInt8>, on connection: inout ConnectionRecord, nowMillis: Int64) -> Reason? {
        let nowSeconds = nowMillis / 1_000
        if connection.keysGeneration == self.generation, value.equals(connection.authorization) {
            return nowSeconds - connection.issuedAtSeconds > Self.ageSecondsMax ? .expiredProviderToken : nil
        }
        guard value.count > 7, value.extracting(0..<7).isBearer else { return .missingProviderToken }
        let bytes = value.extracting(7..<value.count)
        guard let token = self.verifiedToken(bytes) else { return .invalidProviderToken }
        if let environment = self.keys[token.keyID]?.environment, environment != self.environment {
            return .badEnvironmentKeyIDInToken
        }
        if nowSeconds - token.issuedAtSeconds > Self.ageSecondsMax { return .expiredProviderToken }
        if token.issuedAtSeconds - nowSeconds > Self.ageSecondsMax { return .invalidProviderToken }
        if !connection.keyID.isEmpty {
            if token.teamID != connection.teamID { return .invalidProviderToken }
            if token.keyID != connection.keyID { return .unrelatedKeyIDInToken }
        }
        if !connection.authorization.isEmpty, !value.equals(connection.authorization) {
            if let last = connection.tokenChangedMillis, nowMillis - last < Self.renewalDistanceMillis {
                return .tooManyProviderTokenUpdates
            }
            connection.tokenChangedMillis = nowMillis
        }
        if !value.equals(connection.authorization) { connection.statistics.providerTokens += 1 }
        connection.accept(
            authorization: value.array, keyID: token.keyID, teamID: token.teamID,
            issuedAtSeconds: token.issuedAtSeconds,
            keysGeneration: self.generation)
        return nil
    }

    /// Whether the key of a connection may be used for an app.
    func covers(keyID: String, app: String) -> Bool {
        guard let key = self.keys[keyID] else { return !self.checksSignatures }
        return key.apps.isEmpty || key.apps.contains(app)
    }

    private mutating func verifiedToken(_ bytes: Span<UInt8>) -> ParsedProviderToken? {
        let token = bytes.array
        if let known = self.verified[token] { return known }
        guard let parsed = ParsedProviderToken(bytes) else { return nil }
        if self.checksSignatures {
            guard let key = self.keys[parsed.keyID], key.teamID == parsed.teamID,
                key.publicKey.verify(parsed.signature, of: parsed.signedBytes)
            else { return nil }
        }
        if self.verified.count == Self.verifiedMax { self.verified.removeAll() }
        self.verified[token] = parsed
        self.tokenCount += 1
        return parsed
    }
}

extension Span<UInt8> {
    /// Whether the value begins with "bearer " in any case (RFC 9110 §11.1).
    fileprivate var isBearer: Bool {
        let expected: StaticString = "bearer "
        for index in 0..<7 where self[index] | 0x20 != expected.utf8Start[index] { return false }
        return true
    }
}
