import APNSSimulator
import Foundation
import KafkaLog
import Logging
import PushEngine
import PushModel
import TLSSession
import Testing

@testable import PushWorker

/// An embedded Kafka and a simulated APNs on real sockets, for workers in this process.
final class WorkerHouse: Sendable {
    static let app = "com.example.pizza"
    static let keyID = "TESTKEY123"
    static let teamID = "TESTTEAM12"

    let kafka: EmbeddedKafka
    let simulator: APNSSimulator
    let directory: String
    let credentials: CredentialDirectory
    private let producer: KafkaProducer
    private let events: KafkaTopic
    private let partitionCount: Int

    /// Builds a house, runs `body` in it, and tears it down.
    static func with(
        partitionCount: Int = 4, topics: [EmbeddedKafka.Topic]? = nil, _ body: (WorkerHouse) async throws -> Void
    ) async throws {
        let house = try await WorkerHouse(partitionCount: partitionCount, topics: topics)
        do {
            try await body(house)
        } catch {
            await house.tearDown()
            throw error
        }
        await house.tearDown()
    }

    /// Runs `body` in a house whose worker has pushed one update of the activity `a`. A second update waits in the
    /// worker for a second. So the next record that Kafka gets comes from the worker.
    static func withWaitingUpdate(_ body: (WorkerHouse, WorkerService) async throws -> Void) async throws {
        try await Self.with { house in
            let worker = try await house.readyWorker()
            try house.register("a", token: "abc00001")
            try house.update("a", 1)
            try await house.flush()
            try await Self.wait(for: worker) { $0.engine.pushesAccepted == 1 && $0.isSettled }
            try house.update("a", 2, priority: 5)
            try await house.flush()
            try await Self.wait(for: worker) { $0.engine.consumed == 3 }
            try await body(house, worker)
        }
    }

    private init(partitionCount: Int, topics: [EmbeddedKafka.Topic]?) async throws {
        let names = WorkerConfiguration().topics.all
        self.partitionCount = partitionCount
        self.kafka = try EmbeddedKafka(
            topics: topics ?? names.map { EmbeddedKafka.Topic($0, partitionCount: partitionCount) }, onNotice: { _ in })
        self.directory =
            FileManager.default.temporaryDirectory.appendingPathComponent("mailboat-worker-\(UUID().uuidString)").path
        self.credentials = try CredentialDirectory(
            path: self.directory, keyID: Self.keyID, names: ["localhost", "127.0.0.1"],
            nowSeconds: Int64(Date().timeIntervalSince1970))
        let key = RegisteredKey(
            keyID: Self.keyID, teamID: Self.teamID, publicKey: try self.credentials.providerKey.publicKey())
        self.simulator = try await APNSSimulator.start(credentials: self.credentials.credentials, keys: [key])
        self.producer = try KafkaProducer(
            ProducerConfiguration(settings: self.kafka.settings), onDeliveries: {}, onError: { _ in })
        self.events = try self.producer.topic(names[0])
    }

    private func tearDown() async {
        await self.simulator.stop()
        self.kafka.stop()
        try? FileManager.default.removeItem(atPath: self.directory)
    }

    // MARK: Workers

    func configuration() -> WorkerConfiguration {
        var configuration = WorkerConfiguration()
        configuration.kafka.common = self.kafka.settings
        // This is the shortest timeout with which the embedded Kafka forms groups.
        configuration.kafka.consumer = KafkaSettings([
            .init("session.timeout.ms", "3500"), .init("heartbeat.interval.ms", "500"),
        ])
        configuration.kafka.producer = EmbeddedKafka.producerSettings
        configuration.shardCount = 2
        configuration.engine.outcomePublication = .all
        configuration.admin.port = 0
        configuration.drainTimeoutMillis = 8_000
        var app = AppSettings(bundleID: Self.app)
        app.keyID = Self.keyID
        app.teamID = Self.teamID
        app.keyFile = self.credentials.providerKeyPath
        app.production.host = "127.0.0.1"
        app.production.port = self.simulator.port
        app.production.caFile = self.credentials.authorityPath
        configuration.apps = [app]
        return configuration
    }

    /// Makes a worker.
    /// - Parameter lines: gets log lines of level warning and above. With `nil`, lines are dropped.
    func worker(_ configuration: WorkerConfiguration? = nil, lines: LogLines? = nil) throws -> WorkerService {
        var logger = Logger(label: "worker") { _ in lines.map { $0.handler } ?? SwiftLogNoOpLogHandler() }
        logger.logLevel = lines == nil ? .critical : .warning
        return try WorkerService(configuration ?? self.configuration(), logger: logger)
    }

