import APNSProtocol
public import PushEngine

/// One app: which key speaks for it, where its pushes go, and how they are paced.
public struct AppSettings: Sendable {
    public enum Environment: String, Sendable, CaseIterable { case production, development }

    /// Where one APNs environment is reached.
    public struct Endpoint: Sendable, Equatable, Hashable {
        public var host: String
        public var port = APNSHost.port
        /// PEM certificates believed instead of the system's.
        public var caFile: String?
    }

    /// Bundle id, pacing, budget and policies. Routes are filled in by the worker.
    public var engine: AppConfiguration
    public var teamID = ""
    /// `nil`: the file's name says it. With a directory: the key to begin with; `nil`: the newest.
    public var keyID: String?
    /// The `.p8` file, or a directory of such.
    public var keyFile = ""
    public var environments: [Environment] = [.production]
    public var production = Endpoint(host: APNSHost.production)
    public var development = Endpoint(host: APNSHost.development)

    /// The defaults; team, key and key file are still missing.
    public init(bundleID: String) {
        self.engine = AppConfiguration(bundleID: bundleID)
    }

    public var bundleID: String { self.engine.bundleID }

    public func endpoint(_ environment: Environment) -> Endpoint {
        switch environment {
        case .production: self.production
        case .development: self.development
        }
    }
}
