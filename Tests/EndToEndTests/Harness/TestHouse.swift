import APNSSimulator
import ChildProcesses
import Foundation
import Logging
import PushWorker
import Synchronization
import TLSSession
import Testing

@testable import mailboat

/// A Kafka, a simulated APNs, and as many workers as a test starts. Workers are separate processes, except those of
/// `startWorkerInside`. All traffic uses real sockets.
final class TestHouse: Sendable {
    private static let keyID = "TESTKEY123"
    private static let teamID = "TESTTEAM12"

    let kafka: TestKafka
    let simulator: APNSSimulator
    let directory: String
    private let credentials: CredentialDirectory
    /// Worker processes. The house keeps them alive, and kills them when it is torn down.
    private let workers = Mutex<[WorkerProcess]>([])
    private let workersInside = Mutex<[WorkerService]>([])

    /// Builds a house, runs `body` in it, and removes it. Workers that still run are killed.
    static func with(
        simulator: SimulatorConfiguration = SimulatorConfiguration(), _ body: (TestHouse) async throws -> Void
    ) async throws {
        let house = try await TestHouse(simulator)
        do {
            try await body(house)
        } catch {
            await house.tearDown()
            throw error
        }
        await house.tearDown()
    }

    private init(_ configuration: SimulatorConfiguration) async throws {
        self.kafka = try TestKafka()
        self.directory = FileManager.default.temporaryDirectory.appendingPathComponent(self.kafka.prefix).path
        self.credentials = try CredentialDirectory(
            path: self.directory, keyID: Self.keyID, names: ["localhost", "127.0.0.1"],
            nowSeconds: Int64(Date().timeIntervalSince1970))
        let key = RegisteredKey(
            keyID: Self.keyID, teamID: Self.teamID, publicKey: try self.credentials.providerKey.publicKey())
        self.simulator = try await APNSSimulator.start(
            configuration, credentials: self.credentials.credentials, keys: [key])
    }

    private func tearDown() async {
        for worker in self.workers.withLock({ $0 }) { worker.kill() }
        for worker in self.workersInside.withLock({ $0 }) { await worker.stop() }
        await self.simulator.stop()
        self.kafka.stop()
        try? FileManager.default.removeItem(atPath: self.directory)
    }

    /// Starts a worker process in this house's group.
    /// - Parameter settings: further lines of YAML, at the top level.
    func startWorker(_ name: String = "worker", settings: String = "") async throws -> WorkerProcess {
        let adminPort = try await LocalHTTP.freePort()
        let configurationPath = "\(self.directory)/\(name)-\(adminPort).yaml"
        try self.configuration(adminPort: adminPort, settings: settings)
            .write(toFile: configurationPath, atomically: true, encoding: .utf8)
        let worker = try WorkerProcess(
            configurationPath: configurationPath, adminPort: adminPort,
            logPath: "\(self.directory)/\(name)-\(adminPort).log")
        self.workers.withLock { $0.append(worker) }
        return worker
    }

    /// Starts a worker in this process. The test can change values that are not settings.
    /// - Parameters:
    /// - settings: further lines of YAML, at the top level.
    /// - change: changes the configuration that results from the settings.
    func startWorkerInside(
        settings: String, _ change: (inout WorkerConfiguration) -> Void
    ) async throws -> WorkerService {
        let text = self.configuration(adminPort: try await LocalHTTP.freePort(), settings: settings)
        var configuration = try ConfigurationLoader.load(Array(text.utf8), fileName: "inside.yaml", environment: [:])
            .configuration
        change(&configuration)
        var logger = Logger(label: "inside")
        logger.logLevel = .warning
        let worker = try WorkerService(configuration, logger: logger)
        self.workersInside.withLock { $0.append(worker) }
        try await worker.start()
        return worker
    }

    private func configuration(adminPort: Int, settings: String) -> String {
        """
        kafka.properties:
        \(WorkerYAML.lines(self.kafka.settings, indent: 2))\(WorkerYAML.login(self.kafka.settings))
        kafka.group: \(self.kafka.group)
        kafka.consumer:
          # The embedded Kafka takes a second less than this for every rebalance.
          session.timeout.ms: 4000
          heartbeat.interval.ms: 500
        topics:
          events: \(self.kafka.events)
          routed: \(self.kafka.routed)
          state: \(self.kafka.state)
          outcomes: \(self.kafka.outcomes)
          dead-letters: \(self.kafka.deadLetters)
        outcomes.publish: all
        admin.port: \(adminPort)
        apns:
          team-id: \(Self.teamID)
          key-id: \(Self.keyID)
          key-file: \(self.credentials.providerKeyPath)
          production:
            host: 127.0.0.1
            port: \(self.simulator.port)
            ca-file: \(self.credentials.authorityPath)
        apps: [\(TestPublisher.app)]
        \(settings)
        """
    }

    /// Waits until every phone shows what `expected` says.
    func phonesAgree(with expected: ExpectedPhones) async throws {
        do {
            try await until("every phone shows what it should") { self.differences(from: expected).isEmpty }
        } catch {
            for difference in self.differences(from: expected).prefix(5) { Issue.record("\(difference)") }
            throw error
        }
    }

    func differences(from expected: ExpectedPhones) -> [String] {
        expected.compare { self.simulator.device(token: $0)?.device }.differences
    }

    /// Violations that the simulator recorded, without `kinds` that a test provokes on purpose.
    func violations(except kinds: Violation.Kind...) -> [Violation] {
        self.simulator.violations().filter { !kinds.contains($0.kind) }
    }
}
