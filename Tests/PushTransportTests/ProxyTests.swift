import APNSPool
import APNSProtocol
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TLSSession
import Testing

@testable import PushTransport

/// Tests of pushes through an HTTP proxy, over real sockets. They also test what a route reports about a proxy that
/// makes no tunnel.
@Suite(.timeLimit(.minutes(2)))
struct ProxyTests {
    /// The configuration of a pool that keeps one connection open. An attempt to connect ends after
    /// `connectTimeoutMillis`.
    private static func watching(connectTimeoutMillis: Int64 = 10_000) -> ConnectionPoolConfiguration {
        var pool = one
        pool.connectionsWarm = 1
        pool.connectTimeoutMillis = connectTimeoutMillis
        return pool
    }

    /// Runs `body` with a server, a proxy, and a transport that reaches the server through the proxy.
    private static func through(
        credentialsFile: String? = nil, pool: ConnectionPoolConfiguration = ProxyTests.watching(),
        resends: Resends = .unprocessed,
        _ script: @escaping ScriptedProxy.Script,
        _ body: (LoopbackServer, ScriptedProxy, TransportBench) async throws -> Void
    ) async throws {
        let server = try await LoopbackServer.start(on: MultiThreadedEventLoopGroup.singleton.next()) { _ in .ok }
        let proxy = try await ScriptedProxy.start(script)
        try await TransportBench.with(
            port: server.port,
            proxy: ProxyAccess(host: "127.0.0.1", port: proxy.port, credentialsFile: credentialsFile),
            authorityPEM: server.authorityPEM, resends: resends, pool: pool
        ) { try await body(server, proxy, $0) }
        try await proxy.stop()
        try await server.stop()
    }

