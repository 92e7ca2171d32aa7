import APNSPool
import APNSProtocol
import Foundation
import HTTP2Session
import Logging
import NIOCore
import NIOPosix
import PushModel
import TLSSession
import Testing

@testable import PushTransport

/// Tests of `ChannelClient` with a scripted server, over real sockets, TLS and HTTP/2.
@Suite(.timeLimit(.minutes(2)))
struct ChannelClientTests {
    static let home = ChannelHome(bundleID: "com.example.pizza", environment: .production)
    static let channel = "dHN0LXNyY2gtY2hubA=="

    /// Runs `body` with a scripted server and a client. The client trusts the server and has short time limits.
    private static func with(
        limits change: (inout ChannelClientLimits) -> Void = { _ in }, _ script: @escaping LoopbackServer.Script,
        _ body: (ChannelClient, LoopbackServer) async throws -> Void
    ) async throws {
        let server = try await LoopbackServer.start(
            on: MultiThreadedEventLoopGroup.singleton.next(), script: script)
        try await Self.withClient(port: server.port, authorityPEM: server.authorityPEM, limits: change) { client in
            try await body(client, server)
        }
        try await server.stop()
    }

    private static func withClient(
        port: Int, authorityPEM: [UInt8], limits change: (inout ChannelClientLimits) -> Void = { _ in },
        _ body: (ChannelClient) async throws -> Void
    ) async throws {
        let path = NSTemporaryDirectory() + "channel-test-\(UUID().uuidString).p8"
        try Data(ES256PrivateKey.generate().pem()).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        var logger = Logger(label: "channel-tests")
        logger.logLevel = .critical
        let store = try ProviderTokenStore(
            keys: [ProviderKey(keyID: "ABCDE12345", teamID: "TEAM123456", path: path)], logger: logger)
        var route = RouteConfiguration(name: "test/manage", host: "127.0.0.1", port: port, providerKey: 0)
        route.serverName = "localhost"
        route.trustRoots = .pem(authorityPEM)
        route.pool = one
        route.carriesPushes = false
        var limits = ChannelClientLimits()
        limits.backoffMinMillis = 10
        limits.backoffMaxMillis = 40
        change(&limits)
        let client = try await ChannelClient(
            routes: [route], homes: [Self.home: 0], providerTokens: store, limits: limits, logger: logger)
        do {
            try await body(client)
        } catch {
            await client.close()
            throw error
        }
        await client.close()
    }

    /// The result of a call, as text.
    private static func outcome(_ call: () async throws -> some Sendable) async -> String {
        do {
            return "\(try await call())"
        } catch let failure as ChannelFailure {
            return failure.kind.rawValue
        } catch {
            return "\(error)"
        }
    }

    @Test func aChannelIsMadeReadListedAndDeleted() async throws {
        try await Self.with({ request in
            switch (request.fields[":method"], request.fields[":path"]) {
            case ("POST", _): .answer(status: 201, fields: [["apns-channel-id", Self.channel]])
            case ("GET", "/1/apps/com.example.pizza/channels"):
                .answer(status: 200, body: Array("{\"message-storage-policy\":1,\"push-type\":\"LiveActivity\"}".utf8))
            case ("GET", _): .answer(status: 200, body: Array("{\"channels\":[\"\(Self.channel)\",\"b\"]}".utf8))
            default: .answer(status: 204)
            }
        }) { client, server in
            let made = try await client.create(.mostRecent, in: Self.home)
            #expect(made == Self.channel)
            let policy = try await client.storagePolicy(of: Self.channel, in: Self.home)
            #expect(policy == .mostRecent)
            let listed = try await client.list(in: Self.home)
            #expect(listed == [Self.channel, "b"])
            try await client.delete(Self.channel, in: Self.home)
            let requests = try await server.requests()
            #expect(requests.count == 4)
            #expect(requests[0].body == ChannelRequest.creationBody(.mostRecent))
            #expect(requests.map { $0.fields["apns-channel-id"] } == [nil, Self.channel, nil, Self.channel])
            #expect(Set(requests.compactMap { $0.fields["apns-request-id"] }).count == 4)
            let connections = try await server.connectionCount()
            #expect(connections == 1)
        }
    }

