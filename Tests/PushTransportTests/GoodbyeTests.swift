import APNSPool
import TLSSession
import Testing

@testable import PushTransport

/// Tests of how connections end. If this side ends a connection, it says so to the peer. If a connection fails, each of
/// its pushes gets an answer.
@Suite(.timeLimit(.minutes(5))) struct GoodbyeTests {
    /// The peer gets GOAWAY and then close_notify, which say that nothing was cut off (RFC 9113 §5.4.1, RFC 8446 §6.1).
    @Test func aClosedConnectionSaysGoodbye() async throws {
        try await withServer({ _ in .ok }, pool: one) { server, bench in
            try await bench.expectAccepted(100)
            try await bench.onLoop { $0.close() }
            #expect(try await server.firstFarewell() == Farewell(goAway: true, closeNotify: true))
            let connectionsOpen = try await bench.counters().connectionsOpen
            #expect(connectionsOpen == 0)
        }
    }

    /// A connection that is closed because it was idle also sends GOAWAY and close_notify.
    @Test func anIdleConnectionSaysGoodbye() async throws {
        var pool = one
        pool.connectionsWarm = 0
        pool.idleCloseMillis = 50
        try await withServer({ _ in .ok }, pool: pool) { server, bench in
            try await bench.expectAccepted(10)
            #expect(try await server.firstFarewell() == Farewell(goAway: true, closeNotify: true))
            // The next push needs another connection.
            try await bench.expectAccepted(10)
            let connections = try await server.connectionCount()
            #expect(connections >= 2)
        }
    }

    /// A record that TLS refuses ends its connection at once. The pushes on it get answers, and are sent on another
    /// connection.
    @Test func aFailedTLSWriteEndsTheConnection() async throws {
        try await withServer({ _ in .ok }, pool: one, resends: .unknown) { server, bench in
            try await bench.expectAccepted(10)
            try await bench.onLoop { player in
                let connection = player.transport.routes[0].connections.compactMap { $0 }.first
                // This record has an unknown type, so TLS fails. The connection notices that at its next write.
                connection?.tls.receive([UInt8](repeating: 0xff, count: 32).span.bytes) { _ in }
            }
            try await bench.expectAccepted(50)
            let counters = try await bench.counters()
            #expect(counters.closesTotal == 1)
            #expect(counters.timeoutsTotal == 0, "found out by the write, not by waiting")
            let connections = try await server.connectionCount()
            #expect(connections == 2)
        }
    }
}
