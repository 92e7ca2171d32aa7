public import DeviceModel
public import Logging
public import NIOCore
import HTTP2Session
import Listening
import NIOPosix
import PushModel
import TLSSession

/// A server that behaves like APNs for Live Activities, with a device behind every token and faults on demand. It
/// speaks TLS and HTTP/2 on a real socket. It is for tests in the same process, for the demo, and for `mailboat
/// apns-simulator`.
///
/// It may be used from any thread or task. Everything that its methods return is a copy, taken between two batches of
/// requests.
public final class APNSSimulator: Sendable {
    let shared: SharedSimulator
    private let listeners: [any Channel]
    /// The simulator's own event loops, which stop with it; `nil` if the caller gave some.
    private let ownGroup: MultiThreadedEventLoopGroup?
    /// The port for pushes to phones and broadcasts.
    public let port: Int
    /// The port for requests about channels; `nil` for none.
    public let managementPort: Int?

    private init(
        shared: SharedSimulator, listener: any Channel, management: (any Channel)?,
        ownGroup: MultiThreadedEventLoopGroup?
    ) {
        self.shared = shared
        self.listeners = [listener] + (management.map { [$0] } ?? [])
        self.ownGroup = ownGroup
        self.port = listener.localAddress?.port ?? 0
        self.managementPort = management?.localAddress?.port
    }

    /// Starts listening. Returns when connections are accepted.
    /// - Parameter group: the event loops to use; `nil` for threads of the simulator's own, which `stop` ends.
    /// - Throws: `TLSError` if the credentials are not a certificate and its key; `ListenFault` if the address cannot
    ///   be used; `JournalReader.Fault` if the journal cannot be read or written.
    public static func start(
        _ configuration: SimulatorConfiguration = SimulatorConfiguration(), credentials: SimulatorCredentials,
        keys: [RegisteredKey] = [],
        group: (any EventLoopGroup)? = nil, logger: Logger? = nil
    ) async throws -> APNSSimulator {
        let tls = try TLSContext.server(
            certificateChainPEM: credentials.certificate.chainPEM, privateKeyPEM: credentials.certificate.privateKeyPEM)
        let shared = SharedSimulator(configuration: configuration, keys: keys, tls: tls)
        if let path = configuration.journalPath { try shared.openJournal(path) }
        let ownGroup =
            group == nil ? MultiThreadedEventLoopGroup(numberOfThreads: max(1, configuration.threadCount)) : nil
        do {
            let group = group ?? ownGroup ?? MultiThreadedEventLoopGroup.singleton
            let listener = try await Self.listen(shared, port: configuration.port, door: .pushes, on: group)
            var management: (any Channel)?
            if let port = configuration.managementPort {
                do {
                    management = try await Self.listen(shared, port: port, door: .management, on: group)
                } catch {
                    try? await listener.close().get()
                    throw error
                }
            }
            logger?.info(
                "simulated APNs listens",
                metadata: [
                    "address": "\(listener.localAddress.map { "\($0)" } ?? "")",
                    "management": "\(management?.localAddress.map { "\($0)" } ?? "none")",
                ])
            return APNSSimulator(shared: shared, listener: listener, management: management, ownGroup: ownGroup)
        } catch {
            try? await ownGroup?.shutdownGracefully()
            throw error
        }
    }

    /// The name of the port for pushes in a `ListenFault`. The other port is `managementPort`.
    package static let portSetting = "port"

    private static func listen(
        _ shared: SharedSimulator, port: Int, door: Door, on group: any EventLoopGroup
    ) async throws -> any Channel {
        do {
            return try await Self.bind(shared, port: port, door: door, on: group)
        } catch {
            let setting = door == .pushes ? Self.portSetting : "managementPort"
            throw ListenFault(error, setting, host: shared.configuration.host, port: port) ?? error
        }
    }