    /// A worker that owns and has restored every partition.
    func readyWorker(
        _ configuration: WorkerConfiguration? = nil, lines: LogLines? = nil
    ) async throws -> WorkerService {
        let worker = try self.worker(configuration, lines: lines)
        try await worker.start()
        let count = self.partitionCount
        try await Self.wait(for: worker) { $0.isReady && $0.runningPartitionCount == count }
        return worker
    }

    /// Waits until a condition holds. Reports the worker's state if that takes more than a minute.
    @discardableResult
    static func wait(
        for worker: WorkerService, location: SourceLocation = #_sourceLocation,
        until condition: @escaping @Sendable (WorkerSnapshot) -> Bool
    ) async throws -> WorkerSnapshot {
        try await withThrowingTaskGroup(of: WorkerSnapshot?.self) { group in
            group.addTask { try await worker.waitUntil(condition) }
            group.addTask {
                // The time limit only ends a wait that hangs, so that the test can report the state.
                try? await Task.sleep(for: .seconds(60))
                return nil
            }
            defer { group.cancelAll() }
            if let snapshot = try await group.next() ?? nil { return snapshot }
            let snapshot = worker.snapshot()
            let text =
                "consumed \(snapshot.engine.consumed), pending \(snapshot.engine.pending), in flight \(snapshot.engine.inFlight), "
                + "unacknowledged \(snapshot.engine.unacknowledged), accepted \(snapshot.engine.pushesAccepted), "
                + "errors \(snapshot.errors), partitions \(snapshot.partitions), routes \(snapshot.routes), kafka \(snapshot.kafka)"
            Issue.record("what was waited for did not come: \(text)", sourceLocation: location)
            throw WorkerError("waited in vain")
        }
    }

    // MARK: Events

    func register(_ activity: String, token: String) throws {
        try self.publish(activity, #"{"event":"register","token":"\#(token)"}"#)
    }

    func update(_ activity: String, _ step: Int, priority: Int = 10) throws {
        try self.publish(activity, #"{"event":"update","priority":\#(priority),"content-state":{"step":\#(step)}}"#)
    }

    func publish(_ key: String, _ value: String, partition: Int32? = nil, recordMillis: Int64 = 0) throws {
        let (key, value) = (Array(key.utf8), Array(value.utf8))
        let place = partition ?? Murmur2.partition(key: key.span, count: Int32(self.partitionCount))
        let result = self.producer.produce(
            self.events, partition: place, key: key.span, value: value.span, timestampMillis: recordMillis, opaque: 0)
        guard result == .queued else { throw WorkerError("could not publish: \(result)") }
    }

    /// Waits until Kafka has everything that was published.
    func flush() async throws {
        let producer = self.producer
        let left = await NamedThread.run("test-flush") { producer.flush(within: .seconds(10)) { _ in } }
        guard left == 0 else { throw WorkerError("\(left) events were not taken") }
    }

    // MARK: Results

    /// All records of a topic.
    func records(of topic: String) async throws -> [OwnedRecord] {
        let (settings, count) = (self.kafka.settings, self.partitionCount)
        let result = await NamedThread.run("test-read") { () -> Result<[OwnedRecord], KafkaError> in
            do throws(KafkaError) {
                let reader = try KafkaLogReader(settings)
                var records: [OwnedRecord] = []
                for partition in 0..<Int32(count) {
                    records += try reader.readAll(
                        TopicPartition(topic: topic, partition: partition), within: .seconds(10))
                }
                return .success(records)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Number of published outcomes by name.
    func outcomes() async throws -> [String: Int] {
        struct Record: Decodable { var outcome: String }
        var counts: [String: Int] = [:]
        for record in try await self.records(of: WorkerConfiguration().topics.outcomes) {
            counts[try JSONDecoder().decode(Record.self, from: Data(record.value ?? [])).outcome, default: 0] += 1
        }
        return counts
    }

    /// Offsets of the group in the input topic.
    func committed() async throws -> [Int64] {
        let partitions = (0..<Int32(self.partitionCount)).map {
            TopicPartition(topic: WorkerConfiguration().topics.events[0], partition: $0)
        }
        let consumer = try self.outsider()
        let result = await NamedThread.run("test-positions") { () -> Result<[PartitionPositions], KafkaError> in
            do throws(KafkaError) {
                return .success(try consumer.positions(of: partitions, within: .seconds(10)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get().map { $0.committed ?? -1 }
    }

    /// A consumer that reads the group's offsets without being a member.
    func outsider() throws -> KafkaConsumer {
        let configuration = WorkerConfiguration()
        return try KafkaConsumer(
            ConsumerConfiguration(
                settings: self.kafka.settings, groupID: configuration.kafka.groupID,
                driverTopic: configuration.topics.events[0]))
    }
}
