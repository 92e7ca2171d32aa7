import PushModel

/// The provider token, a JWT signed with ES256 (Apple: "Establishing a token-based connection to APNs"). The caller
/// signs it.
public enum ProviderTokenClaims {
    /// Maximum time between a token's issue time and now, in the past or the future, seconds. Apple refuses other
    /// tokens.
    public static let ageSecondsMax: Int64 = 3_600
    /// Length of a key id and of a team id, bytes.
    public static let identifierByteCount = 10

    /// The bytes to sign: header and claims, each in base64url, with a dot between.
    ///
    /// - Parameters:
    ///   - keyID: `kid`, the 10 characters of the key's id.
    ///   - teamID: `iss`, the 10 characters of the developer team's id.
    ///   - issuedAtSeconds: `iat`, seconds since 1970.
    public static func signingInput(keyID: String, teamID: String, issuedAtSeconds: Int64) -> [UInt8] {
        let header = JSONWriter.bytes { json in
            json.object { json in
                json.member("alg", "ES256")
                json.member("kid", keyID)
                json.member("typ", "JWT")
            }
        }
        let claims = JSONWriter.bytes { json in
            json.object { json in
                json.member("iss", teamID)
                json.member("iat", issuedAtSeconds)
            }
        }

        var input: [UInt8] = []
        Base64URL.append(header.span, to: &input)
        input.append(UInt8(ascii: "."))
        Base64URL.append(claims.span, to: &input)
        return input
    }

    /// The token: the signing input, a dot, and the signature (64 bytes, r then s) in base64url.
    public static func token(signingInput: [UInt8], signature: [UInt8]) -> [UInt8] {
        var token = signingInput
        token.append(UInt8(ascii: "."))
        Base64URL.append(signature.span, to: &token)
        return token
    }

    /// The value of the `authorization` header: `bearer` and the token.
    public static func authorizationValue(signingInput: [UInt8], signature: [UInt8]) -> [UInt8] {
        var value: [UInt8] = []
        value.append(utf8: "bearer ")
        value += Self.token(signingInput: signingInput, signature: signature)
        return value
    }
}
