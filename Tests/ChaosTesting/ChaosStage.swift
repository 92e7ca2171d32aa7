import APNSSimulator
import ChildProcesses
import CommandSupport
package import Foundation
package import KafkaLog
import PushWorker
package import TraceCollecting

/// The processes of a chaos run: a Kafka (embedded, unless another is named), a simulated APNs, and workers between
/// them. Only the task of the run uses it.
package final class ChaosStage {
    static let partitionCount: Int32 = 64
    /// Number of high-priority pushes that an activity may get in an hour. It is low, so that activities often reach
    /// it.
    static let budgetPerHour = 6
    /// Hourly budget of an audience's versions, for members without and with `frequent-updates`.
    static let (audienceBudgetPerHour, frequentAudienceBudgetPerHour) = (6, 12)
    /// Maximum number of starts of audiences that a push-to-start token gets in an hour. It is low, so that some starts
    /// are held back.
    static let startsPerHour = 2
    /// Shortest time between two pushes to a phone.
    static let distanceMillis: Int64 = 1_000
    /// Shortest time between two broadcasts on a channel. It is short, so that a short run has many broadcasts.
    static let channelDistanceMillis: Int64 = 1_000
    /// `channel.fallback`, which is shorter than most outages of broadcasts.
    static let channelFallbackMillis: Int64 = 3_000
    private static let keyID = "SIMULATOR1"
    private static let teamID = "SIMULATEAM"
    private static let startDurationMax = Duration.seconds(30)

    /// Directory of the run's files and of the processes' logs. It is made for the run, in the temporary directory.
    package let directory: String
    /// The `mailboat` that all processes run, except workers of a former release.
    private let mailboat: URL
    let tracing: Tracing?
    /// Whether the run has started its own Kafka, which keeps everything only in memory.
    let kafkaIsEmbedded: Bool
    let kafkaSettings: KafkaSettings
    let topics: WorkerConfiguration.Topics
    let group: String
    /// How long a worker may be silent before others take its partitions.
    let sessionTimeoutMillis: Int64
    /// Whether every worker has a `group.instance.id`.
    let membershipIsStatic: Bool
    private(set) var kafkaControlPort = 0
    private(set) var apnsPort = 0
    private(set) var apnsControlPort = 0
    private var apnsManagePort = 0
    private var kafka: ChildProcess?
    private var apns: ChildProcess?
    private(set) var workers: [ChaosWorker] = []
    /// Partition counts of topics that got more than `partitionCount`.
    var partitionCounts: [String: Int32] = [:]

    /// Settings for workers that send a collector traces of some events.
    package struct Tracing {
        package var collector: TraceCollector
        /// Share of events that are traced, 0 to 1.
        var sampleRatio: Double

        package init(collector: TraceCollector, sampleRatio: Double) {
            self.collector = collector
            self.sampleRatio = sampleRatio
        }
    }

    var journalPath: String { "\(self.directory)/phones.journal" }

    /// Starts all processes. Throws a `CommandFailure` when one does not start.
    /// - Parameters:
    ///   - mailboat: the executable that all processes run, except workers of a former release.
    ///   - former: the executable that workers run at first, or `nil` for `mailboat`.
    ///   - real: how to reach the Kafka to use, or `nil` for an embedded one.
    ///   - tracing: settings for workers that run `mailboat`. A former release may not know them.
    ///   - spreadsLeaders: whether an embedded Kafka has three brokers, so that requests for one topic can fail alone.
    ///   - seed: seed of the simulated APNs.
    package init(
        mailboat: URL, former: URL? = nil, real: KafkaSettings?, workerCount: Int, tracing: Tracing? = nil,
        spreadsLeaders: Bool = false, seed: UInt64
    ) async throws {
        self.mailboat = mailboat
        self.tracing = tracing
        let name = "mailboat-chaos-\(UUID().uuidString.prefix(8).lowercased())"
        self.directory = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        try FileManager.default.createDirectory(atPath: self.directory, withIntermediateDirectories: true)
        var topics = WorkerConfiguration().topics
        if real != nil {
            topics.events = ["\(name).events"]
            topics.routed = "\(name).routed"
            topics.state = "\(name).state"
            topics.outcomes = "\(name).outcomes"
            topics.deadLetters = "\(name).dead-letters"
        }
        self.topics = topics
        self.group = name
        self.kafkaIsEmbedded = real == nil
        self.membershipIsStatic = real != nil
        // A real broker allows no session timeout below 6 s by default. The embedded one takes a second less than the
        // timeout for each rebalance.
        self.sessionTimeoutMillis = real == nil ? 4_000 : 10_000
        if let real {
            self.kafkaSettings = real
            try await self.createTopics()
        } else {
            let log = "\(self.directory)/kafka.log"
            let kafka = try ChildProcess(
                name: "kafka", executable: mailboat,
                arguments: [
                    "embedded-kafka", "--port", "0", "--control", "0", "--brokers",
                    "\(spreadsLeaders ? Self.embeddedBrokerCount : 1)",
                ]
                    + topics.all.flatMap { ["--topic", "\($0):\(Self.partitionCount)"] },
                logPath: log)
            self.kafka = kafka
            self.kafkaControlPort = try await Self.port(after: "control API   http://127.0.0.1:", of: kafka)
            let port = try await Self.port(after: "kafka         127.0.0.1:", of: kafka)
            self.kafkaSettings = KafkaSettings(bootstrap: "127.0.0.1:\(port)")
            if spreadsLeaders { try await self.spreadLeaders() }
        }
        try await self.startAPNs(seed: seed)
        for number in 1...workerCount {
            let worker = ChaosWorker(
                executable: former ?? mailboat, number: number, adminPort: try await LocalHTTP.freePort(),
                directory: self.directory)
            try self.start(worker)
            self.workers.append(worker)
        }
    }

    /// Ends every process.
    /// - Parameter keepsLogs: whether the logs of the processes stay in `directory`.
    package func strike(keepsLogs: Bool) {
        for worker in self.workers { worker.process?.kill() }
        self.apns?.kill()
        self.kafka?.kill()
        if !keepsLogs { try? FileManager.default.removeItem(atPath: self.directory) }
    }

    // MARK: APNs

    /// Starts the simulated APNs, on the same ports as before.
    func startAPNs(seed: UInt64) async throws {
        let apns = try ChildProcess(
            name: "apns", executable: self.mailboat,
            arguments: [
                "apns-simulator", "--port", "\(self.apnsPort)", "--control", "\(self.apnsControlPort)",
                "--manage-port", "\(self.apnsManagePort)",
                // 0 means that the simulated APNs limits no broadcasts, so only faults refuse any.
                "--channel-pushes-per-minute", "0",
                "--generate-credentials", "\(self.directory)/apns", "--journal", self.journalPath, "--seed", "\(seed)",
                "--latency", "\(Self.latencyMillis)", "--jitter", "\(Self.latencyMillis)",
            ] + ChaosTraffic.apps.flatMap { ["--app", $0] },
            logPath: "\(self.directory)/apns-\(UInt64.random(in: 0 ... .max)).log")
        self.apns = apns
        let controlPort = try await Self.port(after: "control API   http://127.0.0.1:", of: apns)
        let port = try await Self.port(after: "pushes        https://127.0.0.1:", of: apns)
        let managePort = try await Self.port(after: "channels      https://127.0.0.1:", of: apns)
        (self.apnsPort, self.apnsControlPort, self.apnsManagePort) = (port, controlPort, managePort)
    }

    /// Shortest delay of an answer of the simulated APNs, milliseconds. The longest is twice this.
    static let latencyMillis = 20

    /// Violations about channels that APNs has reported in all its lives. A killed APNs forgets violations that
    /// `gatherViolations` has not read.
    private(set) var channelViolations: [Violation] = []

    /// Asks APNs for its violations, and keeps those about channels. APNs itself forgets its violations when it is
    /// killed.
    func gatherViolations() async throws {
        guard let answer = try await LocalHTTP.get("/violations", port: self.apnsControlPort) else { return }
        let violations = try JSONDecoder().decode([String: [Violation]].self, from: Data(answer.body.utf8))
        self.channelViolations += (violations["violations"] ?? []).filter { !$0.channel.isEmpty }
    }

    /// Kills APNs, and returns when it has ended and its ports are free.
    func killAPNs() async throws {
        try await self.gatherViolations()
        self.apns?.kill()
        // The process ends within milliseconds, and no event says when.
        while self.apns?.isRunning == true { try? await Task.sleep(for: .milliseconds(5)) }
    }

    var apnsIsRunning: Bool { self.apns?.isRunning == true }
    var kafkaIsRunning: Bool { !self.kafkaIsEmbedded || self.kafka?.isRunning == true }

    // MARK: Kafka

    /// The partitions of a topic, added ones included.
    func partitions(of topic: String) -> [TopicPartition] {
        (0..<(self.partitionCounts[topic] ?? Self.partitionCount)).map { TopicPartition(topic: topic, partition: $0) }
    }

    private func createTopics() async throws {
        let (settings, planned) = (self.kafkaSettings, self.plannedTopics)
        let failure = await NamedThread.run("topics") { () -> String? in
            do {
                let admin = try KafkaAdmin(settings, log: { _ in })
                let existing = Set(try admin.describeTopics(within: .seconds(30)).map(\.name))
                let missing = planned.filter { !existing.contains($0.name) }
                for answer in try admin.createTopics(missing, within: .seconds(60)) {
                    if let error = answer.error { return "\(answer.name): \(error)" }
                }
                return nil
            } catch { return "\(error)" }
        }
        if let failure { throw CommandFailure("the topics of the run cannot be created: \(failure)") }
    }

    // MARK: Workers

    /// Starts a worker for the first time or again, with its current `executable`.
    func start(_ worker: ChaosWorker) throws {
        // Only the owner may read the file, because it may hold the password of a real Kafka.
        guard
            FileManager.default.createFile(
                atPath: worker.configurationPath, contents: Data(self.configuration(worker).utf8),
                attributes: [.posixPermissions: 0o600])
        else { throw CommandFailure("\(worker.configurationPath) cannot be written") }
        try worker.start()
    }

    private func configuration(_ worker: ChaosWorker) -> String {
        let fetch =
            self.kafkaIsEmbedded
            ? "\n  # The embedded Kafka does not wake a waiting fetch.\n  fetch.wait.max.ms: 10" : ""
        let produce =
            self.kafkaIsEmbedded
            ? EmbeddedKafka.producerSettings.properties.map {
                "\n  # The embedded Kafka would take a batch although the one before was lost.\n  \($0.name): \($0.value)"
            }.joined() : ""
        let member = self.membershipIsStatic ? "\nkafka.group-instance-id: worker-\(worker.number)" : ""
        let tracing =
            self.tracing.flatMap {
                guard worker.executable == self.mailboat else { return nil }
                return "\ntracing:\n  otlp-endpoint: \($0.collector.endpoint)\n  sample-ratio: \($0.sampleRatio)"
            } ?? ""
        return """
            kafka.properties:
            \(WorkerYAML.lines(self.kafkaSettings, indent: 2))\(WorkerYAML.login(self.kafkaSettings))
            kafka.group: \(self.group)\(member)
            kafka.consumer:
              session.timeout.ms: \(self.sessionTimeoutMillis)
              heartbeat.interval.ms: 500
              # An added partition is found soon.
              topic.metadata.refresh.interval.ms: 5000\(fetch)
            kafka.producer:
              compression.codec: lz4
              # Below the session timeout: what is not written by then must not appear behind a successor's records.
              message.timeout.ms: \(self.sessionTimeoutMillis - 1_000)\(produce)
            topics:
              events: \(self.topics.events[0])
              routed: \(self.topics.routed)
              state: \(self.topics.state)
              outcomes: \(self.topics.outcomes)
              dead-letters: \(self.topics.deadLetters)
            outcomes.publish: all
            admin.port: \(worker.adminPort)
            budget.per-hour: \(Self.budgetPerHour)
            budget.audience-per-hour: \(Self.audienceBudgetPerHour)
            budget.audience-frequent-per-hour: \(Self.frequentAudienceBudgetPerHour)
            start.per-hour: \(Self.startsPerHour)
            coalescing.minimum-distance: \(Self.distanceMillis)ms
            channel.minimum-distance: \(Self.channelDistanceMillis)ms
            channel.fallback: \(Self.channelFallbackMillis)ms
            drain-timeout: 10s
            retry.backoff-max: 5s\(tracing)
            apns:
              team-id: \(Self.teamID)
              key-id: \(Self.keyID)
              key-file: \(self.directory)/apns/AuthKey_\(Self.keyID).p8
              request-timeout: 5s
              ping-after: 2s
              ping-timeout: 2s
              backoff-max: 5s
              production:
                host: 127.0.0.1
                port: \(self.apnsPort)
                manage-host: 127.0.0.1
                manage-port: \(self.apnsManagePort)
                ca-file: \(self.directory)/apns/ca.pem
            apps:
            \(ChaosTraffic.apps.map { "  \($0):\n    audience.channel: \($0 == Self.channelApp ? "auto" : "none")" }.joined(separator: "\n"))
            """
    }

    /// The app whose audiences have kept channels. It has half of all audiences.
    static let channelApp = ChaosTraffic.apps[0]

    // MARK: Starting

    /// The port that a process has printed after the given words.
    private static func port(after words: String, of process: ChildProcess) async throws -> Int {
        let deadline = ContinuousClock.now + Self.startDurationMax
        while ContinuousClock.now < deadline {
            let text = (try? String(contentsOfFile: process.logPath, encoding: .utf8)) ?? ""
            if let found = text.range(of: words) {
                let digits = text[found.upperBound...].prefix { $0.isNumber }
                // The line is complete when something follows the number.
                if let port = Int(digits), text[found.upperBound...].count > digits.count { return port }
            }
            guard process.isRunning else { break }
            // No event says that a file has grown.
            try await Task.sleep(for: .milliseconds(20))
        }
        throw CommandFailure("\(process.name) did not start: see \(process.logPath)")
    }
}
