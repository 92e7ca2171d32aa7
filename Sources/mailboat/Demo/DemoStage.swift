import APNSPool
import APNSSimulator
import DevPage
import Foundation
import KafkaLog
import Logging
import PushEngine
import PushModel
import PushWorker
import TLSSession

/// Everything that the demo needs, in this process: an embedded Kafka, a simulated APNs on a real socket, and a worker
/// between them.
final class DemoStage: Sendable {
    static let partitionCount: Int32 = 16
    /// How long an update waits for a usable token. It is minutes in production, and short here because people watch.
    static let registrationWaitMillis: Int64 = 4_000
    /// High-priority pushes that a party may get in an hour. It is low, so that reckless heroes reach it
    /// (`Script.recklessHeroCount`).
    static let adventureBudgetPerHour = 6
    /// Latency of an Apple data centre at some distance.
    static let latency = Latency(fixedMillis: 10, jitterMillis: 20)
    /// How long a minute of the channel's schedule takes, and how long the channel stays after the match. In
    /// production, the end of a match is broadcast again after 1, 5, 15 and 30 minutes, and its channel is deleted
    /// after 8 hours.
    private static let (channelMinuteMillis, channelLingerMillis): (Int64, Int64) = (300, 2_000)
    /// Least time between two broadcasts on a channel, milliseconds; 15 s in production.
    private static let channelDistanceMillis: Int64 = 1_000
    /// Number of requests in flight that APNs allows on one connection, and number of connections. Both are small, so
    /// that a push to every fan takes a moment.
    private static let (streamsMax, connectionsMax) = (200, 1)
    private static let keyID = "DEMOKEY123"
    private static let teamID = "DEMOTEAM12"

    let kafka: EmbeddedKafka
    let simulator: APNSSimulator
    let worker: WorkerService
    let configuration: WorkerConfiguration
    /// Directory of keys and certificates, which is removed with the stage.
    private let directory: String

    /// Builds the stage and starts the worker, which then joins its group. Wait for `isReady` afterwards.
    /// - Parameter store: receives each push, for a page to show; `nil`: there is no page.
    init(logger: Logger, store: TimelineStore? = nil) async throws {
        self.directory =
            FileManager.default.temporaryDirectory.appendingPathComponent("mailboat-demo-\(UUID().uuidString)").path
        let credentials = try CredentialDirectory(
            path: self.directory, keyID: Self.keyID, names: ["localhost", "127.0.0.1"],
            nowSeconds: Int64(Date().timeIntervalSince1970))
        do {
            var configuration = WorkerConfiguration()
            configuration.admin.isEnabled = false
            configuration.engine.outcomePublication = .all
            self.kafka = try EmbeddedKafka(
                topics: configuration.topics.all.map {
                    EmbeddedKafka.Topic($0, partitionCount: Int(Self.partitionCount))
                },
                log: { line in
                    logger.log(level: line.severity <= 3 ? .error : .info, "\(line.facility): \(line.text)")
                })
            configuration.kafka.bootstrap = self.kafka.bootstrap
            configuration.kafka.common = self.kafka.settings

            var apns = SimulatorConfiguration()
            apns.managementPort = 0
            // A match takes 15 s here, so a limit for a minute would stop its broadcasts.
            apns.channelPushesPerMinuteMax = nil
            apns.apps = [Script.pizza, Script.football, Script.adventure]
            if let store {
                apns.onPush = { store.takePush($0) }
                apns.wantsPush = { store.wantsPush($0, token: $1, body: $2) }
                apns.onBroadcast = { store.takeBroadcast($0) }
                apns.pageOfPush = { store.page(ofPush: $0) }
                apns.contentFault = { content, body, app in store.schemas.fault(in: content, of: body, app: app) }
            }
            let key = RegisteredKey(
                keyID: Self.keyID, teamID: Self.teamID, publicKey: try credentials.providerKey.publicKey())
            self.simulator = try await APNSSimulator.start(
                apns, credentials: credentials.credentials, keys: [key], logger: logger)
            self.simulator.setLatency(Self.latency)
            self.simulator.setConcurrentStreamsMax(UInt32(Self.streamsMax))
            configuration.pool.connectionsMax = Self.connectionsMax
            configuration.shardCount = 1
            configuration.engine.channelMinuteMillis = Self.channelMinuteMillis

            configuration.apps = apns.apps.map {
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
        app.engine.registrationWaitMillis = Self.registrationWaitMillis
        if bundleID == Script.football, let managementPort {
            app.production.manageHost = "127.0.0.1"
            app.production.managePort = managementPort
            app.engine.audienceChannel = .auto
            app.engine.channelMinimumDistanceMillis = Self.channelDistanceMillis
            app.engine.channelLingerMillis = Self.channelLingerMillis
        }
        if bundleID == Script.adventure { app.engine.budgetPerHour = Self.adventureBudgetPerHour }
        return app
    }

    /// The page's settings for this stage.
    var pageSettings: DevPageSettings {
        let topics = self.configuration.topics
        var settings = DevPageSettings(
            app: "", eventsTopic: topics.events[0], outcomesTopic: topics.outcomes,
            partitionCount: Int(Self.partitionCount), kafka: self.kafka.settings, bootstrapShown: self.kafka.bootstrap)
        settings.appNamed = Script.pizza
        settings.apps = self.configuration.apps.map(\.bundleID)
        // The story makes its own phones, and leaves some activities without one on purpose.
        settings.makesPhones = false
        return settings
    }

    /// High-priority pushes that a phone of this activity may receive in an hour.
    func budgetPerHour(activity: String) -> Int {
        let bundleID = activity.hasPrefix("hero") ? Script.adventure : Script.pizza
        return self.configuration.apps.first { $0.bundleID == bundleID }?.engine.budgetPerHour ?? 0
    }

    /// Whether the worker owns and has restored every partition.
    var isReady: Bool {
        let snapshot = self.worker.snapshot()
        return snapshot.isReady && snapshot.runningPartitionCount == Int(Self.partitionCount)
    }

    /// Takes the stage down.
    func strike() async -> StopReport {
        let report = await self.worker.stop()
        await self.simulator.stop()
        self.kafka.stop()
        try? FileManager.default.removeItem(atPath: self.directory)
        return report
    }
}
