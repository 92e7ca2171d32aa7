import APNSSimulator
import DeviceModel
import Glibc
import Synchronization
import TLSSession

/// A running simulator with one registered key, a clock that the test sets, and functions that make requests.
final class Bench: Sendable {
    static let topic = "com.example.pizza.push-type.liveactivity"
    static let keyID = "ABCDE12345"
    static let teamID = "TEAM567890"
    /// Start of the clock, seconds since 1970.
    static let startSeconds: Int64 = 1_760_000_000

    let simulator: APNSSimulator
    let credentials: SimulatorCredentials
    let key: ES256PrivateKey
    /// A provider token issued at `startSeconds`. A test uses it when all pushes of a connection must have the same
    /// token. Signatures are random, so a second token would differ.
    let standardJWT: String
    private let clock: Clock

    /// A clock that the test moves, in milliseconds since 1970.
    private final class Clock: Sendable {
        let millis = Mutex<Int64>(Bench.startSeconds * 1_000)
    }

    private init(simulator: APNSSimulator, credentials: SimulatorCredentials, key: ES256PrivateKey, clock: Clock) throws
    {
        let mint = ProviderTokenMint(key: key, keyID: Self.keyID, teamID: Self.teamID)
        self.standardJWT = String(decoding: try mint.token(nowSeconds: Self.startSeconds), as: UTF8.self)
        self.simulator = simulator
        self.credentials = credentials
        self.key = key
        self.clock = clock
    }

    /// Runs `body` with a simulator, then stops the simulator.
    static func run(
        _ configure: (inout SimulatorConfiguration) -> Void = { _ in }, _ body: (Bench) async throws -> Void
    ) async throws {
        let clock = Clock()
        var configuration = SimulatorConfiguration()
        configuration.clock = { clock.millis.withLock { $0 } }
        configuration.managementPort = 0
        configure(&configuration)
        // The certificates use the real clock, because OpenSSL compares their dates with it.
        let credentials = try SimulatorCredentials.generate(nowSeconds: Int64(time(nil)))
        let key = try ES256PrivateKey.generate()
        let registered = RegisteredKey(keyID: Self.keyID, teamID: Self.teamID, publicKey: try key.publicKey())
        let simulator = try await APNSSimulator.start(configuration, credentials: credentials, keys: [registered])
        do {
            try await body(try Bench(simulator: simulator, credentials: credentials, key: key, clock: clock))
        } catch {
            await simulator.stop()
            throw error
        }
        await simulator.stop()
    }

    func connect() async throws -> TestClient {
        try await TestClient.connect(port: self.simulator.port, authorityPEM: self.credentials.authorityPEM)
    }

    /// Connects and has one push accepted, so that the stream limit is raised.
    func connectAndWarmUp() async throws -> TestClient {
        let client = try await self.connect()
        _ = try await client.send(self.push(token: "ffff", body: Bodies.update(stamp: 1)))
        _ = try await client.first { $0.streamsMax > 1 ? true : nil }
        return client
    }

    func advance(millis: Int64) { self.clock.millis.withLock { $0 += millis } }
    var nowSeconds: Int64 { self.clock.millis.withLock { $0 / 1_000 } }

    func jwt(
        keyID: String = Bench.keyID, teamID: String = Bench.teamID, issuedAt: Int64? = nil, key: ES256PrivateKey? = nil
    ) throws -> String {
        let mint = ProviderTokenMint(key: key ?? self.key, keyID: keyID, teamID: teamID)
        return String(decoding: try mint.token(nowSeconds: issuedAt ?? self.nowSeconds), as: UTF8.self)
    }

    /// A valid push. `changing` replaces fields by name, and `nil` removes a field. `adding` appends fields.
    func push(
        token: String, body: String = Bodies.update(stamp: Bench.startSeconds), priority: Int = 10, jwt: String? = nil,
        changing: [String: String?] = [:], adding: [(String, String)] = []
    ) -> TestRequest {
        let bearer = "bearer " + (jwt ?? self.standardJWT)
        var fields = [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", "/3/device/\(token)"),
            ("authorization", bearer), ("apns-push-type", "liveactivity"), ("apns-topic", Self.topic),
            ("apns-priority", "\(priority)"), ("apns-expiration", "0"),
            ("apns-id", "123e4567-e89b-42d3-a456-426614174000"),
        ]
        Self.change(&fields, changing)
        return TestRequest(fields: fields + adding, body: Array(body.utf8))
    }

    static func change(_ fields: inout [(String, String)], _ changing: [String: String?]) {
        for (name, value) in changing {
            if let index = fields.firstIndex(where: { $0.0 == name }) { fields.remove(at: index) }
            if let value { name.hasPrefix(":") ? fields.insert((name, value), at: 0) : fields.append((name, value)) }
        }
    }
}

/// Payloads written by hand.
enum Bodies {
    static func update(stamp: Int64, state: String = #"{"n":1}"#, rest: String = "") -> String {
        #"{"aps":{"timestamp":\#(stamp),"event":"update","content-state":\#(state)\#(rest)}}"#
    }

    /// An update of exactly `byteCount` bytes.
    static func update(stamp: Int64, byteCount: Int) -> String {
        let empty = Self.update(stamp: stamp, state: #"{"x":""}"#).utf8.count
        return Self.update(stamp: stamp, state: #"{"x":"\#(String(repeating: "x", count: byteCount - empty))"}"#)
    }

    static func end(stamp: Int64, rest: String = "") -> String {
        #"{"aps":{"timestamp":\#(stamp),"event":"end"\#(rest)}}"#
    }

    static func start(stamp: Int64, state: String = #"{"n":0}"#, input: String = #""input-push-token":1"#) -> String {
        #"{"aps":{"timestamp":\#(stamp),"event":"start","content-state":\#(state),"attributes-type":"Pizza","attributes":{"id":7},"#
            + #""alert":{"title":"T","body":"B"},\#(input)}}"#
    }

    /// A start whose card listens on a channel. Slashes in the id are escaped, as some JSON writers do.
    static func start(stamp: Int64, channel: String) -> String {
        Self.start(stamp: stamp, input: #""input-push-channel":"\#(channel.replacing("/", with: "\\/"))""#)
    }
}
