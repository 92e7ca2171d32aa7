import APNSPool
import APNSProtocol
import HTTP2Session
import Logging
import NIOCore
import NIOPosix
import PushModel
import TLSSession
import Testing

@testable import PushTransport

/// The configuration of a pool with a single connection.
var one: ConnectionPoolConfiguration {
    var pool = ConnectionPoolConfiguration.forTests
    pool.connectionsMax = 1
    return pool
}

/// Runs `body` with a scripted server, and with a transport that trusts the server.
func withServer(
    _ script: @escaping LoopbackServer.Script, pool: ConnectionPoolConfiguration = .forTests,
    settings: HTTP2ServerSettings = .init(),
    resends: Resends = .unprocessed, logger: Logger? = nil,
    _ body: (LoopbackServer, TransportBench) async throws -> Void
) async throws {
    let server = try await LoopbackServer.start(
        on: MultiThreadedEventLoopGroup.singleton.next(), settings: settings, script: script)
    try await TransportBench.with(
        port: server.port, authorityPEM: server.authorityPEM, resends: resends, pool: pool, logger: logger
    ) { bench in
        try await body(server, bench)
        let duplicates = try await bench.duplicateAnswers()
        #expect(duplicates == 0, "a push was answered twice")
    }
    try await server.stop()
}

extension CertificateAuthority {
    static func forTests() throws -> CertificateAuthority {
        try CertificateAuthority(notBeforeSeconds: 1_600_000_000, notAfterSeconds: 4_000_000_000)
    }
}

extension TransportBench {
    /// Sends `count` pushes and expects that APNs accepts each.
    func expectAccepted(_ count: Int, bodyByteCount: Int = 200, sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        let answers = try await self.send(count, bodyByteCount: bodyByteCount)
        #expect(answers.count == count, sourceLocation: sourceLocation)
        #expect(answers.filter { $0 != .accepted }.isEmpty, sourceLocation: sourceLocation)
    }

    /// Waits until a connection that was in use has ended.
    func connectionEnds() async throws { try await self.counters("a connection that ends") { $0.closesTotal > 0 } }

    /// Polls the loop until a further attempt to connect has failed.
    func connectFails(thenStop: Bool = true) async throws {
        if thenStop { try await self.onLoop { $0.wantOne() } }
        let before = try await self.counters().connectFailuresTotal
        try await self.counters("a connect that fails") { $0.connectFailuresTotal > before }
    }

    /// Waits until the route reports this trouble, or none if it is `nil`. Returns the route's status.
    @discardableResult
    func trouble(_ trouble: RouteTrouble?) async throws -> RouteStatus {
        let deadline = NIODeadline.now() + WaitTimeout.limit
        while true {
            let status = try await self.onLoop { $0.transport.status(route: 0) }
            if status.trouble == trouble { return status }
            guard NIODeadline.now() < deadline else {
                throw WaitTimeout(description: "waited in vain for \(String(describing: trouble)): \(status)")
            }
            await Task.yield()
        }
    }

    /// Waits until no connection is open.
    func connectionsClose() async throws {
        try await self.counters("connections that close") { $0.connectionsOpen == 0 }
    }

    /// Polls the loop until the route's counters satisfy `condition`.
    private func counters(_ awaited: String, _ condition: (RouteCounters) -> Bool) async throws {
        let deadline = NIODeadline.now() + WaitTimeout.limit
        while true {
            let counters = try await self.counters()
            guard !condition(counters) else { return }
            guard NIODeadline.now() < deadline else {
                throw WaitTimeout(description: "waited in vain for \(awaited): \(counters)")
            }
            await Task.yield()
        }
    }
}
