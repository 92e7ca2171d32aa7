import CommandSupport
import Foundation
import Logging
import PushTransport
import PushWorker

/// Looks at keys and connections as a worker would use them. It judges nothing.
struct DoctorExamination {
    private let configuration: WorkerConfiguration
    private let limit: Duration

    /// Creates an examination.
    /// - Parameter limit: time limit of each connection.
    init(_ configuration: WorkerConfiguration, limit: Duration) {
        self.configuration = configuration
        self.limit = limit
    }

    // MARK: Keys

    /// A finding for each key file or directory. A file that serves several environments has one finding.
    func keys() -> [DoctorFinding] {
        var seen: [ProviderKey] = []
        return self.configuration.plannedRoutes.compactMap { route in
            let isSeen = seen.contains {
                $0.path == route.key.path && $0.content == route.key.content && $0.keyID == route.key.keyID
                    && $0.teamID == route.key.teamID
            }
            guard !isSeen else { return nil }
            seen.append(route.key)
            return DoctorJudge.key(Self.look(at: route.key))
        }
    }

    private static func look(at key: ProviderKey) -> DoctorJudge.KeySight {
        var sight = DoctorJudge.KeySight(
            setting: key.setting, path: key.path, teamID: key.teamID, keyID: "")
        for path in key.content.isEmpty ? Self.files(of: key) : [] {
            var status = stat()
            if stat(path, &status) == 0 { sight.modes[path] = UInt32(status.st_mode) }
        }
        do throws(TransportError) {
            let store = try ProviderTokenStore(keys: [key], logger: Self.silence)
            sight.keyID = store.currentKeyID(key: 0)
            sight.complaints = store.complaints
        } catch { sight.fault = "\(error)" }
        return sight
    }

    private static func files(of key: ProviderKey) -> [String] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: key.path) else { return [key.path] }
        return names.filter { KeyFileName.keyID(path: $0) != nil }.sorted().prefix(KeyFileName.countMax).map {
            "\(key.path)/\($0)"
        }
    }

    /// A logger without warnings: findings report what a key store would write into a worker's log.
    private static var silence: Logger {
        var logger = Logger(label: "mailboat")
        logger.logLevel = .critical
        return logger
    }

    // MARK: APNs

    /// Apple takes pushes on both ports.
    private static let pushPorts = [443, 2_197]

    /// The environment variable that names a proxy although the settings want none; `nil`: there is no such variable.
    private var unusedProxy: String? {
        self.configuration.proxy.way == ProxySettings.direct ? self.configuration.proxy.environment.name : nil
    }

    func connection(_ route: PlannedRoute) async -> DoctorFinding {
        let report = await self.probe(route).run()
        var otherPort: (port: Int, isReached: Bool)?
        if report.step == .connecting, report.tlsError == nil, report.proxyFailure == nil,
            Self.pushPorts.contains(route.port),
            let port = Self.pushPorts.first(where: { $0 != route.port })
        {
            var other = self.probe(route)
            other.port = port
            otherPort = (port, await other.run().step >= .ready)
        }
        return DoctorJudge.connection(
            route, report, otherPort: otherPort, unusedProxy: self.unusedProxy,
            nowSeconds: Int64(Date().timeIntervalSince1970))
    }

    /// Sends the push that reaches nobody, and reports what it shows about the key and the clock.
    func credentials(_ route: PlannedRoute, _ use: PlannedRoute.Use) async -> [DoctorFinding] {
        let token: SignedToken
        // The check of keys has already reported what is wrong.
        do { token = try SignedToken(route.key) } catch { return [] }
        let push = DevicePush.probe(bundleID: use.bundleID, nowSeconds: token.issuedAtSeconds)
        let report = await self.probe(route).run(push.request(token, keptField: "date"))
        var findings = [
            DoctorJudge.credentials(
                bundleID: use.bundleID, environment: use.environment.rawValue, keyID: token.keyID, report)
        ]
        if let answer = report.answer {
            findings.append(
                DoctorJudge.clock(
                    host: route.host, date: answer.keptField, nowMillis: Int64(Date().timeIntervalSince1970 * 1_000)))
        }
        return findings
    }

    private func probe(_ route: PlannedRoute) -> APNSProbe {
        APNSProbe(
            host: route.host, port: route.port, proxy: route.proxy, trustRoots: route.trustRoots, limit: self.limit)
    }
}
