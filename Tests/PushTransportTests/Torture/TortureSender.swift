import APNSPool
import APNSProtocol
import Foundation
import Logging
import NIOCore
import NIOPosix
import PushModel
import TLSSession

@testable import PushTransport

/// What has happened to one push in all its attempts.
struct PushHistory: Sendable {
    var attempts = 0
    var notProcessed = 0
    var refused = 0
    var unknown = 0
    /// The final answer: accepted, or `unknown` for a `start`. `nil` before it arrives.
    var final: PushAnswer.Result?
    /// Number of answers that came while no attempt was open, or after the final answer.
    var strayVerdicts = 0
    var isOut = false
}

/// Acts as the engine in a torture test: sends each push until it has its final answer. Pushes that APNs refused or did
/// not process are sent again. After an unknown answer, an update is sent again and a `start` is not.
final class TortureSender: Sendable {
    let group: MultiThreadedEventLoopGroup
    private let player: NIOLoopBound<TorturePlayer>
    private let keyPath: String

    init(port: Int, authorityPEM: [UInt8], key: ES256PrivateKey, pool: ConnectionPoolConfiguration, seed: UInt64)
        async throws
    {
        self.group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        self.keyPath = NSTemporaryDirectory() + "torture-\(UUID().uuidString).p8"
        try Data(key.pem()).write(to: URL(fileURLWithPath: self.keyPath))
        var logger = Logger(label: "torture")
        logger.logLevel = ProcessInfo.processInfo.environment["TRANSPORT_TEST_LOG"] == nil ? .critical : .debug
        let store = try ProviderTokenStore(
            keys: [ProviderKey(keyID: "ABCDE12345", teamID: "TEAM123456", path: self.keyPath)], logger: logger)
        var route = RouteConfiguration(name: "torture", host: "127.0.0.1", port: port, providerKey: 0)
        route.serverName = "localhost"
        route.trustRoots = .pem(authorityPEM)
        route.pool = pool
        let loop = self.group.next()
        self.player = try await loop.submit { [route, logger] in
            let transport = try ShardTransport(
                eventLoop: loop, routes: [route], bundleIDs: ["com.example.pizza"], providerTokens: store,
                randomSeed: seed, logger: logger)
            return NIOLoopBound(TorturePlayer(transport: transport), eventLoop: loop)
        }.get()
    }

    /// Adds `count` pushes, and sends them at once.
    func add(_ count: Int) async throws { try await self.onLoop { $0.add(count) } }

    /// Waits until every push added so far has its final answer.
    func settled() async throws {
        let player = self.player
        try await self.group.next().flatSubmit { player.value.whenSettled() }.get()
    }

    /// Waits until no push is in flight, so that each attempt has its answer.
    func nothingInFlight() async throws {
        let player = self.player
        try await self.group.next().flatSubmit { player.value.whenNothingIsOut() }.get()
    }

    func histories() async throws -> [PushHistory] { try await self.onLoop { $0.histories } }

    func counters() async throws -> RouteCounters { try await self.onLoop { $0.transport.counters(route: 0) } }

    func credit() async throws -> Int { try await self.onLoop { $0.transport.routes[0].pool.credit } }

    func stop() async throws {
        try await self.onLoop { $0.close() }
        try? FileManager.default.removeItem(atPath: self.keyPath)
        try await self.group.shutdownGracefully()
    }

    private func onLoop<Result: Sendable>(_ body: @escaping @Sendable (TorturePlayer) throws -> Result) async throws
        -> Result
    {
        let player = self.player
        return try await self.group.next().submit { try body(player.value) }.get()
    }

    /// Whether a push starts an activity. One in five pushes does.
    static func isStart(_ push: Int) -> Bool { push % 5 == 3 }

    /// The token of a push: 64 hex digits that end in the push's number. No other push has it.
    static func token(_ push: Int) -> String {
        let digits = String(push, radix: 16)
        return "cd" + String(repeating: "0", count: 62 - digits.count) + digits
    }
}

/// The part of the sender that is confined to the loop.
final class TorturePlayer {
    let transport: ShardTransport
    private(set) var histories: [PushHistory] = []
    private var ready: [Int] = []
    private var missing = 0
    private var outCount = 0
    private var waiting: [EventLoopPromise<Void>] = []
    private var waitingForNone: [EventLoopPromise<Void>] = []
    private let update: [UInt8]
    private let start: [UInt8]
    private var driver: TransportDriver?

