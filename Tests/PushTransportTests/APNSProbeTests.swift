import Foundation
import HTTP2Session
import NIOCore
import NIOPosix
import TLSSession
import Testing

@testable import PushTransport

/// Tests of `APNSProbe`, which tries a connection step by step. They use real sockets, TLS and HTTP/2.
@Suite(.timeLimit(.minutes(2)))
struct APNSProbeTests {
    private static let request = APNSProbe.Request(
        path: "/3/device/00", fields: [("authorization", Array("bearer x".utf8)), ("apns-topic", Array("a.b".utf8))],
        body: Array("{}".utf8))

    /// Runs a probe against a scripted server. Returns its report, and the server.
    private static func report(
        _ request: APNSProbe.Request? = nil, host: String = "localhost", trusts: Bool = true, speaksHTTP2: Bool = true,
        limit: Duration = .seconds(20), _ script: @escaping LoopbackServer.Script = { _ in .ok }
    ) async throws -> (APNSProbe.Report, LoopbackServer) {
        let server = try await LoopbackServer.start(
            on: MultiThreadedEventLoopGroup.singleton.next(), speaksHTTP2: speaksHTTP2, script: script)
        let other = try CertificateAuthority(notBeforeSeconds: 1_600_000_000, notAfterSeconds: 4_000_000_000)
        let probe = APNSProbe(
            host: host, port: server.port, trustRoots: .pem(trusts ? server.authorityPEM : other.certificatePEM),
            limit: limit)
        return (await probe.run(request), server)
    }

    @Test func withoutARequestItEndsWhenHTTP2Stands() async throws {
        let (report, server) = try await Self.report()
        #expect(report.step == .ready && report.failure.isEmpty && report.answer == nil && !report.requestLeft)
        #expect(report.tlsVersion == "TLSv1.3" && report.streamsMax != nil && report.address != nil)
        #expect(report.certificates.first?.subject == "/CN=localhost")
        #expect(try await server.requests().isEmpty)
        #expect(try await server.firstFarewell() == Farewell(goAway: true, closeNotify: true))
        try await server.stop()
    }

    @Test func anAnswerIsTold() async throws {
        let (report, server) = try await Self.report(Self.request) { _ in
            .answer(
                status: 400, fields: [["date", "Sun, 06 Nov 1994 08:49:37 GMT"]], body: Array("{\"reason\":\"X\"}".utf8)
            )
        }
        #expect(report.step == .answered && report.failure.isEmpty)
        let answer = try #require(report.answer)
        #expect(answer.status == 400 && answer.body == Array("{\"reason\":\"X\"}".utf8) && answer.micros >= 0)
        #expect(answer.keptField == "Sun, 06 Nov 1994 08:49:37 GMT")
        let seen = try await server.requests()
        #expect(seen.count == 1)
        #expect(seen.first?.fields[":path"] == "/3/device/00" && seen.first?.fields[":method"] == "POST")
        #expect(seen.first?.fields["authorization"] == "bearer x" && seen.first?.body == Array("{}".utf8))
        try await server.stop()
    }

    @Test func anAnswerWithoutTheFieldHasNone() async throws {
        let (report, server) = try await Self.report(Self.request)
        #expect(report.answer?.status == 200 && report.answer?.keptField == nil)
        try await server.stop()
    }

    @Test(arguments: [
        (Reaction.reset(.internalError), "the request failed"), (.drop, "closed"),
        (.goAwayBefore(reason: "IdleTimeout"), "IdleTimeout"),
    ])
    func aRequestThatFailsSaysHow(reaction: Reaction, words: String) async throws {
        let (report, server) = try await Self.report(Self.request) { _ in reaction }
        #expect(report.requestLeft)
        #expect(report.failure.contains(words), "\(report.failure)")
        #expect(report.answer == nil)
        try await server.stop()
    }

    @Test func nobodyAnswersForever() async throws {
        let (report, server) = try await Self.report(Self.request, limit: .milliseconds(300)) { _ in .hold }
        #expect(report.step == .ready && report.requestLeft)
        #expect(report.failure == "no answer within 300 ms")
        try await server.stop()
    }

    @Test func anAuthorityThatIsNotBelievedIsNamed() async throws {
        let (report, server) = try await Self.report(trusts: false)
        #expect(report.step == .connected)
        guard case .certificateRejected? = report.tlsError?.kind else {
            Issue.record("\(report)")
            return
        }
        #expect(report.certificates.first?.subject == "/CN=localhost")
        #expect(report.certificates.last?.issuer == "/CN=Mailboat test authority")
        try await server.stop()
    }

    @Test func aServerWithoutHTTP2IsNoAPNs() async throws {
        let (report, server) = try await Self.report(speaksHTTP2: false)
        #expect(report.step == .connected && report.tlsError?.kind == .noApplicationProtocol)
        try await server.stop()
    }

    @Test func nobodyListens() async throws {
        let (_, server) = try await Self.report()
        let port = server.port
        try await server.stop()
        let report = await APNSProbe(host: "127.0.0.1", port: port, trustRoots: .system, limit: .seconds(20)).run()
        #expect(report.step == .connecting && report.failure == "Connection refused")
    }

    @Test(arguments: ["/nowhere/ca.pem"])
    func trustRootsThatCannotBeReadAreNamed(path: String) async {
        let report = await APNSProbe(host: "127.0.0.1", port: 1, trustRoots: .file(path: path), limit: .seconds(20))
            .run()
        #expect(report.step == .connecting && report.tlsError?.kind == .badTrustRoots)
        #expect(report.failure.contains(path))
    }
}
