import APNSPool
import APNSSimulator
import CommandSupport
import DeviceModel
import DevPage
import Foundation
import KafkaForwarding
import KafkaLog
import Logging
import PushEngine
import PushInspection
import PushModel
import PushWorker
import TLSSession

/// Everything that the page of `mailboat dev` looks at, in this process: an embedded Kafka on its own port, a simulated
/// APNs, and a worker.
final class DevStage: Sendable {
    /// Options of a stage.
    struct Options: Sendable {
        /// Bundle ids. If there is only one, events that name no app belong to it.
        var apps: [String]
        /// Port for Kafka clients; `nil`: 9092, or any free port if that is taken. 0: any free port.
        var kafkaPort: Int?
        /// Pushes at priority 10 that a phone shows in an hour; `nil`: all of them.
        var phoneBudgetPerHour: Int?
        /// What the apps' code expects of content; `nil`: it takes any.
        var schema: GivenSchema?
        /// How much the page's timeline keeps.
        var limits = Timeline.Limits()
    }

    static let partitionCount = 4
    private static let kafkaPortByDefault = 9_092
    private static let keyID = "DEVKEY1234"
    static let teamID = "DEVTEAM123"

    let store: TimelineStore
    let kafka: EmbeddedKafka
    let simulator: APNSSimulator
    let worker: WorkerService
    let configuration: WorkerConfiguration
    private let phoneBudgetPerHour: Int?
    private let forwarder: BootstrapForwarder
    /// The usual port for Kafka clients, if something else listens there; `nil`: it was free, or another port was asked
    /// for.
    let kafkaPortTaken: Int?
    /// Directory of keys and certificates, which is removed with the stage.
    private let directory: String

    /// Builds the stage and starts the worker, which then joins its group.
    init(_ options: Options, logger: Logger) async throws {
        self.phoneBudgetPerHour = options.phoneBudgetPerHour
        self.store = TimelineStore(
            app: options.apps.count == 1 ? options.apps[0] : "", apps: options.apps, limits: options.limits)
        self.directory =
            FileManager.default.temporaryDirectory.appendingPathComponent("mailboat-dev-\(UUID().uuidString)").path
        let credentials = try CredentialDirectory(
            path: self.directory, keyID: Self.keyID, names: ["localhost", "127.0.0.1"],
            nowSeconds: Int64(Date().timeIntervalSince1970))
        do {
            var configuration = WorkerConfiguration()
            configuration.admin.port = 0
            configuration.engine.outcomePublication = .all
            configuration.shardCount = 1
            self.kafka = try EmbeddedKafka(
                topics: configuration.topics.all.map { .init($0, partitionCount: Self.partitionCount) },
                log: { line in
                    logger.log(level: line.severity <= 3 ? .error : .info, "\(line.facility): \(line.text)")
                })
            configuration.kafka.bootstrap = self.kafka.bootstrap
            configuration.kafka.common = self.kafka.settings
            self.forwarder = try await Self.openKafka(options.kafkaPort, brokers: self.kafka.bootstrap)
            let isElsewhere = options.kafkaPort == nil && self.forwarder.port != Self.kafkaPortByDefault
            self.kafkaPortTaken = isElsewhere ? Self.kafkaPortByDefault : nil
            self.simulator = try await Self.startSimulator(
                options, credentials: credentials, store: self.store, logger: logger)
            configuration.apps = options.apps.map {
                [port = self.simulator.port, managementPort = self.simulator.managementPort] in
                Self.app($0, credentials: credentials, port: port, managementPort: managementPort)
            }
            self.configuration = configuration
            self.worker = try WorkerService(configuration, logger: logger)
            try await self.worker.start()
        } catch {
            try? FileManager.default.removeItem(atPath: self.directory)
            throw error
        }
    }

    private static func openKafka(_ port: Int?, brokers: String) async throws -> BootstrapForwarder {
        if let port {
            return try await BootstrapForwarder.start(
                host: "127.0.0.1", port: port, setting: "--kafka-port", brokers: brokers)
        }
        do {
            return try await BootstrapForwarder.start(
                host: "127.0.0.1", port: Self.kafkaPortByDefault, brokers: brokers)
        } catch {
            // Something else listens on the default port, probably the user's own Kafka.
            return try await BootstrapForwarder.start(host: "127.0.0.1", port: 0, brokers: brokers)
        }
    }

    private static func startSimulator(
        _ options: Options, credentials: CredentialDirectory, store: TimelineStore, logger: Logger
    ) async throws -> APNSSimulator {
        var apns = SimulatorConfiguration()
        apns.apps = options.apps
        apns.managementPort = 0
        apns.deviceRules.budgetPerHour = options.phoneBudgetPerHour
        apns.onPush = { store.takePush($0) }
        apns.wantsPush = { store.wantsPush($0, token: $1, body: $2) }
        apns.onBroadcast = { store.takeBroadcast($0) }
        apns.pageOfPush = { store.page(ofPush: $0) }
        if let schema = options.schema { store.setSchema(schema, app: nil) }
        apns.contentFault = { content, body, app in store.schemas.fault(in: content, of: body, app: app) }
        let key = RegisteredKey(
            keyID: Self.keyID, teamID: Self.teamID, publicKey: try credentials.providerKey.publicKey())
        return try await APNSSimulator.start(apns, credentials: credentials.credentials, keys: [key], logger: logger)
    }

    private static func app(
        _ bundleID: String, credentials: CredentialDirectory, port: Int, managementPort: Int?
    ) -> AppSettings {
        var app = AppSettings(bundleID: bundleID)
        app.keyID = Self.keyID
        app.teamID = Self.teamID
        app.keyFile = credentials.providerKeyPath
        app.production.host = "127.0.0.1"
        app.production.port = port
        app.production.caFile = credentials.authorityPath
        // The worker must not reach Apple's management service.
        if let managementPort {
            app.production.manageHost = "127.0.0.1"
            app.production.managePort = managementPort
        }
        return app
    }

    /// Paths of the certificate authority and provider key that are needed to push to the simulated APNs, while the
    /// stage is up.
    var credentialPaths: (authority: String, providerKey: String) {
        let app = self.configuration.apps[0]
        return (app.production.caFile ?? "", app.keyFile)
    }

    /// The page's settings for this stage.
    var pageSettings: DevPageSettings {
        var settings = DevPageSettings(
            app: self.configuration.apps.count == 1 ? self.configuration.apps[0].bundleID : "",
            eventsTopic: self.configuration.topics.events[0], outcomesTopic: self.configuration.topics.outcomes,
            partitionCount: Self.partitionCount, kafka: self.kafka.settings,
            bootstrapShown: "127.0.0.1:\(self.forwarder.port)")
        settings.apnsShown = "127.0.0.1:\(self.simulator.port)"
        settings.apps = self.configuration.apps.map(\.bundleID)
        settings.phoneBudgetPerHour = self.phoneBudgetPerHour
        if settings.app.isEmpty { settings.appNamed = self.configuration.apps[0].bundleID }
        return settings
    }

    /// Stops and removes everything.
    func strike() async {
        await self.worker.stop()
        await self.simulator.stop()
        await self.forwarder.stop()
        self.kafka.stop()
        try? FileManager.default.removeItem(atPath: self.directory)
    }
}
