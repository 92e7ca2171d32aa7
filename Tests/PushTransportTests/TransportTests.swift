import APNSPool
import APNSProtocol
import HTTP2Session
import NIOCore
import NIOPosix
import TLSSession
import Testing

@testable import PushTransport

/// Tests of the transport with a scripted server, over real sockets, TLS and HTTP/2.
@Suite(.timeLimit(.minutes(2)))
struct TransportTests {
    @Test func pushesAreAcceptedWithTheHeadersAppleAsksFor() async throws {
        try await withServer({ _ in .ok }) { server, bench in
            let answers = try await bench.send(500)
            #expect(answers.allSatisfy { $0 == .accepted })
            let requests = try await server.requests()
            #expect(requests.count == 500)
            let first = try #require(requests.first)
            #expect(first.fields[":method"] == "POST")
            #expect(first.fields[":path"] == "/3/device/" + Player.token(0))
            #expect(first.fields[":authority"] == "127.0.0.1:\(server.port)")
            #expect(first.fields["apns-topic"] == "com.example.pizza.push-type.liveactivity")
            #expect(first.fields["apns-push-type"] == "liveactivity")
            #expect(first.fields["apns-priority"] == "10")
            #expect(first.fields["apns-expiration"] == "1700000000")
            #expect(first.fields["apns-id"] == "01234567-89ab-4def-8000-000000000000")
            #expect(first.fields["authorization"]?.hasPrefix("bearer ey") == true)
            #expect(first.body.count == 200)
            let duplicates = try await bench.duplicateAnswers()
            #expect(duplicates == 0)
            let counters = try await bench.counters()
            #expect(counters.responses.status200 == 500)
            #expect(counters.streamsInFlight == 0)
        }
    }

    @Test func theFirstRequestOfAConnectionGoesAlone() async throws {
        // The server raises the stream limit before it answers the first request. The client must still wait for that
        // answer before it sends the other requests.
        try await withServer({ request in request.number == 1 ? .limitAfterPing(1_000) : .ok }, pool: one) {
            server, bench in
            _ = try await bench.send(100)
            let counts = try await server.countsAtPings()
            #expect(counts == [1])
            let requests = try await server.requests()
            #expect(requests.count == 100)
        }
    }

    @Test func goAwayInFlightLosesNothing() async throws {
        try await withServer({ request in
            switch (request.connection, request.numberOnConnection) {
            case (1, 300): .goAway(reason: "Shutdown")
            default: .ok
            }
        }) { server, bench in
            let answers = try await bench.send(2_000)
            #expect(answers.count == 2_000)
            #expect(answers.allSatisfy { $0 == .accepted })
            let counters = try await bench.counters()
            #expect(counters.goAways["Shutdown"] == 1)
            let requestCount = try await server.requests().count
            #expect(requestCount >= 2_000)
            let connections = try await server.connectionCount()
            #expect(connections >= 2)
        }
    }

    @Test func goAwayBelowTheRequestMeansNotProcessed() async throws {
        try await withServer(
            { request in request.number == 2 ? .goAwayBefore(reason: "") : .ok }, pool: one, resends: .nothing
        ) { _, bench in
            _ = try await bench.send(1)
            let answers = try await bench.send(1)
            #expect(answers == [.notProcessed])
            let goAways = try await bench.counters().goAways
            #expect(goAways == ["NO_ERROR": 1])
        }
    }

    @Test func theStreamLimitIsFollowedDownToOneAndBack() async throws {
        try await withServer(
            { request in
                switch request.number {
                case 100: .limit(1)
                case 200: .limit(1_000)
                default: .ok
                }
            }, pool: one
        ) { server, bench in
            let answers = try await bench.send(1_500)
            #expect(answers.allSatisfy { $0 == .accepted })
            let connections = try await server.connectionCount()
            #expect(connections == 1)
        }
    }

    @Test func refusedStreamsGoOutAgain() async throws {
        try await withServer({ request in request.number.isMultiple(of: 7) ? .reset(.refusedStream) : .ok }) {
            _, bench in
            let answers = try await bench.send(1_000)
            #expect(answers.allSatisfy { $0 == .accepted })
            let resets = try await bench.counters().resetsTotal
            #expect(resets > 100)
        }
    }

    @Test func anotherResetIsUnknown() async throws {
        try await withServer({ request in request.number == 2 ? .reset(.internalError) : .ok }) { _, bench in
            _ = try await bench.send(1)
            let answers = try await bench.send(1)
            #expect(answers == [.unknown(detail: "stream reset by APNs: INTERNAL_ERROR")])
        }
    }

    @Test func aMissingAnswerTimesOutAndTheOthersGoOn() async throws {
        var pool = one
        pool.requestTimeoutMillis = 700
        try await withServer({ request in request.number == 5 ? .hold : .ok }, pool: pool) { server, bench in
            let answers = try await bench.send(50)
            #expect(answers.count { $0 == .accepted } == 49)
            #expect(answers.contains(.unknown(detail: "no answer within 700 ms")))
            let timeouts = try await bench.counters().timeoutsTotal
            #expect(timeouts == 1)
        }
    }

