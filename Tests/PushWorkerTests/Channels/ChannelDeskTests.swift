import APNSPool
import APNSProtocol
import APNSSimulator
import DeviceModel
import Foundation
import HTTP2Session
import KafkaLog
import Logging
import PushEngine
import PushModel
import PushTransport
import TLSSession
import Testing

@testable import PushWorker

/// Tests of channels with a worker's configuration, against the simulated APNs on real sockets. The tests call the desk
/// directly, and through the admin port.
@Suite(.timeLimit(.minutes(5)))
struct ChannelDeskTests {
    private struct House {
        var simulator: APNSSimulator
        var configuration: WorkerConfiguration
        var desk: ChannelDesk
        var directory: String
        var home: ChannelHome { self.desk.homes[0] }
    }

    private static func with(
        _ change: (inout SimulatorConfiguration) -> Void = { _ in }, _ body: (House) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("desk-\(UUID().uuidString)").path
        let credentials = try CredentialDirectory(
            path: directory, keyID: "TESTKEY123", names: ["localhost", "127.0.0.1"],
            nowSeconds: Int64(Date().timeIntervalSince1970))
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let key = RegisteredKey(
            keyID: "TESTKEY123", teamID: "TESTTEAM12", publicKey: try credentials.providerKey.publicKey())
        var settings = SimulatorConfiguration()
        settings.managementPort = 0
        change(&settings)
        let simulator = try await APNSSimulator.start(settings, credentials: credentials.credentials, keys: [key])
        var configuration = WorkerConfiguration()
        configuration.pool.requestTimeoutMillis = 2_000
        var app = AppSettings(bundleID: "com.example.pizza")
        app.keyID = "TESTKEY123"
        app.teamID = "TESTTEAM12"
        app.keyFile = credentials.providerKeyPath
        app.production.caFile = credentials.authorityPath
        app.production.manageHost = "127.0.0.1"
        app.production.managePort = try #require(simulator.managementPort)
        configuration.apps = [app]
        var logger = Logger(label: "desk")
        logger.logLevel = .critical
        var limits = ChannelClientLimits()
        limits.backoffMinMillis = 10
        let desk = try await ChannelDesk(configuration, limits: limits, logger: logger)
        let house = House(simulator: simulator, configuration: configuration, desk: desk, directory: directory)
        let result: Result<Void, any Error>
        do { result = .success(try await body(house)) } catch { result = .failure(error) }
        await desk.close()
        await simulator.stop()
        try result.get()
    }

    private static func kind(_ call: () async throws -> some Sendable) async -> ChannelFailure.Kind? {
        do {
            _ = try await call()
            return nil
        } catch {
            return (error as? ChannelFailure)?.kind
        }
    }

    /// An app that is added while the worker runs can use the desk.
    @Test func anotherPlanIsFollowed() async throws {
        try await Self.with { house in
            var configuration = house.configuration
            var app = configuration.apps[0]
            app.engine.bundleID = "com.example.game"
            configuration.apps.append(app)
            let home = ChannelHome(bundleID: "com.example.game", environment: .production)
            #expect(await Self.kind { try await house.desk.list(in: home) } == .notConfigured)
            let plan = WorkerPlan(configuration)
            var logger = Logger(label: "desk")
            logger.logLevel = .critical
            try await house.desk.follow(plan, providerTokens: try ProviderTokenStore(keys: plan.keys, logger: logger))
            #expect(house.desk.homes == [house.home, home])
            let made = try await house.desk.create(.none, in: home)
            #expect(try await house.desk.list(in: home) == [made])
            #expect(try await house.desk.list(in: house.home).isEmpty)
        }
    }

