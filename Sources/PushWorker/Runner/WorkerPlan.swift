import APNSPool
import PushEngine
import PushTransport
import ShardLoop
import TLSSession

/// What a configuration means to engine and transport: the routes and provider keys there are, and which app uses
/// which. Pure.
struct WorkerPlan {
    private(set) var keys: [ProviderKey] = []
    private(set) var routes: [RouteConfiguration] = []
    private(set) var apps: [AppConfiguration] = []
    /// Input topics in the order of `SourcePosition.topic`; the routed topic is the last.
    let inputTopics: [String]
    private let configuration: WorkerConfiguration

    init(_ configuration: WorkerConfiguration) {
        self.configuration = configuration
        self.inputTopics = configuration.topics.events + [configuration.topics.routed]
        for settings in configuration.apps {
            var app = settings.engine
            for environment in settings.environments {
                let route = self.route(settings, environment, key: self.key(of: settings, environment))
                switch environment {
                case .production: app.productionRoute = route
                case .development: app.developmentRoute = route
                }
            }
            self.apps.append(app)
        }
    }

    var bundleIDs: [String] { self.apps.map(\.bundleID) }
    var routedTopicIndex: UInt16 { UInt16(self.inputTopics.count - 1) }

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

    /// What was chosen, and the two values that follow from what was chosen for others.
    private var engineSettings: EngineSettings {
        var settings = self.configuration.engine
        // Records gather on their way to Kafka; here only what changes in one activity within a moment is put into one record.
        settings.stateFlushMillis = min(settings.stateFlushMillis, self.configuration.loop.recordHoldMillis)
        settings.routeBackoffMaxMillis = self.configuration.pool.backoffMaxMillis
        return settings
    }

    /// The routes as one shard has them. One shard of each route keeps a connection whether there is something to send or
    /// not: so a worker knows, and says, when APNs cannot be reached.
    func routes(shard: Int, of shardCount: Int) -> [RouteConfiguration] {
        var routes = self.routes
        for index in routes.indices where index % max(1, shardCount) == shard {
            routes[index].pool.connectionsWarm = max(1, routes[index].pool.connectionsWarm)
        }
        return routes
    }

    private mutating func key(of app: AppSettings, _ environment: AppSettings.Environment) -> Int {
        let key = ProviderKey(
            keyID: app.keyID, teamID: app.teamID, path: app.keyFile, environment: environment.rawValue)
        if let index = self.keys.firstIndex(of: key) { return index }
        self.keys.append(key)
        return self.keys.count - 1
    }

    /// Apps share connections when environment, key and endpoint are the same.
    private mutating func route(_ app: AppSettings, _ environment: AppSettings.Environment, key: Int) -> UInt16 {
        let endpoint = app.endpoint(environment)
        var route = RouteConfiguration(
            name: "\(environment.rawValue)/\(self.keys[key].name)", host: endpoint.host, port: endpoint.port,
            providerKey: key)
        route.pool = self.configuration.pool
        if let path = endpoint.caFile { route.trustRoots = .file(path: path) }
        let same = self.routes.firstIndex {
            $0.name == route.name && $0.host == route.host && $0.port == route.port
                && $0.providerKey == route.providerKey
                && $0.trustRoots == route.trustRoots
        }
        if let same { return UInt16(same) }
        // Names tell routes apart in metrics.
        let namesakes = self.routes.count { $0.name == route.name || $0.name.hasPrefix(route.name + "#") }
        if namesakes > 0 { route.name += "#\(namesakes + 1)" }
        self.routes.append(route)
        return UInt16(self.routes.count - 1)
    }
}
