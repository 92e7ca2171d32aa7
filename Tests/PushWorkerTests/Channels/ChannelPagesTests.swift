import Foundation
import KafkaLog
import Logging
import PushModel
import PushTransport
import TLSSession
import Testing

@testable import PushWorker

/// Tests of `/channels` on the admin port, over real sockets.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ChannelPagesTests {
    static let token = "0123456789abcdef0123456789abcdef"

    private static func with(_ pages: ChannelPages, _ body: @escaping @Sendable (_ port: Int) throws -> Void)
        async throws
    {
        let server = try await AdminServer.start(
            host: "127.0.0.1", port: 0,
            pages: AdminServer.Pages(
                unhealthy: { nil }, readiness: { Readiness(WorkerSnapshot()) }, metrics: { _ in [] }, channels: pages),
            logger: Logger(label: "test"))
        let port = server.port
        // The sockets block, so they must not occupy the few threads that the server's tasks need.
        let result = await NamedThread.run("admin-client") { Result { try body(port) } }
        await server.stop()
        try result.get()
    }

    static func exchange(
        _ port: Int, _ method: String, _ path: String, token: String? = nil, body: String = "", host: String = "a"
    ) throws -> (status: Int, text: String) {
        let socket = try LoopbackSocket(port: port)
        let authorization = token.map { "authorization: Bearer \($0)\r\n" } ?? ""
        try socket.send(
            "\(method) \(path) HTTP/1.1\r\nhost: \(host)\r\n\(authorization)content-length: \(body.utf8.count)\r\nconnection: close\r\n\r\n\(body)"
        )
        let answer = try socket.receiveAll()
        return (Int(answer.dropFirst(9).prefix(3)) ?? 0, answer)
    }

    /// Calls `body` with a desk whose APNs does not exist, and with a token file.
    private static func withDesk(_ body: (ChannelPages, _ directory: String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let keyFile = directory + "/AuthKey_ABCDE12345.p8"
        try Data(try ES256PrivateKey.generate().pem()).write(to: URL(fileURLWithPath: keyFile))
        try Data((Self.token + "\n").utf8).write(to: URL(fileURLWithPath: directory + "/token"))
        var configuration = WorkerConfiguration()
        var app = AppSettings(bundleID: "com.example.pizza")
        app.teamID = "TEAM567890"
        app.keyFile = keyFile
        // Nothing listens on this port.
        app.production.manageHost = "127.0.0.1"
        app.production.managePort = 1
        configuration.apps = [app]
        var limits = ChannelPages.limits
        limits.connectionWaitMillis = 100
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let desk = try await ChannelDesk(configuration, limits: limits, logger: logger)
        do {
            try await body(ChannelPages(desk: desk, tokenFile: directory + "/token", logger: logger), directory)
        } catch {
            await desk.close()
            throw error
        }
        await desk.close()
    }

    @Test func withoutATokenFileThereIsNoPage() async throws {
        try await Self.with(.off) { port in
            for path in ["/channels", "/channels/abc"] {
                let answer = try Self.exchange(port, "GET", path, token: Self.token)
                #expect(answer.status == 404)
                #expect(answer.text.contains("admin.channels-token-file"))
            }
        }
    }

    @Test func onlyWhoKnowsTheTokenIsAnswered() async throws {
        try await Self.withDesk { pages, directory in
            try await Self.with(pages) { port in
                for token in [nil, "", "wrong", Self.token + "0", String(Self.token.dropLast())] {
                    let answer = try Self.exchange(port, "DELETE", "/channels/abc", token: token)
                    #expect(answer.status == 401, "\(token ?? "no token")")
                    #expect(answer.text.lowercased().contains("www-authenticate: bearer"))
                    #expect(!answer.text.contains(Self.token))
                }
                #expect(try Self.exchange(port, "PUT", "/channels", token: Self.token).status == 404)
                #expect(try Self.exchange(port, "DELETE", "/channels", token: Self.token).status == 405)
                #expect(try Self.exchange(port, "POST", "/channels", token: Self.token, body: "x").status == 400)
                let long = String(repeating: "x", count: ChannelCall.bodyByteCountMax + 1)
                #expect(try Self.exchange(port, "POST", "/channels", token: Self.token, body: long).status == 413)
            }
        }
    }

    /// The token file is read for each request, so a change needs no restart of the worker. Without the file every
    /// request is refused.
    @Test func theTokenIsReadForEachRequest() async throws {
        try await Self.withDesk { pages, directory in
            let file = URL(fileURLWithPath: directory + "/token")
            try await Self.with(pages) { port in
                let other = "another token of more than sixteen".replacing(" ", with: "-")
                try Data(other.utf8).write(to: file)
                #expect(try Self.exchange(port, "PATCH", "/channels/%", token: other).status == 404)
                #expect(try Self.exchange(port, "GET", "/channels/%", token: other).status == 400)
                #expect(try Self.exchange(port, "GET", "/channels/%", token: Self.token).status == 401)
                try FileManager.default.removeItem(at: file)
                #expect(try Self.exchange(port, "GET", "/channels/%", token: other).status == 401)
            }
        }
    }

    @Test func whatAPNsDoesNotAnswerIsSaid() async throws {
        try await Self.withDesk { pages, _ in
            try await Self.with(pages) { port in
                let answer = try Self.exchange(port, "GET", "/channels", token: Self.token)
                #expect(answer.status == 503)
                #expect(answer.text.contains("\"kind\":\"unreachable\""), "\(answer.text)")
                #expect(answer.text.contains("\"app\":\"com.example.pizza\""))
                #expect(answer.text.contains("127.0.0.1:1"))
            }
        }
    }
}
