import ArgumentParser
import CommandSupport
import Foundation
import LocalFiles
import Logging
import PushTransport
import PushWorker
import Redaction

/// Selects the app whose key is used, and the environment.
struct ProviderAccess: ParsableArguments {
    enum Environment: String, ExpressibleByArgument, CaseIterable { case production, development }

    @Option(
        help: ArgumentHelp(
            "A worker's configuration: apps, keys, and APNs' hosts.", valueName: "file"), completion: .file())
    var config: String

    @Option(help: ArgumentHelp("The app. Not needed when there is only one.", valueName: "bundle id"), form: .bundleID)
    var app: String?

    @Option(help: "The APNs environment. Not needed when the app has only one.")
    var environment: Environment?

    /// The route that pushes of the app take. Reads the configuration.
    func pushRoute() throws -> (bundleID: String, route: PlannedRoute) {
        let configuration: WorkerConfiguration
        do {
            configuration = try ConfigurationLoader.load(
                try InputFile.read(self.config), fileName: self.config,
                environment: ProcessInfo.processInfo.environment
            ).configuration
        } catch { throw CommandFailure("\(error)") }
        let home: ChannelHome
        do throws(ChannelHomeFault) {
            home = try ChannelDesk.home(
                among: ChannelDesk.homes(of: configuration), app: self.app, environment: self.environment?.rawValue)
        } catch { throw ValidationError("--\(error.field) \(error.detail)") }
        let route = configuration.plannedRoutes.first { route in
            route.uses.contains {
                $0.purpose == .pushes && $0.bundleID == home.bundleID
                    && $0.environment.rawValue == home.environment.name
            }
        }
        guard let route else { throw CommandFailure("\(home) has no route: this should not happen") }
        return (home.bundleID, route)
    }
}

/// A provider token that was just signed.
struct SignedToken {
    /// The key that signed the token.
    var keyID: String
    /// `iat`, seconds since 1970.
    var issuedAtSeconds: Int64
    /// The value of the `authorization` header. A secret.
    var authorization: [UInt8]
}

extension SignedToken {
    /// Reads the key's file and signs.
    /// - Throws: a `CommandFailure` that says what is wrong with the key.
    init(_ key: ProviderKey) throws {
        var logger = Logger(label: "mailboat")
        logger.logLevel = .critical
        do throws(TransportError) {
            let store = try ProviderTokenStore(keys: [key], logger: logger)
            let token = store.current(key: 0)
            self.init(
                keyID: store.currentKeyID(key: 0), issuedAtSeconds: token.issuedAtSeconds,
                authorization: token.authorization)
        } catch { throw CommandFailure("\(key.setting): \(error)") }
    }
}

extension SignedToken: Redacted {}
