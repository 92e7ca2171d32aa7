import APNSPool
import APNSProtocol
import Foundation
import Logging
import NIOCore
import NIOPosix
import PushModel
import TLSSession

@testable import PushTransport

/// A transport on a loop of its own, with a `Player` in place of the engine. The player keeps pushes until there is
/// credit. It collects their answers, and sends some of the pushes again.
final class TransportBench: Sendable {
    let group: MultiThreadedEventLoopGroup
    let store: ProviderTokenStore
    private let player: NIOLoopBound<Player>
    private let keyPath: String

    static func with<Result: Sendable>(
        port: Int, proxy: ProxyAccess? = nil, authorityPEM: [UInt8], resends: Resends = .unprocessed,
        serverName: String = "localhost", pool: ConnectionPoolConfiguration = .forTests, key: ES256PrivateKey? = nil,
        logger: Logger? = nil,
        _ body: (TransportBench) async throws -> Result
    ) async throws -> Result {
        let bench = try await TransportBench(
            port: port, proxy: proxy, authorityPEM: authorityPEM, resends: resends, serverName: serverName, pool: pool,
            key: key ?? .generate(), logger: logger)
        let result: Result
        do {
            result = try await body(bench)
        } catch {
            try? await bench.stop()
            throw error
        }
        try await bench.stop()
        return result
    }

    private init(
        port: Int, proxy: ProxyAccess?, authorityPEM: [UInt8], resends: Resends, serverName: String,
        pool: ConnectionPoolConfiguration, key: ES256PrivateKey, logger given: Logger?
    ) async throws {
        self.group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let path = NSTemporaryDirectory() + "transport-test-\(UUID().uuidString).p8"
        try Data(key.pem()).write(to: URL(fileURLWithPath: path))
        self.keyPath = path
        var logger = given ?? Logger(label: "transport-tests")
        if given == nil {
            logger.logLevel = ProcessInfo.processInfo.environment["TRANSPORT_TEST_LOG"] == nil ? .critical : .debug
        }
        let store = try ProviderTokenStore(
            keys: [ProviderKey(keyID: "ABCDE12345", teamID: "TEAM123456", path: path)], logger: logger)
        self.store = store
        let loop = self.group.next()
        var route = RouteConfiguration(name: "test", host: "127.0.0.1", port: port, providerKey: 0)
        route.serverName = serverName
        route.trustRoots = .pem(authorityPEM)
        route.pool = pool
        route.proxy = proxy
        self.player = try await loop.submit { [route, logger] in
            let transport = try ShardTransport(
                eventLoop: loop, routes: [route], bundleIDs: ["com.example.pizza"], providerTokens: store,
                randomSeed: 7, logger: logger)
            return NIOLoopBound(
                Player(transport: transport, resends: resends), eventLoop: loop)
        }.get()
    }

    private func stop() async throws {
        try await self.onLoop { $0.close() }
        try? FileManager.default.removeItem(atPath: self.keyPath)
        try await self.group.shutdownGracefully()
    }

    /// Sends `count` pushes and waits for their final answers. Returns the answers in the order of the pushes.
    func send(_ count: Int, bodyByteCount: Int = 200) async throws -> [PushAnswer.Result] {
        let promise = self.group.next().makePromise(of: [PushAnswer.Result].self)
        try await self.onLoop { $0.send(count, bodyByteCount: bodyByteCount, promise) }
        return try await promise.futureResult.get()
    }

    /// Sends requests of any kind and waits for their answers. Only the requests' ids are changed.
    func ask(_ requests: [PushRequest]) async throws -> [PushAnswer.Result] {
        let promise = self.group.next().makePromise(of: [PushAnswer.Result].self)
        try await self.onLoop { $0.send(requests.count, bodyByteCount: 0, asking: requests, promise) }
        return try await promise.futureResult.get()
    }

    func counters() async throws -> RouteCounters { try await self.onLoop { $0.transport.counters(route: 0) } }
    /// Number of answers to pushes that already had an answer.
    func duplicateAnswers() async throws -> Int { try await self.onLoop { $0.duplicateAnswers } }

    func onLoop<Result: Sendable>(_ body: @escaping @Sendable (Player) throws -> Result) async throws -> Result {
        let player = self.player
        return try await self.group.next().submit { try body(player.value) }.get()
    }
}

/// Says after which answers a push is sent again. Other answers are final. Each case includes the cases before it.
enum Resends: Int, Sendable {
    case nothing, unprocessed, busy, unknown
}

/// The part of the bench that acts as the engine. It is confined to the loop.
final class Player {
    let transport: ShardTransport
    private let resends: Resends
    private var ready: [Int] = []
    private var finals: [PushAnswer.Result?] = []
    private var missing = 0
    private var promise: EventLoopPromise<[PushAnswer.Result]>?
    private var body: [UInt8] = []
    /// Requests to send instead of pushes; empty if pushes are sent.
    private var requests: [PushRequest] = []
    private var inFlight: Set<UInt64> = []
    private(set) var duplicateAnswers = 0
    private(set) var turnCount = 0
    private var driver: TransportDriver?