    private static func bind(
        _ shared: SharedSimulator, port: Int, door: Door, on group: any EventLoopGroup
    ) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1_024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let number = shared.admit(door) else { throw ChannelError.eof }
                    let connection: SimulatedConnection
                    switch (shared.configuration.mode, door) {
                    case (.full, _), (.sink, .management):
                        let handler = try ConnectionHandler(shared: shared, number: number, door: door)
                        try channel.pipeline.syncOperations.addHandler(handler)
                        connection = SimulatedConnection(handler, channel: channel)
                    case (.sink, .pushes):
                        let handler = try SinkHandler(shared: shared, number: number)
                        try channel.pipeline.syncOperations.addHandler(handler)
                        connection = SimulatedConnection(handler, channel: channel)
                    }
                    guard shared.opened(connection, number: number) else { throw ChannelError.eof }
                }
            }
            .bind(host: shared.configuration.host, port: port)
            .get()
    }

    /// Closes every connection and the ports. Further calls do nothing.
    public func stop() async {
        guard let connections = self.shared.stop() else { return }
        // A listener that is closed already is not an error here.
        for listener in self.listeners { try? await listener.close().get() }
        for connection in connections {
            _ = connection.perform(.cut)
            try? await connection.closeFuture.get()
        }
        try? await self.ownGroup?.shutdownGracefully()
        self.shared.closeJournal()
    }

    // MARK: Devices

    /// The device behind a token in hex; `nil` if it was never seen.
    public func device(token: String) -> SimulatedDevice? {
        guard let bytes = TokenHex.decode(token) else { return nil }
        return self.shared.withState { state in
            state.store.tokens.find(bytes.span, hash: TokenTable.hash(bytes.span)).map {
                state.store.simulatedDevice($0)
            }
        }
    }

    /// Devices of tokens beginning with `prefix` (hex), in the order they were first seen.
    public func devices(prefix: String = "", limit: Int = .max) -> [SimulatedDevice] {
        let prefix = prefix.lowercased()
        return self.shared.withState { state in
            var found: [SimulatedDevice] = []
            for index in 0..<state.store.tokens.count where found.count < limit {
                guard prefix.isEmpty || TokenHex.encode(state.store.tokens.token(index)).hasPrefix(prefix) else {
                    continue
                }
                found.append(state.store.simulatedDevice(index))
            }
            return found
        }
    }

    /// The simulator's clock, seconds since 1970.
    func nowSeconds() -> Int64 { self.shared.nowMillis() / 1_000 }

    /// Appends the device as the control API shows it.
    func appendJSON(_ device: SimulatedDevice, to json: inout JSONWriter) {
        DeviceJSON.append(
            device, nowMillis: self.shared.nowMillis(), rules: self.shared.configuration.deviceRules, to: &json)
    }

    /// Sets the state of a token. An unknown token is added. `sinceMillis` is the timestamp of its 410;
    /// `nil`: the present time.
    /// - Returns: `false` if the token is not hex.
    @discardableResult
    public func setToken(_ token: String, _ state: TokenState, sinceMillis: Int64? = nil) -> Bool {
        guard let bytes = TokenHex.decode(token) else { return false }
        let status = TokenStatus(state: state, sinceMillis: sinceMillis ?? self.shared.nowMillis())
        self.shared.withState { $0.setToken(bytes, status) }
        return true
    }

    /// Gives the app a new token for the same activity. `old` is answered 410 `Unregistered`, or stays alive with
    /// `keepsOld`, as a push-to-start token does. `new` leads to the same device. If `old` is a push-to-start token
    /// that stays alive, `new` becomes the update token of its newest card, and `updateTokens(since:limit:)` returns
    /// it.
    /// - Returns: `false` if one of the tokens is not hex.
    @discardableResult
    public func rotateToken(from old: String, to new: String, keepsOld: Bool = false, sinceMillis: Int64? = nil) -> Bool
    {
        guard let oldBytes = TokenHex.decode(old), let newBytes = TokenHex.decode(new) else { return false }
        let status = TokenStatus(
            state: keepsOld ? .alive : .rotated, sinceMillis: sinceMillis ?? self.shared.nowMillis())
        let nowMillis = self.shared.nowMillis()
        self.shared.withState {
            $0.rotate(from: oldBytes, to: newBytes, oldStatus: status, nowMillis: nowMillis)
        }
        return true
    }

    // MARK: Keys

    /// Makes a key known, or replaces the key that has its id.
    public func register(_ key: RegisteredKey) { self.shared.withState { $0.providerTokens.register(key) } }

    /// Revokes a key: its provider tokens are answered 403 `InvalidProviderToken`.
    public func revokeKey(id: String) { self.shared.withState { $0.providerTokens.revoke(id: id) } }

    /// Ids of the registered keys.
    public var keyIDs: [String] { self.shared.withState { $0.providerTokens.keyIDs } }

    // MARK: Faults

    /// Adds a fault to the end of the list.
    @discardableResult
    public func add(_ fault: Fault) -> FaultID { self.shared.withState { $0.faults.add(fault) } }

    /// Removes a fault. Returns `false` if it is not in the list.
    @discardableResult
    public func remove(_ id: FaultID) -> Bool { self.shared.withState { $0.faults.remove(id) } }

    /// Number of times that a fault fired, also after it was used up; `nil` if it was never in the list, or left the
    /// list long ago.
    public func fired(_ id: FaultID) -> Int? { self.shared.withState { $0.faults.fired(id) } }

    /// The faults in force, in order, with the number of times each fired.
    public func faults() -> [(id: FaultID, fault: Fault, fired: Int)] {
        self.shared.withState { $0.faults.entries.map { ($0.id, $0.fault, $0.fired) } }
    }

    /// Delays answers from now on. Values are limited to 0...`Latency.millisMax`.
    public func setLatency(_ latency: Latency) {
        let clamped = Latency(
            fixedMillis: min(max(0, latency.fixedMillis), Latency.millisMax),
            jitterMillis: min(max(0, latency.jitterMillis), Latency.millisMax))
        self.shared.withState { $0.latency = clamped }
    }

    /// Sets whether new connections are closed at once.
    public func setRefusesConnections(_ refuses: Bool) { self.shared.withState { $0.refusesConnections = refuses } }

    /// Sets whether new connections are accepted without reading or writing anything, not even the TLS handshake. Such
    /// a connection stays mute until `perform(.resume)`.
    public func setMute(_ isMute: Bool) { self.shared.withState { $0.isMute = isMute } }

    /// Sets the stream limit that open and new connections announce. For other settings use `perform(.settings(…))`.
    public func setConcurrentStreamsMax(_ streams: UInt32) {
        self.shared.withState { $0.concurrentStreamsMax = streams }
        // Each connection announces the limit soon, on its own loop.
        _ = self.shared.perform(.settings(HTTP2SettingsChange(concurrentStreamsMax: streams)), connection: nil)
    }

    /// The stream limit that `clearFaults` restores.
    public var configuredStreamsMax: UInt32 { self.shared.configuration.concurrentStreamsMax }

    /// Removes every fault: the list, latency, refusal, muteness, the stream limit, the lag of lists. Connections that
    /// a fault has changed stay changed.
    public func clearFaults() {
        let configured = self.shared.configuration.concurrentStreamsMax
        let restoresStreams = self.shared.withState { state in
            state.faults.removeAll()
            state.latency = Latency()
            state.listLagMillis = 0
            state.refusesConnections = false
            state.isMute = false
            defer { state.concurrentStreamsMax = configured }
            return state.concurrentStreamsMax != configured
        }
        if restoresStreams { self.setConcurrentStreamsMax(configured) }
    }

    /// Does an action to all open connections, or to the one with the number `connection` (counted from 1). Returns the
    /// number of these connections. The action is done soon after the call, on each connection's loop.
    @discardableResult
    public func perform(_ action: ConnectionAction, connection: Int? = nil) -> Int {
        self.shared.perform(action, connection: connection).count
    }

    /// Does the same as `perform`, and returns when it is done on every connection.
    @discardableResult
    public func performAndWait(_ action: ConnectionAction, connection: Int? = nil) async -> Int {
        let done = self.shared.perform(action, connection: connection)
        // If a connection's loop has ended, so has the connection.
        for future in done { try? await future.get() }
        return done.count
    }

    // MARK: What was seen

    /// Counts since the start: a copy, taken between two batches of requests.
    public func statistics() -> SimulatorStatistics { self.shared.statistics() }

    /// The first violations, at most `violationsMax`.
    public func violations() -> [Violation] { self.shared.withState { $0.violations } }

    /// Waits until the statistics satisfy `condition`, which is checked after each batch of requests and each
    /// connection opened or closed. Returns the statistics. Throws `CancellationError` if the task is cancelled or the
    /// simulator stops, and `SimulatorWaitTimeout` after `limit`.
    public func wait(
        within limit: Duration = .seconds(120), until condition: @escaping @Sendable (SimulatorStatistics) -> Bool
    ) async throws -> SimulatorStatistics {
        try await self.shared.wait(within: limit, until: condition)
    }
}