    init(transport: ShardTransport) {
        self.transport = transport
        let seconds = Int(Date().timeIntervalSince1970)
        let padding = String(repeating: "y", count: 120)
        let state = #""content-state":{"x":"\#(padding)"}"#
        self.update = Array(#"{"aps":{"timestamp":\#(seconds),"event":"update",\#(state)}}"#.utf8)
        self.start = Array(
            (#"{"aps":{"timestamp":\#(seconds),"event":"start",\#(state),"attributes-type":"Pizza","attributes":{},"#
                + #""alert":{"title":"T","body":"B"}}}"#).utf8)
        let driver = TransportDriver(transport) { [unowned self] answers in
            self.take(answers)
            self.pump()
        }
        self.driver = driver
        driver.start()
    }

    func close() { self.driver?.close() }

    func add(_ count: Int) {
        let first = self.histories.count
        self.histories += Array(repeating: PushHistory(), count: count)
        self.ready.insert(contentsOf: (first..<first + count).reversed(), at: 0)
        self.missing += count
        self.driver?.wake()
    }

    func whenSettled() -> EventLoopFuture<Void> {
        let promise = self.transport.eventLoop.makePromise(of: Void.self)
        if self.missing == 0 {
            promise.succeed()
        } else {
            self.waiting.append(promise)
            promise.expect(on: self.transport.eventLoop) { "no last word: \(self.list { $0.final == nil })" }
        }
        return promise.futureResult
    }

    func whenNothingIsOut() -> EventLoopFuture<Void> {
        let promise = self.transport.eventLoop.makePromise(of: Void.self)
        if self.outCount == 0 {
            promise.succeed()
        } else {
            self.waitingForNone.append(promise)
            promise.expect(on: self.transport.eventLoop) { "no verdict: \(self.list { $0.isOut })" }
        }
        return promise.futureResult
    }

    /// Describes the first pushes for which `isMeant` is true, and the transport's state.
    private func list(_ isMeant: (PushHistory) -> Bool) -> String {
        let pushes = self.histories.indices.filter { isMeant(self.histories[$0]) }
        let named = pushes.prefix(10).map {
            "push \($0)\(TortureSender.isStart($0) ? " (start)" : "") \(self.histories[$0])"
        }
        return "\(pushes.count) of \(self.histories.count) pushes: \(named.joined(separator: "; ")); "
            + "\(self.ready.count) wait for credit \(self.transport.routes[0].pool.credit); "
            + "\(self.transport.counters(route: 0))"
    }

    private func pump() {
        _ = self.transport.submit(route: 0, max: self.ready.count) { request in
            let push = self.ready.removeLast()
            request.id = PushID(rawValue: UInt64(push))
            request.app = 0
            request.priority = push.isMultiple(of: 2) ? .high : .low
            request.expirationSeconds = 0
            request.apnsID = (0x0123_4567_89ab_4def, 0x8000_0000_0000_0000 | UInt64(push))
            request.target.removeAll(keepingCapacity: true)
            request.target.append(contentsOf: TortureSender.token(push).utf8)
            request.body.removeAll(keepingCapacity: true)
            request.body.append(contentsOf: TortureSender.isStart(push) ? self.start : self.update)
            self.histories[push].attempts += 1
            self.histories[push].isOut = true
            self.outCount += 1
            return true
        }
        if !self.ready.isEmpty { self.transport.wantsCredit(route: 0) }
    }

    private func take(_ answers: [PushAnswer]) {
        for answer in answers {
            let push = Int(answer.id.rawValue)
            guard self.histories[push].isOut, self.histories[push].final == nil else {
                self.histories[push].strayVerdicts += 1
                continue
            }
            self.histories[push].isOut = false
            self.outCount -= 1
            switch answer.result {
            case .accepted:
                self.settle(push, answer.result)
            case .notProcessed:
                self.histories[push].notProcessed += 1
                self.ready.append(push)
            case .response, .channel:
                self.histories[push].refused += 1
                self.ready.append(push)
            case .unknown:
                self.histories[push].unknown += 1
                if TortureSender.isStart(push) { self.settle(push, answer.result) } else { self.ready.append(push) }
            }
        }
        self.wakeIfNothingIsOut()
    }

    private func wakeIfNothingIsOut() {
        guard self.outCount == 0 else { return }
        let waiting = self.waitingForNone
        self.waitingForNone.removeAll()
        for promise in waiting { promise.succeed() }
    }

    private func settle(_ push: Int, _ result: PushAnswer.Result) {
        self.histories[push].final = result
        self.missing -= 1
        guard self.missing == 0 else { return }
        let waiting = self.waiting
        self.waiting.removeAll()
        for promise in waiting { promise.succeed() }
    }
}