    @Test func pushesGoThroughATunnel() async throws {
        try await Self.through({ _, _ in .tunnel() }) { server, proxy, bench in
            try await bench.expectAccepted(500)
            #expect(
                proxy.heads == [
                    "CONNECT 127.0.0.1:\(server.port) HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\r\n"
                ])
            let status = try await bench.trouble(nil)
            #expect(status.proxy == "http://127.0.0.1:\(proxy.port)")
        }
    }

    /// If the proxy makes no tunnel, the route reports why and what to do. The report ends when the proxy makes a
    /// tunnel.
    @Test(
        arguments: [
            (
                .say("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n"),
                ["407 Proxy Authentication Required", "put user:password into a file", "apns.proxy-credentials-file"]
            ),
            (
                .sayAndClose("HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\n\r\n<html>"),
                ["it asks for Negotiate", "Basic"]
            ),
            (.sayAndClose("HTTP/1.0 403 Filtered\r\n\r\n"), ["403 Filtered", "allow CONNECT to 127.0.0.1:"]),
            (.sayAndClose("HTTP/1.1 503 Service Unavailable\r\n\r\n"), ["503", "it cannot reach 127.0.0.1:"]),
            (.sayAndClose(""), ["closed the connection without an answer", "proxy's log"]),
            (.sayAndClose("HTTP/1.1 200 OK\r\n"), ["closed the connection without an answer"]),
            (.say("SSH-2.0-OpenSSH_9.2p1\r\n"), ["something else than HTTP/1", "host and port of apns.proxy"]),
            (.say("HTTP/1.1 200 OK\r\n\r\nhello"), ["bytes behind its answer"]),
            (.say("HTTP/1.1 200 OK\r\n" + String(repeating: "x: y\r\n", count: 5_000)), ["more than 16384 bytes"]),
            (.silence, ["no tunnel through the proxy http://127.0.0.1:", "in time"]),
        ] as [(ScriptedProxy.Reaction, [String])])
    func aProxyThatMakesNoTunnelIsNamed(_ reaction: ScriptedProxy.Reaction, _ expected: [String]) async throws {
        let isWell = Mutex(false)
        var pool = Self.watching()
        // An attempt without an answer ends only by its timeout, so the timeout is short.
        if case .silence = reaction { pool = Self.watching(connectTimeoutMillis: 300) }
        try await Self.through(pool: pool) { _, _ in
            isWell.withLock { $0 } ? .tunnel() : reaction
        } _: { _, _, bench in
            let status = try await bench.trouble(.unreachable)
            for text in expected { #expect(status.connectFailure.contains(text), "\(status.connectFailure)") }
            #expect(try await bench.counters().connectFailuresTotal > 0)
            isWell.withLock { $0 = true }
            try await bench.trouble(nil)
            try await bench.expectAccepted(10)
        }
    }

    @Test func aProxyThatIsNotThereIsNamed() async throws {
        let server = try await LoopbackServer.start(on: MultiThreadedEventLoopGroup.singleton.next()) { _ in .ok }
        let proxy = try await ScriptedProxy.start { _, _ in .tunnel() }
        try await proxy.stop()
        try await TransportBench.with(
            port: server.port, proxy: ProxyAccess(host: "127.0.0.1", port: proxy.port),
            authorityPEM: server.authorityPEM, pool: Self.watching()
        ) { bench in
            let status = try await bench.trouble(.unreachable)
            #expect(
                status.connectFailure.contains(
                    "the proxy http://127.0.0.1:\(proxy.port) cannot be reached: Connection refused: check apns.proxy"),
                "\(status.connectFailure)")
        }
        try await server.stop()
    }

    /// The file with a proxy's credentials is read for each connection, and a wrong password is never shown.
    @Test func aProxyMayAskWhoComes() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try "mailboat:wrong-s3cret".write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let right = "Proxy-Authorization: Basic \(Data("mailboat:s3:cret".utf8).base64EncodedString())\r\n"
        try await Self.through(credentialsFile: path) { _, head in
            head.contains(right) ? .tunnel() : .sayAndClose("HTTP/1.1 407 Denied\r\nProxy-Authenticate: Basic\r\n\r\n")
        } _: { _, _, bench in
            let status = try await bench.trouble(.unreachable)
            #expect(status.connectFailure.contains("407 Denied"))
            #expect(status.connectFailure.contains("into the file of apns.proxy-credentials-file"))
            #expect(!status.connectFailure.contains("s3cret"))
            try "mailboat:s3:cret\n".write(toFile: path, atomically: true, encoding: .utf8)
            try await bench.trouble(nil)
            try await bench.expectAccepted(10)
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test func afterACutTheNextTunnelServes() async throws {
        try await Self.through(resends: .unknown) { _, _ in
            .tunnel()
        } _: { _, proxy, bench in
            try await bench.expectAccepted(100)
            proxy.cut()
            try await bench.expectAccepted(100)
            #expect(proxy.heads.count == 2)
        }
    }

    /// If the tunnel leads to another server, that server is not accepted as APNs.
    @Test func whatIsBehindTheTunnelIsVerified() async throws {
        let other = try await LoopbackServer.start(on: MultiThreadedEventLoopGroup.singleton.next()) { _ in .ok }
        let server = try await LoopbackServer.start(on: MultiThreadedEventLoopGroup.singleton.next()) { _ in .ok }
        let proxy = try await ScriptedProxy.start { _, _ in .tunnel() }
        _ = try await TransportBench.with(
            port: server.port, proxy: ProxyAccess(host: "127.0.0.1", port: proxy.port),
            authorityPEM: other.authorityPEM, pool: Self.watching()
        ) { try await $0.trouble(.notAPNs) }
        for server in [other, server] { try await server.stop() }
        try await proxy.stop()
    }

    @Test func aProbeGoesTheSameWay() async throws {
        let server = try await LoopbackServer.start(on: MultiThreadedEventLoopGroup.singleton.next()) { _ in .ok }
        let proxy = try await ScriptedProxy.start { number, _ in
            number == 1 ? .tunnel() : number == 2 ? .silence : .sayAndClose("HTTP/1.1 407 Denied\r\n\r\n")
        }
        func probe(_ limit: Duration) -> APNSProbe {
            APNSProbe(
                host: "localhost", port: server.port, proxy: ProxyAccess(host: "127.0.0.1", port: proxy.port),
                trustRoots: .pem(server.authorityPEM), limit: limit)
        }
        let good = await probe(.seconds(20)).run()
        #expect(good.step == .ready && good.failure.isEmpty, "\(good.failure)")
        let silent = await probe(.milliseconds(200)).run()
        #expect(silent.step == .connecting && !silent.failure.isEmpty, "\(silent.failure)")
        let refused = await probe(.seconds(20)).run()
        #expect(refused.step == .connecting && refused.failure.contains("407 Denied"))
        #expect(refused.proxyFailure?.remedy.contains("apns.proxy-credentials-file") == true)
        #expect(proxy.heads.allSatisfy { $0.hasPrefix("CONNECT localhost:\(server.port) ") })
        try await proxy.stop()
        try await server.stop()
    }

    @Test(arguments: [
        "", "s3cret", ":s3cret", "a:", "a:s3cret\nb:s3cret", "a:s3\tcret",
        "a:" + String(repeating: "s3cret", count: 200),
    ])
    func aFileThatHoldsNoCredentialsIsRefused(content: String) {
        let error = #expect(throws: ProxyCredentials.Fault.self) { try ProxyCredentials(Array(content.utf8)) }
        let said = error.map { "\($0)" } ?? ""
        #expect(said.contains("expected user:password") && !said.contains("s3"), "\(said)")
    }

    @Test func credentialsAreWrittenAsBasicHasThem() throws {
        for content in ["Aladdin:open sesame", "Aladdin:open sesame\r\n"] {
            #expect(
                try ProxyCredentials(Array(content.utf8)).authorization
                    == Array("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".utf8))
        }
    }
}