    /// If there are no channels, the client reads an empty list, whether the body is empty or an empty list in JSON.
    /// Apple's documentation allows both.
    @Test(arguments: ["", "{\"channels\":[]}"]) func noChannelsAreAnEmptyList(body: String) async throws {
        try await Self.with({ _ in .answer(status: 200, body: Array(body.utf8)) }) { client, _ in
            let listed = try await client.list(in: Self.home)
            #expect(listed.isEmpty)
        }
    }

    /// The client tries again after each failure that allows it.
    @Test(
        arguments: [
            (.refuse(status: 503, reason: "Shutdown"), true),
            (.refuse(status: 500, reason: "InternalServerError"), false),
            (.refuse(status: 429, reason: "TooManyRequests"), true), (.reset(.refusedStream), true),
            (.reset(.internalError), false), (.drop, false), (.cutMidFrame, false),
            (.refuse(status: 403, reason: "InvalidProviderToken"), true),
        ] as [(Reaction, Bool)])
    func whatMayBeRepeatedIs(first: Reaction, creationIsRepeated: Bool) async throws {
        let list = Array("{\"channels\":[]}".utf8)
        try await Self.with({ request in
            request.number == 1 ? first : .answer(status: 200, body: list)
        }) { client, server in
            let listed = try await client.list(in: Self.home)
            #expect(listed.isEmpty)
            let count = try await server.requests().count
            #expect(count == 2)
        }
        try await Self.with({ request in
            request.number == 1 ? first : .answer(status: 201, fields: [["apns-channel-id", Self.channel]])
        }) { client, server in
            let outcome = await Self.outcome { try await client.create(.none, in: Self.home) }
            #expect(outcome == (creationIsRepeated ? Self.channel : "may-exist"))
            let count = try await server.requests().count
            #expect(count == (creationIsRepeated ? 2 : 1))
        }
    }

    @Test func aDeletionRepeatedIsDoneWhenTheChannelIsGone() async throws {
        let gone = Reaction.refuse(status: 400, reason: "ChannelNotRegistered")
        try await Self.with({ request in request.number == 1 ? .drop : gone }) { client, _ in
            try await client.delete(Self.channel, in: Self.home)
            let again = await Self.outcome { try await client.delete(Self.channel, in: Self.home) }
            #expect(again == "channel-not-found")
        }
    }

    /// A client that may make no more channels learns how many there are. It asks APNs, because other programs may have
    /// made some of them.
    @Test func whoReachesTheLimitIsToldHowManyThereAre() async throws {
        let list = Array("{\"channels\":[\"a\",\"b\",\"c\"]}".utf8)
        try await Self.with({ request in
            request.fields[":method"] == "POST"
                ? .refuse(status: 400, reason: "CannotCreateChannelConfig") : .answer(status: 200, body: list)
        }) { client, _ in
            do throws(ChannelFailure) {
                _ = try await client.create(.none, in: Self.home)
                Issue.record("a channel was made")
            } catch {
                #expect(error.cause == .limitReached(count: 3))
            }
        }
    }

