import Foundation
import SecretHunting
import Testing

@testable import PushWorker

/// Tests of how the answers of token sources are read.
struct TokenDocumentTests {
    static let now: Int64 = 1_764_000_000_000
    private static let command = TokenSource.command(["/usr/bin/sign"])
    private static let file = TokenSource.file(path: "/var/run/kafka.token")

    /// A JWT with claims that are given as JSON.
    static func jwt(_ claims: String) -> String {
        let parts = [#"{"alg":"none"}"#, claims, "signature"].map { text in
            Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        return parts.joined(separator: ".")
    }

    private static let good = Self.jwt(#"{"sub":"worker-ä>?","exp":1764000060}"#)
    private static let named = Self.jwt(#"{"sub":"worker-1","exp":1764000060.5,"aud":["kafka"]}"#)

    @Test(
        arguments: [
            (Self.named, 60_500, "worker-1"), ("\n \(Self.named)\r\n", 60_500, "worker-1"),
            // This token's subject does not belong in a log line, so it is left out.
            (Self.good, 60_000, nil),
            (#"{"access_token":"\#(Self.named)","expires_in":5,"token_type":"bearer"}"#, 60_500, "worker-1"),
            (#"{"access_token":"opaque","expires_in":3600,"token_type":"Bearer"}"#, 3_600_000, nil),
            (#"{"access_token":"opaque","expires_in":"3600"}"#, 3_600_000, nil),
            (#"{"token":"aws4-presigned","expiry":1764000900000}"#, 900_000, nil),
            (#"{"token":"a.b.c","expiry":"1764000900000","more":{"a":[1]}}"#, 900_000, nil),
        ] as [(String, Int64, String?)])
    func aTokenAndItsLifeAreRead(text: String, leftMillis: Int64, principal: String?) throws {
        let read = try TokenDocument.read(Array(text.utf8), from: Self.command, wallMillis: Self.now)
        #expect(read.expiresAtMillis - Self.now == leftMillis)
        #expect(read.principal == principal)
        #expect(!read.value.contains { $0.isWhitespace })
    }

    @Test(
        arguments: [
            ("", .content, "gave nothing: expected a JWT"), ("  \n", .content, "gave nothing"),
            ("a", .content, "a token without an expiry"), ("a.b.c", .content, "a token without an expiry"),
            ("two words", .content, "a token without an expiry"),
            (Self.jwt(#"{"exp":"soon"}"#), .content, "a token without an expiry"),
            ("{", .content, "something else than a token"),
            ("{\"a\":1}", .content, "JSON without access_token or token"),
            (#"{"access_token":1}"#, .content, "something else than a token"),
            (#"{"access_token":"a","expires_in":60,"token_type":"mac"}"#, .content, "token_type is not Bearer"),
            (#"{"access_token":"a b","expires_in":60}"#, .content, "visible ASCII"),
            (#"{"access_token":"","expires_in":60}"#, .content, "visible ASCII"),
            (
                #"{"access_token":"\#(String(repeating: "a", count: 40_000))","expires_in":60}"#, .content,
                "at most 32768"
            ),
            (#"{"token":"a","expiry":1764000900}"#, .content, "not in milliseconds since 1970"),
            (#"{"access_token":"a","expires_in":0}"#, .expired, "expired already"),
            (#"{"access_token":"a","expires_in":-1e300}"#, .expired, "expired already"),
            (Self.jwt(#"{"exp":1763999999}"#), .expired, "expired already"),
            (Self.jwt(#"{"exp":-9e99}"#), .expired, "expired already"),
        ] as [(String, TokenFault.Cause, String)])
    func whatIsNoneIsNamed(text: String, cause: TokenFault.Cause, words: String) {
        let fault = #expect(throws: TokenFault.self) {
            try TokenDocument.read(Array(text.utf8), from: Self.command, wallMillis: Self.now)
        }
        #expect(fault?.cause == cause)
        #expect(fault?.setting == "kafka.oauth.token-command")
        #expect(fault?.text.hasPrefix("/usr/bin/sign gave ") == true, "\(fault?.text ?? "")")
        #expect(fault?.text.contains(words) == true, "\(fault?.text ?? "")")
    }

    /// A token in a file must name its expiry. A lifetime in seconds is not enough, because nobody knows when the token
    /// was issued.
    @Test func aFileSaysWhenItsTokenEnds() {
        let relative = #"{"access_token":"a","expires_in":60}"#
        let fault = #expect(throws: TokenFault.self) {
            try TokenDocument.read(Array(relative.utf8), from: Self.file, wallMillis: Self.now)
        }
        #expect(fault?.text.hasPrefix("/var/run/kafka.token holds a token without an expiry") == true)
        let ended = #expect(throws: TokenFault.self) {
            try TokenDocument.read(Array(Self.named.utf8), from: Self.file, wallMillis: Self.now + 60_000)
        }
        #expect(ended?.cause == .expired)
        #expect(ended?.text.contains("its writer has stopped") == true)
    }

    /// A lifetime of centuries is accepted without overflow.
    @Test func noNumberIsTooLarge() throws {
        for text in [
            Self.jwt(#"{"exp":1e300}"#), #"{"access_token":"a","expires_in":1e300}"#,
            #"{"token":"a","expiry":253402300799000}"#,
        ] {
            let read = try TokenDocument.read(Array(text.utf8), from: Self.command, wallMillis: Self.now)
            #expect(read.expiresAtMillis > Self.now)
        }
    }

    /// A fault shows nothing of the answer, which may contain the token or another secret.
    @Test func noFaultTellsWhatCame() {
        for secret in PlantedSecret.all {
            for text in [
                secret.text, "{\(secret.text)", #"{"access_token":"\#(secret.text) "}"#,
                #"{"access_token":"a","token_type":"\#(secret.text)","expires_in":1}"#,
            ] {
                for source in [Self.command, Self.file] {
                    do {
                        let read = try TokenDocument.read(Array(text.utf8), from: source, wallMillis: Self.now)
                        #expect(secret.found(in: "\(read)") == nil)
                    } catch { #expect(secret.found(in: "\(error)") == nil, "\(secret): \(error)") }
                }
            }
        }
    }
}
