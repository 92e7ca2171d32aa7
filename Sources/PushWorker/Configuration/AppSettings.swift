import APNSProtocol
public import PushEngine
import PushTransport
public import Redaction

/// Settings of one app: its provider key, the APNs hosts for its pushes, and their pacing.
public struct AppSettings: Sendable {
    /// Apple's two push services, by the names that settings use.
    public enum Environment: String, Sendable, CaseIterable { case production, development }

    /// The hosts and ports of one APNs environment.
    public struct Endpoint: Sendable, Equatable, Hashable {
        /// A host name or an IP address.
        public var host: String
        /// The port: 443, or 2197, which Apple also offers.
        public var port = APNSHost.port
        /// A file of PEM certificates that are trusted instead of the system's.
        public var caFile: String?
        /// The host for broadcasts, on the same port; `nil`: `host`.
        public var broadcastHost: String?
        /// The host where channels are made, read, listed and deleted.
        public var manageHost: String
        /// The port of `manageHost`: 2196 for production, 2195 for development. Apple has no other.
        public var managePort: Int
    }

    /// Bundle id, pacing, budget and policies. The worker fills in the routes.
    public var engine: AppConfiguration
    /// The Apple developer team that the key belongs to: 10 letters and digits.
    public var teamID = ""
    /// Identifier of the key to use first. `nil`: for a key file, the file's name contains the identifier; in a
    /// directory, the newest key is used first.
    public var keyID: String?
    /// Path of the `.p8` file, or of a directory of such files.
    public var keyFile = ""
    /// The text of the `.p8` file, a secret; `nil`: the key is in `keyFile`.
    public var key: String?
    /// The APNs environments that the app's tokens may belong to.
    public var environments: [Environment] = [.production]
    /// Hosts and ports of the production environment.
    public var production = Endpoint(
        host: APNSHost.production, manageHost: APNSHost.productionManage, managePort: APNSHost.productionManagePort)
    /// Hosts and ports of the development environment (Apple's sandbox).
    public var development = Endpoint(
        host: APNSHost.development, manageHost: APNSHost.developmentManage, managePort: APNSHost.developmentManagePort)

    /// Where the app's settings were given, by setting name. Settings at their defaults are missing.
    var sources: [String: SettingSource] = [:]

    /// An app with default settings; team, key and key file are still missing.
    public init(bundleID: String) {
        self.engine = AppConfiguration(bundleID: bundleID)
    }

    /// The app's bundle identifier, such as `com.example.pizza`.
    public var bundleID: String { self.engine.bundleID }

    /// The bundle id as faults and changes show it. One that looks random is hidden, because it may be a token that was
    /// given by mistake.
    var shownBundleID: String { ShownText.name(self.bundleID) }

    /// A fault of one of the app's settings. The fault names the setting as it was given: for this app, or for all
    /// apps.
    func fault(_ name: String, _ text: String) -> ConfigurationFault {
        let source = self.sources[name]
        return ConfigurationFault(
            setting: source?.setting ?? "apps.\(self.shownBundleID).\(name)", location: source?.location, text: text)
    }

    /// The key that signs the app's provider tokens in one environment.
    func providerKey(_ environment: Environment = .production) -> ProviderKey {
        guard let key = self.key else {
            return ProviderKey(
                keyID: self.keyID, teamID: self.teamID, path: self.keyFile, environment: environment.rawValue)
        }
        return ProviderKey(
            keyID: self.keyID, teamID: self.teamID, content: Array(key.replacing("\\n", with: "\n").utf8),
            environment: environment.rawValue)
    }

    /// Hosts and ports of one of the two environments.
    public func endpoint(_ environment: Environment) -> Endpoint {
        switch environment {
        case .production: self.production
        case .development: self.development
        }
    }
}

/// Where the value of a setting was given.
struct SettingSource: Sendable {
    /// The whole name as it was given.
    var setting: String
    /// The file and line or the variable, such as `mailboat.yaml:12` or `MAILBOAT_BUDGET_PER_HOUR`.
    var location: String
}

extension AppSettings: Redacted {}
extension AppSettings.Endpoint: Redacted {}
