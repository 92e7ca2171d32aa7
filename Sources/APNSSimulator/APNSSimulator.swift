public import DeviceModel
public import Logging
public import NIOCore

/// A server that behaves like APNs for Live Activities, with a device behind every token and faults on demand. Speaks TLS and HTTP/2 on a
/// real socket. For tests in the same process, for the demo, and as `mailboat apns-simulator`.
///
/// May be used from any thread or task. All answers are copies taken between two batches of requests.
public final class APNSSimulator: Sendable {
    /// Starts listening. Returns once connections are taken.
    /// - Parameter group: `nil`: threads of its own, stopped with it.
    public static func start(
        _ configuration: SimulatorConfiguration = SimulatorConfiguration(), credentials: SimulatorCredentials, keys: [ProviderKey] = [],
        group: (any EventLoopGroup)? = nil, logger: Logger? = nil
    ) async throws -> APNSSimulator { preconditionFailure("to be filled in") }

    /// Where it listens.
    public var port: Int { preconditionFailure("to be filled in") }

    /// Closes every connection and the port.
    public func stop() async { preconditionFailure("to be filled in") }

    // Devices

    /// What the phone behind a token shows. `token` in hex. `nil`: never seen.
    public func device(token: String) -> SimulatedDevice? { preconditionFailure("to be filled in") }

    /// Tokens beginning with `prefix` (hex), in the order they were first seen.
    public func devices(prefix: String = "", limit: Int = .max) -> [SimulatedDevice] { preconditionFailure("to be filled in") }

    /// Says what a token is from now on; one never seen is made known. `sinceMillis`: the timestamp of its 410, `nil`: now.
    /// - Returns: `false`: not the hex of a token.
    @discardableResult
    public func setToken(_ token: String, _ state: TokenState, sinceMillis: Int64? = nil) -> Bool { preconditionFailure("to be filled in") }

    /// The app got a new token for the same activity: `old` is answered 410 `Unregistered` (`keepsOld`: stays alive, as a push-to-start token
    /// does), and `new` leads to the same device.
    /// - Returns: `false`: one is not the hex of a token.
    @discardableResult
    public func rotateToken(from old: String, to new: String, keepsOld: Bool = false, sinceMillis: Int64? = nil) -> Bool {
        preconditionFailure("to be filled in")
    }

    // Keys

    /// Makes a key known, or replaces the one with its id.
    public func register(_ key: ProviderKey) { preconditionFailure("to be filled in") }

    /// The key is revoked: its provider tokens are answered 403 `InvalidProviderToken`.
    public func revokeKey(id: String) { preconditionFailure("to be filled in") }

    // Faults

    /// Adds to the end of the list.
    @discardableResult
    public func add(_ fault: Fault) -> FaultID { preconditionFailure("to be filled in") }

    /// How often a fault fired; `nil`: not in the list (any more).
    public func fired(_ id: FaultID) -> Int? { preconditionFailure("to be filled in") }

    public func setLatency(_ latency: Latency) { preconditionFailure("to be filled in") }

    /// `true`: new connections are closed at once.
    public func setRefusesConnections(_ refuses: Bool) { preconditionFailure("to be filled in") }

    /// The limit announced from now on, to connections open and new. For more than this use `perform(.settings(…))`.
    public func setConcurrentStreamsMax(_ streams: UInt32) { preconditionFailure("to be filled in") }

    /// Takes every fault away: the list, latency, refusal. Connections already harmed stay so.
    public func clearFaults() { preconditionFailure("to be filled in") }

    /// Does something to all open connections, or to one (counted from 1). Returns to how many it was handed; it happens soon after, each on its loop.
    @discardableResult
    public func perform(_ action: ConnectionAction, connection: Int? = nil) -> Int { preconditionFailure("to be filled in") }

    // What was seen

    public func statistics() -> SimulatorStatistics { preconditionFailure("to be filled in") }

    /// The first ones, at most `violationsMax`.
    public func violations() -> [Violation] { preconditionFailure("to be filled in") }

    /// Waits until the statistics satisfy `condition`, looked at after each batch of requests and each connection opened or closed.
    /// Returns what satisfied it; throws `CancellationError` when the task is cancelled.
    public func wait(until condition: @escaping @Sendable (SimulatorStatistics) -> Bool) async throws -> SimulatorStatistics {
        preconditionFailure("to be filled in")
    }
}
