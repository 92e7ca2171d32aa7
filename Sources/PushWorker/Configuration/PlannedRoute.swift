import PushEngine
public import PushTransport
public import TLSSession

/// A route that a worker would have, with its host, key and apps. Tools use it to try out connections.
public struct PlannedRoute: Sendable, Equatable {
    /// What the route carries.
    public enum Purpose: String, Sendable, CaseIterable {
        /// Pushes to phones.
        case pushes
        /// Pushes to channels.
        case broadcasts
        /// Requests that make, read, list and delete channels.
        case management
    }

    /// An app that uses the route, and what for.
    public struct Use: Sendable, Equatable {
        /// The app's bundle id.
        public var bundleID: String
        /// The APNs environment.
        public var environment: AppSettings.Environment
        /// What the route is used for.
        public var purpose: Purpose

        public init(bundleID: String, environment: AppSettings.Environment, purpose: Purpose) {
            self.bundleID = bundleID
            self.environment = environment
            self.purpose = purpose
        }
    }

    /// The route's name in logs and metrics, such as `production/ABC123DEFG`.
    public var name: String
    /// The host that connections are made to.
    public var host: String
    /// The port that connections are made to.
    public var port: Int
    /// The proxy that makes tunnels to the host; `nil`: connections are direct.
    public var proxy: ProxyAccess?
    /// The certificate authorities that are trusted.
    public var trustRoots: TLSTrustRoots
    /// The key that signs the route's provider tokens.
    public var key: ProviderKey
    /// The uses of the route, in the configuration's order.
    public var uses: [Use]

    public init(name: String, host: String, port: Int, trustRoots: TLSTrustRoots, key: ProviderKey, uses: [Use]) {
        self.name = name
        self.host = host
        self.port = port
        self.trustRoots = trustRoots
        self.key = key
        self.uses = uses
    }
}

extension WorkerConfiguration {
    /// Every route that a worker of this configuration would have, those for pushes first.
    public var plannedRoutes: [PlannedRoute] {
        let plan = WorkerPlan(self)
        return plan.routes.enumerated().map { index, route in
            var uses: [PlannedRoute.Use] = []
            for (settings, app) in zip(self.apps, plan.apps) {
                for environment in settings.environments {
                    let isProduction = environment == .production
                    let routes: [(UInt16?, PlannedRoute.Purpose)] = [
                        (isProduction ? app.productionRoute : app.developmentRoute, .pushes),
                        (isProduction ? app.productionBroadcastRoute : app.developmentBroadcastRoute, .broadcasts),
                        (isProduction ? app.productionManageRoute : app.developmentManageRoute, .management),
                    ]
                    for (route, purpose) in routes where route == UInt16(index) {
                        uses.append(.init(bundleID: app.bundleID, environment: environment, purpose: purpose))
                    }
                }
            }
            var planned = PlannedRoute(
                name: route.name, host: route.host, port: route.port, trustRoots: route.trustRoots,
                key: plan.keys[route.providerKey], uses: uses)
            planned.proxy = route.proxy
            return planned
        }
    }
}
