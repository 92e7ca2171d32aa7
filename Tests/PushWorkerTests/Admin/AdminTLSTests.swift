import APNSSimulator
import Foundation
import KafkaLog
import Logging
import TLSSession
import Testing

@testable import PushWorker

/// Tests of the admin port over TLS. The client is the project's own TLS on a blocking socket.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct AdminTLSTests {
    private static func with(
        _ body: @escaping @Sendable (_ port: Int, _ directory: String, _ tls: AdminTLS) throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try Self.issue(into: directory)
        let tls = try AdminTLS(
            .init(certificateFile: directory + "/certificate.pem", keyFile: directory + "/key.pem"),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let pages = AdminServer.Pages(
            unhealthy: { nil }, readiness: { Readiness(WorkerSnapshot()) },
            metrics: { _ in Array(String(repeating: "a line of a long page\n", count: 20_000).utf8) })
        let server = try await AdminServer.start(
            host: "127.0.0.1", port: 0, pages: pages, tls: tls, logger: Logger(label: "test"))
        let port = server.port
        let result = await NamedThread.run("admin-client") { Result { try body(port, directory, tls) } }
        await server.stop()
        try result.get()
    }

    /// Writes a new authority, certificate and key.
    private static func issue(into directory: String) throws {
        let now = Int64(Date().timeIntervalSince1970)
        let made = try SimulatorCredentials.generate(names: ["localhost"], nowSeconds: now)
        try Data(made.authorityPEM).write(to: URL(fileURLWithPath: directory + "/authority.pem"))
        try Data(made.certificate.chainPEM).write(to: URL(fileURLWithPath: directory + "/certificate.pem"))
        try Data(made.certificate.privateKeyPEM).write(to: URL(fileURLWithPath: directory + "/key.pem"))
    }

    /// Sends a request and returns everything that the port answers until it closes. The text is empty when the
    /// handshake fails.
    private static func exchange(_ port: Int, _ request: String, authority: String) throws -> String {
        let context = try TLSContext.client(roots: .file(path: authority), applicationProtocols: [])
        let session = try TLSSession(client: context, serverName: "localhost")
        let socket = try LoopbackSocket(port: port)
        _ = session.start()
        var text: [UInt8] = []
        var isSent = false
        while true {
            if session.state == .established, !isSent {
                isSent = true
                session.write(Array(request.utf8).span.bytes)
            }
            let waiting = session.takeCiphertext { bytes in bytes.withUnsafeBytes { Array($0) } }
            if !waiting.isEmpty { try socket.send(bytes: waiting) }
            let received = socket.receive()
            guard !received.isEmpty else { break }
            let state = session.receive(received.span.bytes) { bytes in bytes.withUnsafeBytes { text += Array($0) } }
            if case .failed = state { break }
            if state == .peerClosed { break }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func get(_ path: String) -> String {
        "GET \(path) HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    }

    @Test func pagesOfAnyLengthAreServed() async throws {
        try await Self.with { port, directory, _ in
            let authority = directory + "/authority.pem"
            let short = try Self.exchange(port, Self.get("/healthz"), authority: authority)
            #expect(short.hasPrefix("HTTP/1.1 200 OK") && short.hasSuffix("ok\n"))
            let long = try Self.exchange(port, Self.get("/metrics"), authority: authority)
            #expect(long.utf8.count > 440_000 && long.hasSuffix("a line of a long page\n"))
            let two = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n" + Self.get("/healthz")
            let both = try Self.exchange(port, two, authority: authority)
            #expect(both.components(separatedBy: "HTTP/1.1 200 OK").count - 1 == 2)
        }
    }

    @Test func plainTextIsNotAnswered() async throws {
        try await Self.with { port, directory, _ in
            let socket = try LoopbackSocket(port: port)
            try socket.send(Self.get("/healthz"))
            #expect(try !socket.receiveAll().contains("HTTP/1.1 200"))
            // The port still serves TLS.
            #expect(
                try Self.exchange(port, Self.get("/healthz"), authority: directory + "/authority.pem")
                    .hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test func aRenewedCertificateIsTaken() async throws {
        try await Self.with { port, directory, tls in
            let authority = directory + "/authority.pem"
            try FileManager.default.copyItem(atPath: authority, toPath: directory + "/before.pem")
            try Self.issue(into: directory)
            tls.look()
            #expect(try Self.exchange(port, Self.get("/healthz"), authority: authority).hasPrefix("HTTP/1.1 200"))
            #expect(try Self.exchange(port, Self.get("/healthz"), authority: directory + "/before.pem").isEmpty)
            // A certificate whose key is unreadable is not used.
            try Data("nothing".utf8).write(to: URL(fileURLWithPath: directory + "/key.pem"))
            tls.look()
            #expect(try Self.exchange(port, Self.get("/healthz"), authority: authority).hasPrefix("HTTP/1.1 200"))
        }
    }
}