    /// An app that shared another app's key gets its own key. Its channels then use the new key.
    @Test func anAppsOwnKeyIsUsed() async throws {
        try await Self.with { house in
            var logger = Logger(label: "desk")
            logger.logLevel = .critical
            var configuration = house.configuration
            var app = configuration.apps[0]
            app.engine.bundleID = "com.example.game"
            configuration.apps.append(app)
            let shared = WorkerPlan(configuration, following: WorkerPlan(house.configuration))
            let tokens = try ProviderTokenStore(keys: shared.keys, logger: logger)
            let first = try #require(
                try await house.desk.follow(shared, providerTokens: tokens, pause: { _ in await Self.never() }))
            #expect(try await house.desk.follow(shared, providerTokens: tokens) == nil, "nothing has changed")

            let key = try ES256PrivateKey.generate()
            house.simulator.register(
                RegisteredKey(keyID: "GAMEKEY123", teamID: "TESTTEAM12", publicKey: try key.publicKey()))
            configuration.apps[1].keyID = "GAMEKEY123"
            configuration.apps[1].keyFile = house.directory + "/AuthKey_GAMEKEY123.p8"
            try Data(key.pem()).write(to: URL(fileURLWithPath: configuration.apps[1].keyFile))
            let own = WorkerPlan(configuration, following: shared)
            tokens.use(try tokens.read(own.keys))
            let homes = house.desk.homes
            let second = try #require(try await house.desk.follow(own, providerTokens: tokens, pause: { _ in }))
            #expect(house.desk.homes == homes)
            // A request of the first plan may still run when the second plan is in force.
            await second.value
            #expect(house.desk.formerCount == 1)

            house.simulator.revokeKey(id: "TESTKEY123")
            let game = ChannelHome(bundleID: "com.example.game", environment: .production)
            #expect(try await house.desk.list(in: game).isEmpty)
            first.cancel()
            await first.value
            #expect(house.desk.formerCount == 0)
        }
    }

    /// Waits until its task is cancelled.
    private static func never() async {
        let (nothing, continuation) = AsyncStream.makeStream(of: Void.self)
        for await _ in nothing {}
        continuation.finish()
    }

    @Test func channelsComeAndGo() async throws {
        try await Self.with { house in
            var made: [String] = []
            for policy in MessageStoragePolicy.allCases {
                let channel = try await house.desk.create(policy, in: house.home)
                made.append(channel)
                let kept = try await house.desk.storagePolicy(of: channel, in: house.home)
                #expect(kept == policy)
            }
            let listed = try await house.desk.list(in: house.home)
            #expect(listed.sorted() == made.sorted())
            #expect(house.simulator.channels().count == 2)
            try await house.desk.delete(made[0], in: house.home)
            let left = try await house.desk.list(in: house.home)
            #expect(left == [made[1]])
            let gone = made[0]
            let read = await Self.kind { try await house.desk.storagePolicy(of: gone, in: house.home) }
            let deleted = await Self.kind { try await house.desk.delete(gone, in: house.home) }
            #expect(read == .channelNotFound && deleted == .channelNotFound)
        }
    }

    @Test(arguments: [false, true]) func anEmptyListMayHaveNoBody(withoutBody: Bool) async throws {
        try await Self.with({ $0.listsNoChannelsWithoutBody = withoutBody }) { house in
            let listed = try await house.desk.list(in: house.home)
            #expect(listed.isEmpty)
        }
    }

    @Test func anAppWithoutBroadcastsIsToldWhichBox() async throws {
        try await Self.with({ $0.appsWithoutBroadcasts = ["com.example.pizza"] }) { house in
            let made = await Self.kind { try await house.desk.create(.none, in: house.home) }
            let listed = await Self.kind { try await house.desk.list(in: house.home) }
            #expect(made == .featureNotEnabled && listed == .featureNotEnabled)
        }
    }

    @Test func theLimitIsCounted() async throws {
        try await Self.with({ $0.channelsPerAppMax = 2 }) { house in
            for _ in 0..<2 { _ = try await house.desk.create(.none, in: house.home) }
            do throws(ChannelFailure) {
                _ = try await house.desk.create(.none, in: house.home)
                Issue.record("a third channel was made")
            } catch {
                #expect(error.cause == .limitReached(count: 2))
            }
        }
    }

    /// The list holds as many channels as Apple allows.
    @Test func tenThousandChannelsAreListed() async throws {
        try await Self.with { house in
            for _ in 0..<ChannelRequest.countMax {
                #expect(house.simulator.createChannel(app: "com.example.pizza", storage: .none) != nil)
            }
            let listed = try await house.desk.list(in: house.home)
            #expect(listed.count == ChannelRequest.countMax)
        }
    }

    /// A creation that is carried out but gets no answer leaves one channel, not one for each attempt.
    @Test(arguments: [Fault.Effect.cut(applied: true), .stall(applied: true), .reset(.internalError, applied: true)])
    func aCreationWithoutAnAnswerIsNotRepeated(effect: Fault.Effect) async throws {
        try await Self.with { house in
            house.simulator.add(Fault(effect, count: 1, kind: .createChannel))
            let made = await Self.kind { try await house.desk.create(.none, in: house.home) }
            #expect(made == .mayExist)
            let listed = try await house.desk.list(in: house.home)
            #expect(listed.count == 1)
        }
    }

    /// A deletion without an answer is repeated. The repetition finds that the channel is gone.
    @Test(arguments: [Fault.Effect.cut(applied: true), .stall(applied: true), .reset(.internalError, applied: true)])
    func aDeletionWithoutAnAnswerIsRepeated(effect: Fault.Effect) async throws {
        try await Self.with { house in
            let channel = try await house.desk.create(.none, in: house.home)
            house.simulator.add(Fault(effect, count: 1, kind: .deleteChannel))
            try await house.desk.delete(channel, in: house.home)
            #expect(house.simulator.channels().isEmpty)
        }
    }

    @Test(
        arguments: [
            Fault.Effect.answer(status: 503, reason: "Shutdown"), .answer(status: 429, reason: "TooManyRequests"),
            .reset(.refusedStream, applied: false),
        ])
    func whatAPNsDidNotTakeIsRepeated(effect: Fault.Effect) async throws {
        try await Self.with { house in
            house.simulator.add(Fault(effect, count: 2, kind: .createChannel))
            _ = try await house.desk.create(.mostRecent, in: house.home)
            #expect(house.simulator.channels().count == 1)
        }
    }

    // MARK: The admin port

    @Test func anotherServiceMakesAndDeletesChannels() async throws {
        try await Self.with { house in
            let tokenFile = house.directory + "/token"
            try Data(ChannelPagesTests.token.utf8).write(to: URL(fileURLWithPath: tokenFile))
            var logger = Logger(label: "admin")
            logger.logLevel = .critical
            let server = try await AdminServer.start(
                host: "127.0.0.1", port: 0,
                pages: AdminServer.Pages(
                    unhealthy: { nil }, readiness: { Readiness(WorkerSnapshot()) }, metrics: { _ in [] },
                    channels: ChannelPages(desk: house.desk, tokenFile: tokenFile, logger: logger)),
                logger: logger)
            let port = server.port
            let simulator = house.simulator
            let result = await NamedThread.run("admin-client") { Result { try Self.converse(port, simulator) } }
            await server.stop()
            try result.get()
        }
    }

    /// Calls the admin port with blocking sockets.
    private static func converse(_ port: Int, _ simulator: APNSSimulator) throws {
        func ask(_ method: String, _ path: String, _ body: String = "") throws -> (status: Int, json: [String: Any]) {
            let (status, text) = try ChannelPagesTests.exchange(
                port, method, path, token: ChannelPagesTests.token, body: body)
            let start = try #require(text.range(of: "\r\n\r\n")).upperBound
            let json = try JSONSerialization.jsonObject(with: Data(text[start...].utf8)) as? [String: Any]
            return (status, try #require(json))
        }
        let made = try ask("POST", "/channels", "{\"storage\":\"most-recent\"}")
        #expect(made.status == 201)
        let channel = try #require(made.json["channel"] as? String)
        #expect(simulator.channels().map(\.id) == [channel])
        #expect(made.json["storage"] as? String == "most-recent")
        let encoded = try #require(channel.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        for path in [encoded, channel] {
            let shown = try ask("GET", "/channels/\(path)?environment=production")
            #expect(shown.status == 200)
            #expect(shown.json["storage"] as? String == "most-recent")
        }
        let list = try ask("GET", "/channels?app=com.example.pizza")
        #expect(list.json["channels"] as? [String] == [channel])
        #expect(list.json["count"] as? Int == 1)
        let deleted = try ask("DELETE", "/channels/\(encoded)")
        #expect(deleted.status == 200)
        #expect(deleted.json["deleted"] as? Bool == true)
        let again = try ask("DELETE", "/channels/\(encoded)")
        #expect(again.status == 404)
        let error = try #require(again.json["error"] as? [String: Any])
        #expect(error["kind"] as? String == "channel-not-found")
        #expect(error["reason"] as? String == "ChannelNotRegistered")
        #expect(simulator.channels().isEmpty)
    }
}
