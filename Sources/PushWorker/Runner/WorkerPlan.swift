import APNSPool
import PushEngine
import PushTransport
import ShardLoop
import TLSSession

/// What follows from a configuration for engine and transport: routes, provider keys, and which app uses which of them.
/// Pure, except for `makeTLSContexts`.
struct WorkerPlan {
    private(set) var keys: [ProviderKey] = []
    private(set) var routes: [RouteConfiguration] = []
    private(set) var apps: [AppConfiguration] = []
    /// Input topics in the order of `SourcePosition.topic`; the routed topic is the last.
    let inputTopics: [String]
    private let configuration: WorkerConfiguration
    /// Index of the key of each app and environment.
    private var keyIndexes: [KeyUser: Int] = [:]

    private struct KeyUser: Hashable {
        var bundleID: String
        var environment: AppSettings.Environment
    }

    init(_ configuration: WorkerConfiguration) { self.init(configuration, keys: [], routes: [], keyIndexes: [:]) }

    /// A plan that follows another in a running worker. Keys, routes and apps that both plans have keep their indexes;
    /// new ones are appended. A key that is replaced by another is changed at its index, together with the routes that
    /// use it.
    /// - Parameter configuration: its first apps are those of `old`, in their order, with the same hosts.
    init(_ configuration: WorkerConfiguration, following old: WorkerPlan) {
        var keys = old.keys
        var keyIndexes: [KeyUser: Int] = [:]
        var routes = old.routes
        let users = configuration.apps.flatMap { app in
            app.environments.map { (KeyUser(bundleID: app.bundleID, environment: $0), app.providerKey($0)) }
        }
        // Apps that keep their key keep its index. An index that no app keeps goes to the first app that had it.
        for (user, key) in users {
            if let index = old.keyIndexes[user], old.keys[index] == key { keyIndexes[user] = index }
        }
        for (user, key) in users where keyIndexes[user] == nil {
            guard let index = old.keyIndexes[user] else { continue }
            let isTaken = keyIndexes.values.contains(index)
            guard !isTaken || keys[index] == key else { continue }
            keyIndexes[user] = index
            guard keys[index] != key else { continue }
            Self.rename(&routes, from: keys[index], to: key, index: index)
            keys[index] = key
        }
        self.init(configuration, keys: keys, routes: routes, keyIndexes: keyIndexes)
    }

    private init(
        _ configuration: WorkerConfiguration, keys: [ProviderKey], routes: [RouteConfiguration],
        keyIndexes: [KeyUser: Int]
    ) {
        self.configuration = configuration
        self.keys = keys
        self.routes = routes
        self.keyIndexes = keyIndexes
        self.inputTopics = configuration.topics.events + [configuration.topics.routed]
        self.apps = configuration.apps.map(\.engine)
        for index in self.routes.indices {
            self.routes[index].pool = self.routes[index].carriesPushes ? configuration.pool : self.managePool
        }
        // Routes of one use are made together. Those for pushes come first, because every worker has them.
        for use in RouteUse.allCases {
            for (index, settings) in configuration.apps.enumerated() {
                for environment in settings.environments {
                    let key = self.key(of: settings, environment)
                    self.apps[index][keyPath: use.keyPath(environment)] = self.route(
                        use, settings, environment, key: key)
                }
            }
        }
    }

    /// The use of a route.
    private enum RouteUse: CaseIterable {
        case pushes, broadcasts, management

        func keyPath(_ environment: AppSettings.Environment) -> WritableKeyPath<AppConfiguration, UInt16?> {
            switch (self, environment) {
            case (.pushes, .production): \.productionRoute
            case (.pushes, .development): \.developmentRoute
            case (.broadcasts, .production): \.productionBroadcastRoute
            case (.broadcasts, .development): \.developmentBroadcastRoute
            case (.management, .production): \.productionManageRoute
            case (.management, .development): \.developmentManageRoute
            }
        }
    }

    /// Idle time after which a connection to a management service is closed. People ask rarely, and a worker that
    /// nobody asks needs no connection.
    static let manageIdleMillis: Int64 = 60_000
    /// Maximum number of requests about channels at the same time. Such requests are rare, and Apple asks to keep them
    /// rare.
    static let manageStreamsMax = 100

    var bundleIDs: [String] { self.apps.map(\.bundleID) }
    var routedTopicIndex: UInt16 { UInt16(self.inputTopics.count - 1) }

    /// The configuration of tracing for a shard that keeps traces.
    var tracing: EventTraces.Configuration {
        EventTraces.Configuration(
            settings: self.configuration.tracing, inputTopics: self.inputTopics, bundleIDs: self.bundleIDs,
            routes: self.routes.map { ($0.host, $0.port) }, groupID: self.configuration.kafka.groupID)
    }

    func loopConfiguration(partitionCount: Int32, clusterID: String = "") -> ShardLoopConfiguration {
        ShardLoopConfiguration(
            settings: self.configuration.loop,
            engine: self.engineConfiguration(partitionCount: partitionCount, clusterID: clusterID),
            stateTopic: self.configuration.topics.state, routeCount: UInt16(self.routes.count))
    }

    func engineConfiguration(partitionCount: Int32, clusterID: String = "") -> EngineConfiguration {
        var engine = EngineConfiguration(
            settings: self.engineSettings, apps: self.apps, inputTopics: self.inputTopics,
            routedTopicIndex: self.routedTopicIndex, partitionCount: partitionCount)
        engine.clusterID = clusterID
        return engine
    }

