public import APNSProtocol
public import Logging
import PushEngine
public import PushModel
public import PushTransport
import Redaction
import Synchronization
import TLSSession

/// Makes, reads, lists and deletes the channels of a configuration's apps. May be used from any task. Close a desk
/// before releasing it.
public final class ChannelDesk: Sendable {
    private struct State {
        var homes: [ChannelHome]
        var ways: [Way]
        var client: ChannelClient
        /// Clients that others have replaced. They finish the requests that they have begun.
        var former: [ChannelClient] = []
        var isClosed = false
    }

    /// Where and with which key the channels of an app in one environment are reached. A change needs a new client.
    private struct Way: Equatable {
        var host: String
        var port: Int
        var providerKey: Int
        var trustRoots: TLSTrustRoots
    }

    /// The apps and environments that the desk can be asked about, in the configuration's order.
    public var homes: [ChannelHome] { self.state.withLock { $0.homes } }
    /// Number of replaced clients that are not closed yet.
    var formerCount: Int { self.state.withLock { $0.former.count } }
    private var client: ChannelClient { self.state.withLock { $0.client } }
    private let state: Mutex<State>
    private let limits: ChannelClientLimits
    private let logger: Logger

    /// A desk for the apps of a configuration. Opens nothing yet.
    ///
    /// - Parameters:
    ///   - bundleIDs: only these apps' keys are read; `nil`: all.
    ///   - limits: the client's limits; `nil`: its default ones.
    /// - Throws: `TransportError`, which names the faulty key or certificate file and the reason.
    public convenience init(
        _ configuration: WorkerConfiguration, bundleIDs: Set<String>? = nil, limits: ChannelClientLimits? = nil,
        logger: Logger
    ) async throws {
        var configuration = configuration
        if let bundleIDs { configuration.apps.removeAll { !bundleIDs.contains($0.bundleID) } }
        let plan = WorkerPlan(configuration)
        try await self.init(
            plan, providerTokens: try ProviderTokenStore(keys: plan.keys, logger: logger), limits: limits,
            logger: logger)
    }

    /// A desk that signs with the tokens of a worker.
    init(
        _ plan: WorkerPlan, providerTokens: ProviderTokenStore, limits: ChannelClientLimits? = nil, logger: Logger
    ) async throws {
        let limits = limits ?? ChannelClientLimits()
        self.limits = limits
        self.logger = logger
        self.state = Mutex(
            State(
                homes: Self.homes(of: plan).map(\.home), ways: Self.ways(of: plan),
                client: try await Self.client(plan, providerTokens: providerTokens, limits: limits, logger: logger)))
    }

    /// A client for the routes of management services only. A route for pushes might keep a connection open.
    private static func client(
        _ plan: WorkerPlan, providerTokens: ProviderTokenStore, limits: ChannelClientLimits, logger: Logger
    ) async throws -> ChannelClient {
        let routes = plan.routes.indices.filter { !plan.routes[$0].carriesPushes }
        let homes = Self.homes(of: plan).compactMap { home in
            routes.firstIndex(of: home.route).map { (home.home, $0) }
        }
        return try await ChannelClient(
            routes: routes.map { plan.routes[$0] },
            homes: Dictionary(homes, uniquingKeysWith: { first, _ in first }), providerTokens: providerTokens,
            limits: limits, logger: logger)
    }

    /// Takes the apps of another plan for requests from now on. Requests that have begun are finished first.
    /// - Parameter pause: waits for a duration.
    /// - Returns: a task that closes the former client after a while; `nil` when that client is still used.
    @discardableResult
    func follow(
        _ plan: WorkerPlan, providerTokens: ProviderTokenStore,
        pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) async throws -> Task<Void, Never>? {
        let (homes, ways) = (Self.homes(of: plan).map(\.home), Self.ways(of: plan))
        // The client is replaced only if apps, keys or hosts have changed.
        guard self.state.withLock({ $0.homes != homes || $0.ways != ways }) else { return nil }
        let client = try await Self.client(
            plan, providerTokens: providerTokens, limits: self.limits, logger: self.logger)
        let former: ChannelClient? = self.state.withLock { state in
            guard !state.isClosed else { return nil }
            let former = state.client
            state.former.append(former)
            state.client = client
            state.homes = homes
            state.ways = ways
            return former
        }
        guard let former else {
            await client.close()
            return nil
        }
        // No request takes longer than this.
        let limit = Duration.milliseconds(self.limits.totalMillis)
        return Task.detached {
            await pause(limit)
            // Only this former client is closed. Clients that replaced it have later requests.
            let isLeft = self.state.withLock { state in
                guard let index = state.former.firstIndex(where: { $0 === former }) else { return false }
                state.former.remove(at: index)
                return true
            }
            if isLeft { await former.close() }
        }
    }

