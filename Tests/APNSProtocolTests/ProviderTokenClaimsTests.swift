import APNSProtocol
import Foundation
import Testing

@Suite struct ProviderTokenClaimsTests {
    private static func base64URL(_ bytes: [UInt8]) -> String {
        var encoded: [UInt8] = []
        Base64URL.append(bytes.span, to: &encoded)
        return String(decoding: encoded, as: UTF8.self)
    }

    /// The vectors of RFC 4648 §10, without padding, and the two characters that differ from ordinary Base64.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ])
    func base64URL(text: String, encoded: String) {
        #expect(Self.base64URL(Array(text.utf8)) == encoded)
    }

    @Test func base64URLAgreesWithFoundation() {
        var bytes: [UInt8] = []
        for number in 0..<600 {
            let expected = Data(bytes).base64EncodedString()
                .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_").replacingOccurrences(
                    of: "=", with: "")
            #expect(Self.base64URL(bytes) == expected)
            bytes.append(UInt8(truncatingIfNeeded: number &* 167))
        }
    }

    private static func decoded(_ part: Substring) throws -> [String: Any] {
        var text = part.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while !text.count.isMultiple(of: 4) { text += "=" }
        let data = try #require(Data(base64Encoded: text))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test func headerAndClaims() throws {
        let input = ProviderTokenClaims.signingInput(
            keyID: "ABC123DEFG", teamID: "DEF123GHIJ", issuedAtSeconds: 1_437_179_036)
        let parts = String(decoding: input, as: UTF8.self).split(separator: ".")
        #expect(parts.count == 2)
        let header = try Self.decoded(parts[0])
        #expect(header as NSDictionary == ["alg": "ES256", "kid": "ABC123DEFG", "typ": "JWT"] as NSDictionary)
        let claims = try Self.decoded(parts[1])
        #expect(claims["iss"] as? String == "DEF123GHIJ")
        #expect((claims["iat"] as? NSNumber)?.int64Value == 1_437_179_036)
        #expect(claims.count == 2)
    }

    @Test func theAuthorizationValue() {
        let value = ProviderTokenClaims.authorizationValue(
            signingInput: Array("a.b".utf8), signature: [0xFF, 0xFE, 0xFD])
        #expect(String(decoding: value, as: UTF8.self) == "bearer a.b.__79")
    }
}