    init(transport: ShardTransport, resends: Resends) {
        self.transport = transport
        self.resends = resends
        let driver = TransportDriver(transport) { [unowned self] answers in
            self.turnCount += 1
            self.take(answers)
            self.pump()
        }
        self.driver = driver
        driver.start()
    }

    /// Closes the transport. Answers that would still arrive are ignored.
    func close() { self.driver?.close() }

    static let timestampSeconds = Int(Date().timeIntervalSince1970)

    /// The device token of a push: 64 hex digits that end in its number.
    static func token(_ push: Int) -> String {
        let number = String(push, radix: 16)
        return "ab" + String(repeating: "0", count: 62 - number.count) + number
    }

    func send(
        _ count: Int, bodyByteCount: Int, asking requests: [PushRequest] = [],
        _ promise: EventLoopPromise<[PushAnswer.Result]>
    ) {
        precondition(self.missing == 0, "one batch at a time")
        self.requests = requests
        self.finals = Array(repeating: nil, count: count)
        self.missing = count
        self.ready = Array((0..<count).reversed())
        self.promise = promise
        promise.expect(on: self.transport.eventLoop) { self.missingAnswers }
        let head = Array(
            "{\"aps\":{\"timestamp\":\(Self.timestampSeconds),\"event\":\"update\",\"content-state\":{\"x\":\"".utf8)
        let tail = Array("\"}}}".utf8)
        let padding = max(0, bodyByteCount - head.count - tail.count)
        self.body = head + Array(repeating: UInt8(ascii: "y"), count: padding) + tail
        self.driver?.wake()
    }

    private var missingAnswers: String {
        let open = self.finals.indices.filter { self.finals[$0] == nil }
        return "\(self.missing) of \(self.finals.count) pushes without final answer (\(open.prefix(10)) …): "
            + "\(self.inFlight.count) handed to the transport (\(self.inFlight.sorted().prefix(10)) …), "
            + "\(self.ready.count) waiting for credit \(self.transport.routes[0].pool.credit); "
            + "\(self.transport.counters(route: 0))"
    }

    private func pump() {
        _ = self.transport.submit(route: 0, max: self.ready.count) { request in
            let push = self.ready.removeLast()
            self.inFlight.insert(UInt64(push))
            guard self.requests.isEmpty else {
                request = self.requests[push]
                request.id = PushID(rawValue: UInt64(push))
                return true
            }
            request.id = PushID(rawValue: UInt64(push))
            request.kind = .device
            request.app = 0
            request.priority = push.isMultiple(of: 2) ? .high : .low
            request.expirationSeconds = 1_700_000_000
            request.apnsID = (0x0123_4567_89ab_4def, 0x8000_0000_0000_0000 | UInt64(push))
            request.target.removeAll(keepingCapacity: true)
            request.target.append(contentsOf: Self.token(push).utf8)
            request.body.removeAll(keepingCapacity: true)
            request.body.append(contentsOf: self.body)
            return true
        }
        if !self.ready.isEmpty { self.transport.wantsCredit(route: 0) }
    }

    private func take(_ answers: [PushAnswer]) {
        for answer in answers {
            guard self.inFlight.remove(answer.id.rawValue) != nil else {
                self.duplicateAnswers += 1
                continue
            }
            let push = Int(answer.id.rawValue)
            switch answer.result {
            case .notProcessed where self.resends.rawValue >= Resends.unprocessed.rawValue: self.ready.append(push)
            case .response(let response)
            where self.resends.rawValue >= Resends.busy.rawValue && response.status != 410:
                self.ready.append(push)
            case .unknown where self.resends == .unknown: self.ready.append(push)
            case .accepted, .channel, .response, .notProcessed, .unknown:
                self.finals[push] = answer.result
                self.missing -= 1
            }
        }
        if self.missing == 0, let promise = self.promise {
            self.promise = nil
            promise.succeed(self.finals.compactMap { $0 })
        }
    }
}

extension ConnectionPoolConfiguration {
    /// A configuration with short time limits, so that timeouts happen soon.
    static var forTests: ConnectionPoolConfiguration {
        var configuration = ConnectionPoolConfiguration()
        configuration.connectionsMax = 2
        configuration.connectTimeoutMillis = 5_000
        configuration.requestTimeoutMillis = 5_000
        configuration.drainTimeoutMillis = 200
        configuration.backoffMinMillis = 20
        configuration.backoffMaxMillis = 100
        configuration.refusedProbeMinMillis = 20
        configuration.refusedProbeMaxMillis = 100
        configuration.lifeMillisMin = 0
        configuration.growthPauseMillis = 20
        return configuration
    }
}

extension Player {
    /// Asks for credit, as if a push waited.
    func wantOne() {
        self.transport.beginTurn()
        self.transport.wantsCredit(route: 0)
        self.transport.endTurn()
    }
}
