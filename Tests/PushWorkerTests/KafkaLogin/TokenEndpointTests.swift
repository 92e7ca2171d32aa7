import Foundation
import NIOPosix
import SecretHunting
import Testing
import TraceCollecting

@testable import PushWorker

/// Tests of a server that issues tokens, on a socket of this machine.
struct TokenEndpointTests {
    private static func with<Result>(_ body: (_ folder: String) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data(" s3cret of+the/client \n".utf8).write(to: URL(fileURLWithPath: folder + "/secret"))
        return try await body(folder)
    }

    private static func ask(_ url: String, secretFile: String, scope: String? = nil) async -> Result<
        ReadToken, TokenFault
    > {
        guard let endpoint = TokenEndpoint.url(url) else {
            return .failure(TokenFault(cause: .network, setting: "", text: "no endpoint"))
        }
        let source = TokenSource.endpoint(
            TokenEndpoint(url: endpoint, clientID: "worker:1", secretFile: secretFile, scope: scope, caFile: nil))
        // The call blocks its thread, so it runs on a thread of a pool.
        return await withCheckedContinuation { continuation in
            NIOThreadPool.singleton.submit { _ in
                do throws(TokenFault) {
                    continuation.resume(returning: .success(try source.ask(wallMillis: { TokenDocumentTests.now })))
                } catch { continuation.resume(returning: .failure(error)) }
            }
        }
    }

    @Test func aClientAsksAsTheRFCSaysAndGetsItsToken() async throws {
        try await Self.with { folder in
            let server = try await TraceCollector.start(answers: [
                .init(status: 200, body: #"{"access_token":"opaque","token_type":"Bearer","expires_in":300}"#)
            ])
            let read = try await Self.ask(
                server.endpoint + "/oauth2/token?tenant=a", secretFile: folder + "/secret", scope: "kafka/.default a"
            ).get()
            #expect(read == ReadToken(value: "opaque", expiresAtMillis: TokenDocumentTests.now + 300_000))
            let request = try #require(server.requests.first)
            #expect(request.method == "POST")
            #expect(request.path == "/oauth2/token?tenant=a")
            #expect(request.headers["content-type"] == "application/x-www-form-urlencoded")
            let credentials = Data("worker%3A1:s3cret%20of%2Bthe%2Fclient".utf8).base64EncodedString()
            #expect(request.headers["authorization"] == "Basic \(credentials)")
            #expect(
                String(decoding: request.body, as: UTF8.self)
                    == "grant_type=client_credentials&scope=kafka%2F.default%20a")
            await server.stop()
        }
    }

    @Test(
        arguments: [
            (
                401, #"{"error":"invalid_client","error_description":"s3cret"}"#, .refused,
                "answers 401 (invalid_client): check kafka.oauth.client-id"
            ),
            (400, #"{"error":"invalid_scope"}"#, .refused, "answers 400 (invalid_scope): check kafka.oauth.scope"),
            (401, "s3cret", .refused, "answers 401: check kafka.oauth.client-id"),
            (400, #"{"error":"s3cret"}"#, .refused, "answers 400: check"),
            (404, "", .refused, "check the path of the URL"),
            (302, "", .refused, "answers 302: redirect"),
            (500, "s3cret", .server, "answers 500; it is asked again"),
            (429, "", .server, "answers 429"), (200, "{", .content, "gave something else than a token"),
            (200, "s3cret", .content, "a token without an expiry"),
            (200, String(repeating: "a", count: 200_000), .content, "answers with more than 65536 bytes"),
        ] as [(Int, String, TokenFault.Cause, String)])
    func whatItRefusesIsNamed(status: Int, body: String, cause: TokenFault.Cause, words: String) async throws {
        try await Self.with { folder in
            let server = try await TraceCollector.start(answers: [.init(status: status, body: body)])
            let result = await Self.ask(server.endpoint, secretFile: folder + "/secret")
            guard case .failure(let fault) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(fault.cause == cause)
            #expect(fault.setting == "kafka.oauth.token-endpoint")
            #expect(fault.text.contains(words), "\(fault.text)")
            #expect(!fault.text.contains("s3cret"))
            await server.stop()
        }
    }

    @Test func whoIsNotThereIsNamed() async throws {
        try await Self.with { folder in
            let server = try await TraceCollector.start()
            let url = server.endpoint
            await server.stop()
            let result = await Self.ask(url, secretFile: folder + "/secret")
            guard case .failure(let fault) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(fault.cause == .network)
            #expect(fault.text.contains("cannot be asked: Connection refused"), "\(fault.text)")
            // The server speaks plain HTTP, but the client expects TLS.
            let plain = try await TraceCollector.start()
            let tls = await Self.ask(
                plain.endpoint.replacing("http:", with: "https:"), secretFile: folder + "/secret")
            guard case .failure(let failed) = tls else {
                Issue.record("\(tls)")
                return
            }
            #expect(failed.cause == .network, "\(failed)")
            await plain.stop()
        }
    }

    @Test func aSecretThatIsNoneIsNamed() async throws {
        try await Self.with { folder in
            for (name, content) in [("empty", ""), ("two", "a\nb"), ("long", String(repeating: "a", count: 5_000))] {
                try Data(content.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name).txt"))
                let result = await Self.ask("http://127.0.0.1:9/", secretFile: "\(folder)/\(name).txt")
                guard case .failure(let fault) = result else {
                    Issue.record("\(result)")
                    return
                }
                #expect(fault.setting == "kafka.oauth.client-secret-file")
                #expect(fault.cause == .file)
            }
            let missing = await Self.ask("http://127.0.0.1:9/", secretFile: "/nowhere/secret.txt")
            guard case .failure(let fault) = missing else {
                Issue.record("\(missing)")
                return
            }
            #expect(fault.text.contains("/nowhere/secret.txt cannot be read"))
        }
    }

    @Test(
        arguments: [
            ("https://login.example.com/oauth2/token", true), ("https://login.example.com", true),
            ("http://127.0.0.1:8080/token", true), ("http://localhost/token", true), ("http://[::1]/token", true),
            ("http://login.example.com/token", false), ("http://10.0.0.1/", false), ("ftp://a/", false), ("a", false),
            ("https://user:pass@login.example.com/", false), ("http://127.example.com/", false),
        ])
    func plainHTTPStaysOnTheMachine(url: String, isAccepted: Bool) {
        #expect((TokenEndpoint.url(url) != nil) == isAccepted)
    }

    /// A secret in an endpoint's answer, request or address is never shown.
    @Test func nothingTellsOfASecret() {
        for secret in PlantedSecret.all {
            let endpoint = TokenEndpoint(
                url: TokenEndpoint.url("https://login.example.com/")!, clientID: secret.text, secretFile: secret.text,
                scope: secret.text, caFile: secret.text)
            var said = "\(endpoint) \(TokenSource.endpoint(endpoint)) \(endpoint.request(secret: secret.text))"
            dump(endpoint, to: &said)
            dump(endpoint.request(secret: secret.text), to: &said)
            for status in [200, 302, 400, 401, 403, 404, 429, 500] {
                for body in [secret.text, #"{"error":"\#(secret.text)"}"#] {
                    do {
                        _ = try endpoint.body(.init(status: status, body: Array(body.utf8)))
                    } catch { said += "\n\(error)" }
                }
            }
            do { _ = try TokenEndpoint.secret(secret.text) } catch { said += "\n\(error)" }
            do { _ = try endpoint.tls() } catch { said += "\n\(error)" }
            #expect(secret.found(in: said) == nil, "\(secret): \(said)")
        }
    }
}
