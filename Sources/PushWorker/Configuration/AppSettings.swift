import APNSProtocol
public import PushEngine
import PushTransport
public import Redaction

/// One app: which key speaks for it, where its pushes go, and how they are paced.
public struct AppSettings: Sendable {
    /// Apple's two push services, as settings name them.
    public enum Environment: String, Sendable, CaseIterable { case production, development }

    /// Where one APNs environment is reached.
    public struct Endpoint: Sendable, Equatable, Hashable {
        /// A host name or an IP address.
        public var host: String
        /// 443, or 2197, which Apple offers too.
        public var port = APNSHost.port
        /// PEM certificates believed instead of the system's.
        public var caFile: String?
        /// Where broadcasts go, on the same port; `nil`: to `host`.
        public var broadcastHost: String?
        /// Where channels are made, read, listed and deleted.
        public var manageHost: String
        /// 2196 for production, 2195 for development: Apple has no other.
        public var managePort: Int
    }

    /// Bundle id, pacing, budget and policies. Routes are filled in by the worker.
    public var engine: AppConfiguration
    /// The Apple developer team that the key belongs to: 10 letters and digits.
    public var teamID = ""
    /// `nil`: the file's name says it. With a directory: the key to begin with; `nil`: the newest.
    public var keyID: String?
    /// The `.p8` file, or a directory of such.
    public var keyFile = ""
    /// The text of the `.p8` file, in place of one; `nil`: there is a file. A secret.
    public var key: String?
    /// The APNs environments that the app's tokens may belong to.
    public var environments: [Environment] = [.production]
    /// Where the production environment is reached.
    public var production = Endpoint(
        host: APNSHost.production, manageHost: APNSHost.productionManage, managePort: APNSHost.productionManagePort)
    /// Where the development environment (Apple's sandbox) is reached.
    public var development = Endpoint(
        host: APNSHost.development, manageHost: APNSHost.developmentManage, managePort: APNSHost.developmentManagePort)

    /// Where settings of the app were given, by their names; what stands at its default is not there.
    var places: [String: SettingPlace] = [:]

    /// The defaults; team, key and key file are still missing.
    public init(bundleID: String) {
        self.engine = AppConfiguration(bundleID: bundleID)
    }

    /// The app's bundle identifier, such as `com.example.pizza`.
    public var bundleID: String { self.engine.bundleID }

    /// The bundle id for faults and changes. One that looks drawn by chance may be a token that was given as an app.
    var shownBundleID: String { ShownText.name(self.bundleID) }

    /// What is wrong with one of its settings, under the name by which it was given: its own, or that for all apps.
    func fault(_ name: String, _ text: String) -> ConfigurationFault {
        let place = self.places[name]
        return ConfigurationFault(
            setting: place?.setting ?? "apps.\(self.shownBundleID).\(name)", location: place?.location, text: text)
    }

    /// The key that speaks for the app in one environment.
    func providerKey(_ environment: Environment = .production) -> ProviderKey {
        guard let key = self.key else {
            return ProviderKey(
                keyID: self.keyID, teamID: self.teamID, path: self.keyFile, environment: environment.rawValue)
        }
        return ProviderKey(
            keyID: self.keyID, teamID: self.teamID, content: Array(key.replacing("\\n", with: "\n").utf8),
            environment: environment.rawValue)
    }

    /// Where one of the two environments is reached.
    public func endpoint(_ environment: Environment) -> Endpoint {
        switch environment {
        case .production: self.production
        case .development: self.development
        }
    }
}

/// Where the value of a setting was given.
struct SettingPlace: Sendable {
    /// The whole name, as it stands there.
    var setting: String
    /// Such as `mailboat.yaml:12` or `MAILBOAT_BUDGET_PER_HOUR`.
    var location: String
}

extension AppSettings: Untold {}
extension AppSettings.Endpoint: Untold {}
