import APNSPool
import APNSProtocol
import HTTP2Session
import NIOCore
import NIOPosix
import PushModel
import TLSSession
import Testing

@testable import PushTransport

/// Tests of the trouble that a route reports when nothing can be pushed. They use real sockets, and push only where
/// that is needed.
@Suite(.timeLimit(.minutes(2)))
struct TroubleTests {
    /// The configuration of a pool that keeps one connection open, as one shard does for each route.
    private var watching: ConnectionPoolConfiguration {
        var pool = one
        pool.connectionsWarm = 1
        return pool
    }

    @Test func nobodyListens() async throws {
        let authority = try CertificateAuthority.forTests()
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let server = try await LoopbackServer.start(on: loop, authority: authority) { _ in .ok }
        try await server.stop()
        try await TransportBench.with(port: server.port, authorityPEM: authority.certificatePEM, pool: self.watching) {
            let status = try await $0.trouble(.unreachable)
            #expect(status.connectFailure == "Connection refused")
            #expect(!status.wasReached)
            // The route reports no trouble when a server listens there again.
            let back = try await LoopbackServer.start(on: loop, port: server.port, authority: authority) { _ in .ok }
            let standingAgain = try await $0.trouble(nil)
            #expect(standingAgain.wasReached)
            try await back.stop()
        }
    }

    @Test func anUnknownAuthority() async throws {
        let server = try await LoopbackServer.start(on: MultiThreadedEventLoopGroup.singleton.next()) { _ in .ok }
        let other = try CertificateAuthority.forTests()
        try await TransportBench.with(port: server.port, authorityPEM: other.certificatePEM, pool: self.watching) {
            let status = try await $0.trouble(.notAPNs)
            #expect(status.connectFailure.contains("certificate is not accepted"))
        }
        try await server.stop()
    }

    @Test func anotherProtocol() async throws {
        let server = try await LoopbackServer.start(
            on: MultiThreadedEventLoopGroup.singleton.next(), speaksHTTP2: false
        ) { _ in .ok }
        try await TransportBench.with(port: server.port, authorityPEM: server.authorityPEM, pool: self.watching) {
            let status = try await $0.trouble(.notAPNs)
            #expect(status.connectFailure.contains("does not speak"))
        }
        try await server.stop()
    }

    /// The route reports a server that accepts TCP connections but sends nothing, as `nc -l` does. It does so before
    /// the attempt to connect is given up.
    @Test func aSilentServer() async throws {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        var pool = self.watching
        pool.connectTimeoutMillis = 20_000
        let authority = try CertificateAuthority.forTests()
        let port = try #require(channel.localAddress?.port)
        try await TransportBench.with(
            port: port, authorityPEM: authority.certificatePEM, pool: pool
        ) { bench in
            try await bench.trouble(.silentServer)
            let counters = try await bench.counters()
            #expect(counters.connectFailuresTotal == 0, "named before the attempt is given up")
        }
        try await channel.close().get()
    }

    @Test func noStreams() async throws {
        var settings = HTTP2ServerSettings()
        settings.concurrentStreamsMax = 0
        try await withServer({ _ in .ok }, pool: self.watching, settings: settings) { _, bench in
            try await bench.trouble(.noStreams)
        }
    }

    @Test func noAnswers() async throws {
        var pool = self.watching
        pool.requestTimeoutMillis = 300
        try await withServer({ $0.number < 3 ? .hold : .ok }, pool: pool, resends: .unknown) { _, bench in
            async let answers = bench.send(1)
            try await bench.trouble(.noAnswers)
            _ = try await answers
            try await bench.trouble(nil)
        }
    }

    @Test func everyTokenIsCalledExpired() async throws {
        try await withServer({ _ in .refuse(status: 403, reason: "ExpiredProviderToken") }, pool: self.watching) {
            _, bench in
            _ = try await bench.send(1)
            let status = try await bench.trouble(.providerTokenExpired)
            #expect(status.reason == "ExpiredProviderToken")
        }
    }

    // MARK: Lines in the log

    @Test func connectionsThatWeCloseAreNotSaidToBeClosedByThePeer() async throws {
        let lines = CaughtLines()
        var pool = one
        pool.idleCloseMillis = 50
        try await withServer({ _ in .ok }, pool: pool, logger: lines.logger()) { _, bench in
            try await bench.expectAccepted(1)
            try await bench.connectionEnds()
        }
        let ends = lines.all.filter { $0.contains("connection ended") }
        #expect(ends.count == 1 && ends[0].contains("cause=idle"), "\(ends)")
    }

    @Test func anUnknownRefusalIsToldOnceAtFirst() async throws {
        let lines = CaughtLines()
        try await withServer(
            { _ in .refuse(status: 418, reason: "Teapot") }, resends: .nothing, logger: lines.logger()
        ) { _, bench in
            _ = try await bench.send(50)
        }
        let told = lines.all.filter { $0.contains("Teapot") }
        #expect(told.count == 1, "\(told)")
        #expect(told.first?.contains("status=418") == true && told.first?.hasPrefix("warning") == true)
        #expect(told.first?.contains("not one that Apple documents") == true)
    }
}

/// Tests of the refusal log. Each kind of refusal gets a line at once, and then at most one a minute.
struct RefusalLogTests {
    private func kind(_ status: UInt16, _ reason: String = "") -> RefusalLog.Kind {
        .init(status: status, reason: reason)
    }

    @Test func theFirstOfAKindIsToldAndTheRestIsCounted() {
        var log = RefusalLog()
        let tooLarge = self.kind(413, "PayloadTooLarge")
        let first = log.admit(tooLarge, nowMillis: 0)
        let other = log.admit(self.kind(400, "BadTopic"), nowMillis: 1)
        #expect(first == 0 && other == 0)
        for now in 2...59_999 as ClosedRange<Int64> {
            let again = log.admit(tooLarge, nowMillis: now)
            #expect(again == nil)
        }
        let later = log.admit(tooLarge, nowMillis: 60_000)
        let next = log.admit(tooLarge, nowMillis: 60_001)
        #expect(later == 59_998 && next == nil)
    }

    @Test func madeUpReasonsAreBounded() {
        var log = RefusalLog()
        var told = 0
        for number in 0..<10_000 where log.admit(self.kind(400, "Reason\(number)"), nowMillis: 0) != nil { told += 1 }
        #expect(told == RefusalLog.kindCountMax + 1)
    }
}