    @Test func creditFreedByTimeoutsIsPassedOn() async throws {
        var pool = one
        pool.streamsPerConnectionMax = 3
        pool.requestTimeoutMillis = 300
        // The server never answers two of every three requests. Their credit returns when the streams are reset, which
        // no answer reports.
        try await withServer({ request in request.number % 3 == 1 ? .ok : .hold }, pool: pool) { _, bench in
            let answers = try await bench.send(20)
            #expect(answers.count == 20)
        }
    }

    @Test func aConnectionThatAnswersNothingIsReplaced() async throws {
        var pool = one
        pool.requestTimeoutMillis = 1_000
        pool.drainTimeoutMillis = 50
        // The first connection answers PINGs, but no requests after the third.
        try await withServer(
            { request in request.connection == 1 && request.numberOnConnection > 3 ? .hold : .ok }, pool: pool
        ) {
            server, bench in
            let answers = try await bench.send(20)
            #expect(answers.count == 20)
            #expect(answers.contains { if case .unknown = $0 { true } else { false } })
            try await bench.expectAccepted(20)
            let connections = try await server.connectionCount()
            #expect(connections == 2)
        }
    }

    @Test func aFrozenConnectionIsFoundByPing() async throws {
        var pool = one
        pool.pingAfterSilenceMillis = 100
        pool.pingTimeoutMillis = 700
        try await withServer(
            { request in request.connection == 1 && request.numberOnConnection == 4 ? .freeze : .ok }, pool: pool
        ) {
            server, bench in
            let answers = try await bench.send(100)
            #expect(answers.count == 100)
            let counters = try await bench.counters()
            #expect(counters.pingsTotal >= 1)
            #expect(counters.timeoutsTotal == 0)
            try await bench.expectAccepted(10)
        }
    }

    @Test func answeredPingsKeepAConnectionThatIsSilentOtherwise() async throws {
        var pool = one
        pool.pingAfterSilenceMillis = 20
        pool.pingTimeoutMillis = 2_000
        pool.requestTimeoutMillis = 300
        try await withServer({ request in request.number == 2 ? .hold : .ok }, pool: pool) { _, bench in
            _ = try await bench.send(1)
            let answers = try await bench.send(1)
            #expect(answers == [.unknown(detail: "no answer within 300 ms")])
            let counters = try await bench.counters()
            #expect(counters.pingsTotal >= 2, "a PING answered, and asked again")
        }
    }

    @Test(arguments: [1, 2, 100]) func aDroppedConnectionIsReplacedAndItsRequestsAreUnknown(number: Int) async throws {
        try await withServer({ request in request.number == number ? .drop : .ok }, pool: one) { server, bench in
            let answers = try await bench.send(300)
            #expect(answers.count == 300)
            #expect(answers.contains { if case .unknown = $0 { true } else { false } })
            try await bench.expectAccepted(50)
            let connections = try await server.connectionCount()
            #expect(connections == 2)
        }
    }

    @Test func aConnectionCutInsideARecordIsReplaced() async throws {
        try await withServer({ request in request.number == 10 ? .cutMidFrame : .ok }, pool: one) { _, bench in
            let answerCount = try await bench.send(100).count
            #expect(answerCount == 100)
            try await bench.expectAccepted(50)
        }
    }

    @Test func garbageEndsTheConnectionOnly() async throws {
        try await withServer({ request in request.number == 10 ? .garbage : .ok }, pool: one) { server, bench in
            let answerCount = try await bench.send(100).count
            #expect(answerCount == 100)
            try await bench.expectAccepted(50)
            let connections = try await server.connectionCount()
            #expect(connections == 2)
        }
    }

