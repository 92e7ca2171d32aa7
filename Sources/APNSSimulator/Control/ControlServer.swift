public import Logging
public import Redaction
public import ServiceLifecycle
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Listening
import NIOCore
import PushModel

/// The HTTP control API of a simulator: shows devices and numbers, sets faults, tokens and keys. It is for curl and for
/// tests in other languages.
///
/// It has no authentication: any client that reaches it controls the simulator, except pages in a browser. It listens
/// on loopback by default.
public struct ControlServer: Service {
    let simulator: APNSSimulator
    private let host: String
    private let port: Int
    private let providerTokens: ProviderTokenMint?
    private let logger: Logger
    private let onListening: @Sendable (Int) -> Void

    /// Largest body accepted, bytes.
    static let bodyByteCountMax = 65_536
    /// Maximum number of devices in an answer if the request has no `limit`.
    static let devicesShown = 100

    /// - Parameters:
    ///   - port: 0 for any free one.
    ///   - providerTokens: signs the tokens that `GET /provider-token` returns; `nil`: it returns none.
    ///   - onListening: called with the port when the server accepts requests.
    public init(
        simulator: APNSSimulator, host: String = "127.0.0.1", port: Int, providerTokens: ProviderTokenMint? = nil,
        logger: Logger,
        onListening: @escaping @Sendable (_ port: Int) -> Void = { _ in }
    ) {
        self.simulator = simulator
        self.host = host
        self.port = port
        self.providerTokens = providerTokens
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until it is cancelled or shut down gracefully.
    public func run() async throws {
        let router = Router()
        router.add(middleware: SiteGate(host: self.host))
        router.get("/") { _, _ in Self.plain(Self.help) }
        router.get("/healthz") { _, _ in Self.plain("ok\n") }
        self.addDevices(to: router)
        self.addChannels(to: router)
        self.addStarts(to: router)
        self.addNumbers(to: router)
        self.addFaults(to: router)
        self.addKeys(to: router)
        self.addProviderToken(to: router)
        let onListening = self.onListening
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname(self.host, port: self.port), serverName: nil),
            onServerRunning: { channel in onListening(channel.localAddress?.port ?? 0) }, logger: self.logger)
        try await application.run()
    }

    private func addDevices(to router: Router<BasicRequestContext>) {
        let simulator = self.simulator
        router.get("/devices") { request, _ in
            let prefix = request.uri.queryParameters.get("prefix") ?? ""
            let limit = request.uri.queryParameters.get("limit").map { Int($0) ?? -1 } ?? Self.devicesShown
            guard limit >= 0 else { return Self.refusal("'limit' must be a whole number, 0 or more") }
            return Self.object { json in
                json.array("devices", simulator.devices(prefix: prefix, limit: limit), isOneALine: true) {
                    simulator.appendJSON($0, to: &$1)
                }
            }
        }
        router.get("/devices/:token") { _, context in
            let token = try context.parameters.require("token")
            guard let device = simulator.device(token: token) else {
                return Self.refusal("no push and no setting for this token yet", .notFound)
            }
            return Self.line { simulator.appendJSON(device, to: &$0) }
        }
        router.post("/tokens/:token") { request, context in
            let token = try context.parameters.require("token")
            return try await Self.answering(request) { body async throws(FlatDocument.Refusal) in
                let isDone: Bool
                switch try TokenDocument.read(body) {
                case .state(let state, let sinceMillis):
                    isDone = simulator.setToken(token, state, sinceMillis: sinceMillis)
                case .rotate(let successor, let keepsOld, let sinceMillis):
                    isDone = simulator.rotateToken(
                        from: token, to: successor, keepsOld: keepsOld, sinceMillis: sinceMillis)
                case .kind(let kind):
                    isDone = simulator.setTokenKind(token, kind)
                }
                guard isDone else {
                    throw FlatDocument.Refusal(text: "a token is an even number of hex digits, at most 512")
                }
                return Self.done
            }
        }
    }

    private func addNumbers(to router: Router<BasicRequestContext>) {
        let simulator = self.simulator
        router.get("/stats") { _, _ in try Self.json(encoding: simulator.statistics()) }
        router.get("/violations") { _, _ in try Self.json(encoding: ["violations": simulator.violations()]) }
    }

    private func addFaults(to router: Router<BasicRequestContext>) {
        let simulator = self.simulator
        router.get("/faults") { _, _ in
            let faults = simulator.faults().map { entry in
                FaultView(
                    id: entry.id.rawValue, fired: entry.fired, effect: "\(entry.fault.effect)", rate: entry.fault.rate,
                    left: entry.fault.count.map { $0 - entry.fired }, token: entry.fault.tokenPrefix)
            }
            return try Self.json(encoding: FaultsView(faults: faults, server: ServerFaultsView(simulator.trouble)))
        }
        router.post("/faults") { request, _ in
            try await Self.answering(request) { body async throws(FlatDocument.Refusal) in
                do throws(APNSSimulator.FaultRefusal) {
                    switch try await simulator.takeFault(body) {
                    case .added(let id): return Self.object { $0.member("id", id.rawValue) }
                    case .done(let count): return Self.object { $0.member("connections", count) }
                    case .set: return Self.done
                    }
                } catch {
                    throw FlatDocument.Refusal(text: error.text)
                }
            }
        }
        router.delete("/faults") { _, _ in
            simulator.clearFaults()
            return Self.done
        }
        router.delete("/faults/:id") { _, context in
            guard let id = Int(try context.parameters.require("id")), simulator.remove(FaultID(rawValue: id)) else {
                return Self.refusal("no fault with this id", .notFound)
            }
            return Self.done
        }
    }

    private func addKeys(to router: Router<BasicRequestContext>) {
        let simulator = self.simulator
        router.get("/keys") { _, _ in try Self.json(encoding: ["keys": simulator.keyIDs]) }
        router.post("/keys") { request, _ in
            try await Self.answering(request) { body async throws(FlatDocument.Refusal) in
                simulator.register(try KeyDocument.read(body))
                return Self.done
            }
        }
        router.delete("/keys/:id") { _, context in
            simulator.revokeKey(id: try context.parameters.require("id"))
            return Self.done
        }
    }

    private func addProviderToken(to router: Router<BasicRequestContext>) {
        let (simulator, mint) = (self.simulator, self.providerTokens)
        router.get("/provider-token") { _, _ in
            guard let mint else { return Self.refusal("the simulator holds no private key", .notFound) }
            return Self.plain(String(decoding: try mint.token(nowSeconds: simulator.nowSeconds()), as: UTF8.self))
        }
    }

    private struct FaultView: Encodable {
        var id: Int
        var fired: Int
        var effect: String
        var rate: Double
        var left: Int?
        var token: String
    }

    /// The faults in force.
    private struct FaultsView: Encodable {
        var faults: [FaultView]
        var server: ServerFaultsView
    }

    /// Faults of the whole server, under the names used in requests. Faults that are not in force are left out.
    private struct ServerFaultsView: Encodable {
        struct Latency: Encodable { var millis, jitterMillis: Int64 }
        struct ListLag: Encodable { var millis: Int64 }
        struct Streams: Encodable { var max: UInt32 }
        enum CodingKeys: String, CodingKey { case latency, listLag = "list-lag", refuse, mute, streams }

        var latency: Latency?
        var listLag: ListLag?
        var refuse: Bool?
        var mute: Bool?
        var streams: Streams?

        init(_ trouble: APNSSimulator.Trouble) {
            if trouble.latency != .init() {
                self.latency = Latency(
                    millis: trouble.latency.fixedMillis, jitterMillis: trouble.latency.jitterMillis)
            }
            if trouble.listLagMillis > 0 { self.listLag = ListLag(millis: trouble.listLagMillis) }
            if trouble.refusesConnections { self.refuse = true }
            if trouble.isMute { self.mute = true }
            self.streams = trouble.streamsMax.map { Streams(max: $0) }
        }
    }

    // MARK: Answers

    static func answering(
        _ request: Request, _ body: ([UInt8]) async throws(FlatDocument.Refusal) -> Response
    ) async throws -> Response {
        var request = request
        let buffer = try await request.collectBody(upTo: Self.bodyByteCountMax)
        do {
            return try await body(Array(buffer.readableBytesView))
        } catch let refusal {
            return Self.refusal(refusal.text)
        }
    }

    static func json(_ bytes: [UInt8]) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// An answer of one line: the value that `write` writes.
    static func line(_ write: (inout JSONWriter) -> Void) -> Response {
        Self.json(JSONWriter.bytes(write) + [UInt8(ascii: "\n")])
    }

    /// An answer that is an object, whose members `write` writes.
    static func object(_ write: (inout JSONWriter) -> Void) -> Response {
        Self.line { $0.object(write) }
    }

    /// The answer to a request that was carried out.
    static var done: Response { Self.object { $0.member("ok", true) } }

    static func json(encoding value: some Encodable) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return Self.json(Array(try encoder.encode(value)) + [UInt8(ascii: "\n")])
    }

    static func plain(_ text: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    static func refusal(_ text: String, _ status: HTTPResponse.Status = .badRequest) -> Response {
        var response = Self.object { $0.member("error", text) }
        response.status = status
        return response
    }
}

extension ControlServer: Redacted {}