    /// The engine's settings from the configuration, with the values that follow from other settings.
    private var engineSettings: EngineSettings {
        var settings = self.configuration.engine
        // Records are gathered a second time on their way to Kafka. This delay only combines changes of one activity
        // within a moment into one record.
        settings.stateFlushMillis = min(settings.stateFlushMillis, self.configuration.loop.recordHoldMillis)
        settings.routeBackoffMaxMillis = self.configuration.pool.backoffMaxMillis
        settings.requestTimeoutMillis = self.configuration.pool.requestTimeoutMillis
        return settings
    }

    /// Makes the TLS contexts of some routes, one for all routes that trust the same authorities. It reads files, so it
    /// must not be called on an event loop.
    /// - Throws: when trust roots cannot be read.
    mutating func makeTLSContexts(of routes: Range<Int>) throws(TransportError) {
        for index in routes where self.routes[index].tlsContext == nil {
            let roots = self.routes[index].trustRoots
            let same = self.routes[routes].first { $0.tlsContext != nil && $0.trustRoots == roots }
            do {
                self.routes[index].tlsContext = try same?.tlsContext ?? TLSContext.client(roots: roots)
            } catch {
                throw TransportError(setting: "route \(self.routes[index].name): trust roots", detail: "\(error)")
            }
        }
    }

    /// The routes of one shard. For each route for pushes, one shard keeps a connection even without pushes, so that a
    /// worker notices and reports when APNs cannot be reached.
    func routes(shard: Int, of shardCount: Int) -> [RouteConfiguration] {
        var routes = self.routes
        for index in routes.indices where routes[index].carriesPushes && index % max(1, shardCount) == shard {
            routes[index].pool.connectionsWarm = max(1, routes[index].pool.connectionsWarm)
        }
        return routes
    }

    private mutating func key(of app: AppSettings, _ environment: AppSettings.Environment) -> Int {
        let user = KeyUser(bundleID: app.bundleID, environment: environment)
        if let index = self.keyIndexes[user] { return index }
        let key = app.providerKey(environment)
        let known = self.keys.firstIndex(of: key)
        if known == nil { self.keys.append(key) }
        let index = known ?? self.keys.count - 1
        self.keyIndexes[user] = index
        return index
    }

    /// Renames the routes of a replaced key, because their names contain the key's name.
    private static func rename(
        _ routes: inout [RouteConfiguration], from old: ProviderKey, to new: ProviderKey, index: Int
    ) {
        let (before, after) = ("\(old.environment)/\(old.name)", "\(new.environment)/\(new.name)")
        guard before != after else { return }
        for route in routes.indices where routes[route].providerKey == index && routes[route].name.hasPrefix(before) {
            var name = after + routes[route].name.dropFirst(before.count)
            // Another route may have this name already.
            var number = 2
            while routes.contains(where: { $0.name == name }) {
                name = "\(after)\(routes[route].name.dropFirst(before.count))#\(number)"
                number += 1
            }
            routes[route].name = name
        }
    }

    /// Finds or adds the route of an app. Apps share connections if environment, key and endpoint are the same.
    /// Broadcasts share those of pushes if their host is the same.
    private mutating func route(
        _ use: RouteUse, _ app: AppSettings, _ environment: AppSettings.Environment, key: Int
    ) -> UInt16 {
        let endpoint = app.endpoint(environment)
        let name = "\(environment.rawValue)/\(self.keys[key].name)"
        var route: RouteConfiguration
        switch use {
        case .pushes:
            route = RouteConfiguration(name: name, host: endpoint.host, port: endpoint.port, providerKey: key)
        case .broadcasts:
            route = RouteConfiguration(
                name: name, host: endpoint.broadcastHost ?? endpoint.host, port: endpoint.port, providerKey: key)
        case .management:
            route = RouteConfiguration(
                name: "\(name)/manage", host: endpoint.manageHost, port: endpoint.managePort, providerKey: key)
            route.carriesPushes = false
        }
        route.pool = use == .management ? self.managePool : self.configuration.pool
        route.proxy = self.configuration.proxy.access(to: route.host, port: route.port)
        if let path = endpoint.caFile { route.trustRoots = .file(path: path) }
        let same = self.routes.firstIndex {
            $0.carriesPushes == route.carriesPushes && $0.host == route.host && $0.port == route.port
                && $0.providerKey == route.providerKey && $0.trustRoots == route.trustRoots
        }
        if let same { return UInt16(same) }
        // Names distinguish routes in metrics.
        if use == .broadcasts { route.name += "/broadcast" }
        let namesakes = self.routes.count { $0.name == route.name || $0.name.hasPrefix(route.name + "#") }
        if namesakes > 0 { route.name += "#\(namesakes + 1)" }
        self.routes.append(route)
        return UInt16(self.routes.count - 1)
    }

    private var managePool: ConnectionPoolConfiguration {
        var pool = self.configuration.pool
        pool.connectionsMax = 1
        pool.connectionsWarm = 0
        pool.streamsPerConnectionMax = min(pool.streamsPerConnectionMax, Self.manageStreamsMax)
        pool.idleCloseMillis = min(pool.idleCloseMillis, Self.manageIdleMillis)
        return pool
    }
}