    /// The apps and environments of a configuration, in its order.
    public static func homes(of configuration: WorkerConfiguration) -> [ChannelHome] {
        Self.homes(of: WorkerPlan(configuration)).map(\.home)
    }

    private static func ways(of plan: WorkerPlan) -> [Way] {
        Self.homes(of: plan).map { home in
            let route = plan.routes[home.route]
            return Way(
                host: route.host, port: route.port, providerKey: route.providerKey, trustRoots: route.trustRoots)
        }
    }

    private static func homes(of plan: WorkerPlan) -> [(home: ChannelHome, route: Int)] {
        plan.apps.flatMap { app in
            PushEnvironment.allCases.compactMap { environment in
                app.route(environment, .listChannels).map {
                    (ChannelHome(bundleID: app.bundleID, environment: environment), Int($0))
                }
            }
        }
    }

    /// Ends all requests and closes the connections.
    public func close() async {
        let clients = self.state.withLock { state in
            state.isClosed = true
            defer { state.former = [] }
            return state.former + [state.client]
        }
        for client in clients { await client.close() }
    }

    /// Makes a channel.
    /// - Returns: the channel's id.
    public func create(_ policy: MessageStoragePolicy, in home: ChannelHome) async throws(ChannelFailure) -> String {
        try await self.client.create(policy, in: home)
    }

    /// Which message the channel keeps for phones that are not connected.
    public func storagePolicy(
        of channel: String, in home: ChannelHome
    ) async throws(ChannelFailure) -> MessageStoragePolicy {
        try await self.client.storagePolicy(of: channel, in: home)
    }

    /// Deletes a channel for good.
    public func delete(_ channel: String, in home: ChannelHome) async throws(ChannelFailure) {
        try await self.client.delete(channel, in: home)
    }

    /// The ids of all channels of the app in the environment, including channels that others have made.
    public func list(in home: ChannelHome) async throws(ChannelFailure) -> [String] {
        try await self.client.list(in: home)
    }

    // MARK: Which home is meant

    /// Finds the app and the environment that a caller means. If there is only one app, the caller may leave the app
    /// out. If the app has only one environment, the caller may leave the environment out.
    ///
    /// - Parameter environment: `production` or `development`.
    /// - Throws: `ChannelHomeFault`, which lists what may be given.
    public static func home(
        among homes: [ChannelHome], app: String?, environment: String?
    ) throws(ChannelHomeFault) -> ChannelHome {
        var bundleIDs: [String] = []
        for home in homes where !bundleIDs.contains(home.bundleID) { bundleIDs.append(home.bundleID) }
        let list = bundleIDs.joined(separator: ", ")
        guard let bundleID = app ?? (bundleIDs.count == 1 ? bundleIDs[0] : nil) else {
            throw ChannelHomeFault(field: "app", detail: "is missing: expected one of \(list)")
        }
        let found = homes.filter { $0.bundleID == bundleID }
        guard !found.isEmpty else {
            throw ChannelHomeFault(field: "app", detail: "is \(ShownText.name(bundleID)): expected one of \(list)")
        }
        let names = found.map(\.environment.name).joined(separator: " or ")
        guard let environment else {
            guard found.count == 1 else {
                throw ChannelHomeFault(field: "environment", detail: "is missing: expected \(names)")
            }
            return found[0]
        }
        guard let home = found.first(where: { $0.environment.name == environment }) else {
            throw ChannelHomeFault(
                field: "environment",
                detail: "is \(ShownText.closed(environment)): \(bundleID) is configured for \(names)")
        }
        return home
    }
}

/// The fault of a missing or wrong app or environment, with the values that may be given.
public struct ChannelHomeFault: Error, Equatable, Sendable {
    /// The name of the field: `app` or `environment`.
    public var field: String
    /// A predicate whose subject is the field.
    public var detail: String
}

extension PushEnvironment {
    /// The environment's name in settings and events.
    public var name: String {
        switch self {
        case .production: "production"
        case .development: "development"
        }
    }
}