    @Test func refusalsCarryStatusAndReason() async throws {
        try await withServer({ request in request.number == 2 ? .refuse(status: 410, reason: "Unregistered") : .ok }) {
            _, bench in
            _ = try await bench.send(1)
            let answers = try await bench.send(1)
            #expect(
                answers == [
                    .response(PushResponse(status: 410, reason: "Unregistered"))
                ])
        }
    }

    @Test func serverErrorsOpenTheBreakerAndTheRouteRecovers() async throws {
        var pool = one
        pool.busyStreakMax = 5
        try await withServer(
            { request in (20...60).contains(request.number) ? .refuse(status: 503, reason: "ServiceUnavailable") : .ok
            },
            pool: pool, resends: .busy
        ) { _, bench in
            let answers = try await bench.send(200)
            #expect(answers.allSatisfy { $0 == .accepted })
            let breakerOpen = try await bench.counters().breakerOpen
            #expect(breakerOpen == 0)
        }
    }

    @Test func anExpiredProviderTokenGetsANewConnection() async throws {
        try await withServer(
            { request in
                request.connection == 1 && request.numberOnConnection >= 10
                    ? .refuse(status: 403, reason: "ExpiredProviderToken") : .ok
            }, pool: one, resends: .busy
        ) { server, bench in
            let answers = try await bench.send(100)
            #expect(answers.allSatisfy { $0 == .accepted })
            let connections = try await server.connectionCount()
            #expect(connections >= 2)
        }
    }

    @Test func refusedCredentialsPauseTheRouteUntilAProbeSucceeds() async throws {
        try await withServer(
            { request in request.number <= 6 ? .refuse(status: 403, reason: "InvalidProviderToken") : .ok },
            pool: one, resends: .busy
        ) { server, bench in
            try await bench.expectAccepted(30)
            // The first request of a connection goes alone. Three refusals in a row pause the route. Each probe then
            // uses a new connection.
            let connections = try await server.connectionCount()
            #expect(connections >= 3)
            let credentialsRefused = try await bench.counters().credentialsRefused
            #expect(credentialsRefused == 0)
        }
    }

    @Test func aForeignCertificateIsNotTrusted() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let server = try await LoopbackServer.start(on: group.next()) { _ in .ok }
        let other = try await LoopbackServer.start(on: group.next()) { _ in .ok }
        try await TransportBench.with(port: server.port, authorityPEM: other.authorityPEM, pool: one) { bench in
            try await bench.connectFails()
            let seen = try await server.requests()
            #expect(seen.isEmpty)
        }
        try await server.stop()
        try await other.stop()
    }

    @Test func aCertificateForAnotherNameIsNotTrusted() async throws {
        let server = try await LoopbackServer.start(on: MultiThreadedEventLoopGroup.singleton.next()) { _ in .ok }
        try await TransportBench.with(
            port: server.port, authorityPEM: server.authorityPEM, serverName: "api.push.apple.com", pool: one
        ) {
            try await $0.connectFails()
        }
        let seen = try await server.requests()
        #expect(seen.isEmpty)
        try await server.stop()
    }

    @Test func aServerWithoutHTTP2IsRefused() async throws {
        let server = try await LoopbackServer.start(
            on: MultiThreadedEventLoopGroup.singleton.next(), speaksHTTP2: false
        ) { _ in .ok }
        try await TransportBench.with(port: server.port, authorityPEM: server.authorityPEM, pool: one) {
            try await $0.connectFails()
        }
        try await server.stop()
    }

    @Test func serviceResumesAfterAnOutage() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let first = try await LoopbackServer.start(on: loop) { _ in .ok }
        let port = first.port
        let authority = try CertificateAuthority.forTests()
        try await first.stop()
        let before = try await LoopbackServer.start(on: loop, port: port, authority: authority) { _ in .ok }
        try await TransportBench.with(port: port, authorityPEM: authority.certificatePEM, pool: one) { bench in
            try await bench.expectAccepted(10)
            try await before.stop()
            // The test waits until the pool has seen the end of the connection. Otherwise the pushes would leave on the
            // old connection, and their answers would be unknown.
            try await bench.connectionsClose()
            async let answers = bench.send(20)
            try await bench.connectFails(thenStop: false)
            let after = try await LoopbackServer.start(on: loop, port: port, authority: authority) { _ in .ok }
            let answerCount = try await answers.count
            #expect(answerCount == 20)
            try await bench.expectAccepted(20)
            try await after.stop()
        }
    }

    @Test func bigBodiesPassASmallWindow() async throws {
        var settings = HTTP2ServerSettings()
        settings.initialWindowByteCount = 1_000
        try await withServer({ _ in .ok }, settings: settings) { server, bench in
            try await bench.expectAccepted(300, bodyByteCount: 4_096)
            let bodies = try await server.requests()
            #expect(bodies.allSatisfy { $0.body.count == 4_096 })
        }
    }

    /// An idle transport requests no turns. Otherwise the loop would never read its sockets, or would keep a core busy.
    @Test func atRestItAsksForNoTurn() async throws {
        try await withServer({ _ in .ok }) { _, bench in
            try await bench.expectAccepted(100)
            // After these 20 calls, the last answers have no further effects.
            for _ in 0..<20 { try await bench.onLoop { _ in } }
            let before = try await bench.onLoop { $0.turnCount }
            for _ in 0..<200 { try await bench.onLoop { _ in } }
            let after = try await bench.onLoop { $0.turnCount }
            // A measurement of the in-flight window may end meanwhile, so a few turns are allowed.
            #expect(after - before <= 2)
        }
    }

    @Test func closedItTakesNothingMore() async throws {
        try await withServer({ _ in .ok }) { _, bench in
            _ = try await bench.send(100)
            try await bench.onLoop { $0.close() }
            let credit = try await bench.onLoop { $0.transport.routes[0].pool.credit }
            #expect(credit == 0)
            let connectionsOpen = try await bench.counters().connectionsOpen
            #expect(connectionsOpen == 0)
        }
    }
}