    @Test(
        arguments: [
            (.answer(status: 201), "may-exist", "unreadable", "unreadable"),
            (.answer(status: 200, body: Array("<html>".utf8)), "may-exist", "unreadable", "unreadable"),
            (
                .refuse(status: 400, reason: "FeatureNotEnabled"), "feature-not-enabled", "feature-not-enabled",
                "feature-not-enabled"
            ),
            (.refuse(status: 400, reason: "BadChannelId"), "channel-invalid", "channel-invalid", "channel-invalid"),
        ] as [(Reaction, String, String, String)])
    func whatCannotBeUsedIsAFailure(reaction: Reaction, create: String, read: String, list: String) async throws {
        try await Self.with({ _ in reaction }) { client, _ in
            let made = await Self.outcome { try await client.create(.none, in: Self.home) }
            #expect(made == create)
            let policy = await Self.outcome { try await client.storagePolicy(of: "a", in: Self.home) }
            #expect(policy == read)
            // An empty body means an empty list.
            let listed = await Self.outcome { try await client.list(in: Self.home) }
            if case .answer(_, _, []) = reaction { #expect(listed == "[]") } else { #expect(listed == list) }
        }
    }

    @Test func nobodyThereIsSaid() async throws {
        let pem = try CertificateAuthority.forTests().certificatePEM
        let hole = try await LoopbackServer.start(on: MultiThreadedEventLoopGroup.singleton.next()) { _ in .ok }
        try await hole.stop()
        try await Self.withClient(port: hole.port, authorityPEM: pem, limits: { $0.connectionWaitMillis = 200 }) {
            client in
            do throws(ChannelFailure) {
                _ = try await client.list(in: Self.home)
                Issue.record("somebody answered")
            } catch {
                #expect(error.kind == .unreachable)
                #expect("\(error)".contains("Connection refused"), "\(error)")
                #expect("\(error)".contains("manage-host"), "\(error)")
            }
        }
    }

    @Test(arguments: ["", "a b", "a\nb", "ü", String(repeating: "a", count: ChannelID.byteCountMax + 1)])
    func whatIsNoIDIsNotSent(channel: String) async throws {
        try await Self.with({ _ in .answer(status: 204) }) { client, server in
            let outcome = await Self.outcome { try await client.delete(channel, in: Self.home) }
            #expect(outcome == "channel-invalid")
            let requests = try await server.requests()
            #expect(requests.isEmpty)
        }
    }

    @Test func anotherAppIsNotConfigured() async throws {
        try await Self.with({ _ in .ok }) { client, _ in
            let other = ChannelHome(bundleID: "com.example.pizza", environment: .development)
            let outcome = await Self.outcome { try await client.list(in: other) }
            #expect(outcome == "not-configured")
        }
    }

    /// When the client is closed, every waiting caller gets an answer. If the request for a new channel has left, its
    /// caller is told that the channel may exist.
    @Test func closingAnswersWhatIsUnderWay() async throws {
        let server = try await LoopbackServer.start(on: MultiThreadedEventLoopGroup.singleton.next()) { _ in .hold }
        try await Self.withClient(port: server.port, authorityPEM: server.authorityPEM) { client in
            async let made = Self.outcome { try await client.create(.none, in: Self.home) }
            let deadline = NIODeadline.now() + WaitTimeout.limit
            while try await server.requests().isEmpty, NIODeadline.now() < deadline { await Task.yield() }
            await client.close()
            let outcome = await made
            #expect(outcome == "may-exist")
        }
        try await server.stop()
    }

    @Test func moreThanTheLimitAreRefusedAtOnce() async throws {
        try await Self.with(limits: { $0.outstandingMax = 0 }, { _ in .ok }) { client, _ in
            let outcome = await Self.outcome { try await client.list(in: Self.home) }
            #expect(outcome == "overloaded")
        }
    }

    @Test func aListThatIsTooLongIsNotTakenForWhole() async throws {
        let list = Array("{\"channels\":[\"\(String(repeating: "a", count: ChannelRequest.listByteCountMax))\"]}".utf8)
        try await Self.with({ _ in .answer(status: 200, body: list) }) { client, _ in
            do throws(ChannelFailure) {
                _ = try await client.list(in: Self.home)
                Issue.record("it was taken")
            } catch {
                #expect("\(error)".contains("more than \(ChannelRequest.listByteCountMax) bytes"), "\(error)")
            }
        }
    }
}
