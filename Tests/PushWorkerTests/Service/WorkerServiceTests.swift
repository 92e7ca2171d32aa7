import APNSSimulator
import DeviceModel
import Foundation
import KafkaLog
import PushEngine
import PushModel
import ShardLoop
import Testing

@testable import PushWorker

/// Tests of workers with real parts: embedded Kafka, simulated APNs, sockets and TLS. The tests are few, because they
/// are slow. Each waits for events.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct WorkerServiceTests {
    private static func token(_ number: Int) -> String { String(format: "%08x", 0xabc0_0000 + number) }

    private static func step(_ simulator: APNSSimulator, _ number: Int) -> String? {
        simulator.device(token: Self.token(number)).map {
            String(decoding: $0.device.contentState, as: UTF8.self)
        }
    }

    @Test func eventsBecomePushesAndOffsets() async throws {
        try await WorkerHouse.with { house in
            let worker = try await house.readyWorker()
            for number in 0..<40 { try house.register("activity-\(number)", token: Self.token(number)) }
            for step in 0..<5 { for number in 0..<40 { try house.update("activity-\(number)", step) } }
            try house.publish("activity-0", "{\"event\":\"updat\"}")
            try house.publish("elsewhere", "{}", partition: Murmur2Partition.other(than: "elsewhere"))
            try await house.flush()
            let snapshot = try await WorkerHouse.wait(for: worker) { $0.engine.consumed == 243 && $0.isSettled }
            #expect(snapshot.engine.isConserved)
            #expect(snapshot.engine.forwarded == 1)
            #expect(snapshot.engine.count(.applied) == 40)
            #expect(snapshot.engine.count(.deadLettered) == 2)
            #expect(snapshot.engine.count(.delivered) + snapshot.engine.count(.superseded) == 200)
            #expect(snapshot.recordToAccepted.count == snapshot.engine.pushesAccepted)
            for number in 0..<40 { #expect(Self.step(house.simulator, number) == "{\"step\":4}") }

            let port = try #require(worker.adminPort)
            #expect(try await AdminPort.get("/healthz", port: port).status == 200)
            #expect(try await AdminPort.get("/readyz", port: port).status == 200)
            #expect(
                try await AdminPort.get("/metrics", port: port).body.contains("mailboat_events_consumed_total 243\n"))
            #expect(try await AdminPort.get("/nothing", port: port).status == 404)

            #expect(await worker.stop() == StopReport(isClean: true, detail: ""))
            #expect(try await house.outcomes().values.reduce(0, +) == 242)
            #expect(try await house.committed().reduce(0, +) == 242)
            #expect(try await house.records(of: "liveactivity.dead-letters").count == 2)
        }
    }

    @Test func whatIsPendingWhenAWorkerStopsIsSentByTheNext() async throws {
        try await WorkerHouse.with { house in
            let first = try await house.readyWorker()
            try house.update("late", 1)
            try house.update("late", 2)
            try await house.flush()
            try await WorkerHouse.wait(for: first) { $0.engine.consumed == 2 }
            #expect(await first.stop().isClean)
            let left = first.snapshot().engine
            #expect(left.handedOver >= 1 && left.pending == 0 && left.isConserved)
            #expect(try await house.committed().max() == 2)

            let second = try await house.readyWorker()
            try house.register("late", token: Self.token(1))
            try await house.flush()
            let snapshot = try await WorkerHouse.wait(for: second) { $0.engine.pushesAccepted == 1 && $0.isSettled }
            #expect(snapshot.engine.restored == left.handedOver)
            #expect(snapshot.engine.isConserved)
            #expect(Self.step(house.simulator, 1) == "{\"step\":2}")
            await second.stop()
        }
    }

    @Test func recordsKafkaRefusesAreWrittenAgain() async throws {
        try await WorkerHouse.with { house in
            let worker = try await house.readyWorker()
            try house.register("a", token: Self.token(1))
            try house.update("a", 1)
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.pushesAccepted == 1 && $0.isSettled }
            // The update waits for the low-priority window. So the next record that Kafka gets comes from the worker,
            // and the failure below meets it.
            try house.update("a", 2, priority: 5)
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.consumed == 3 }
            // librdkafka does not retry after this error. The worker must, because an operator may grant the right
            // again.
            house.kafka.failRequests(apiKey: 0, code: .topicAuthorizationFailed, count: 3)
            let snapshot = try await WorkerHouse.wait(for: worker) { $0.kafka.outbox.deliveriesFailed > 0 }
            #expect(!snapshot.isReady)
            let settled = try await WorkerHouse.wait(for: worker) {
                $0.engine.pushesAccepted == 2 && $0.isSettled && $0.errors.isEmpty
            }
            #expect(settled.engine.isConserved && settled.kafka.outbox.retriesWaiting == 0)
            #expect(Self.step(house.simulator, 1) == "{\"step\":2}")
            await worker.stop()
            #expect(try await house.outcomes() == ["applied": 1, "delivered": 2])
        }
    }

    @Test func aPositionOutsideTheLogHaltsItsPartitionAlone() async throws {
        try await WorkerHouse.with { house in
            let outsider = try house.outsider()
            let wrong = TopicPartitionOffset(topic: "liveactivity.events", partition: 2, offset: 99)
            let commit = await NamedThread.run("test-commit") { outsider.commitSync([wrong], within: .seconds(10)) }
            try #require(commit.isSuccess)

            let worker = try house.worker()
            try await worker.start()
            let snapshot = try await WorkerHouse.wait(for: worker) {
                $0.runningPartitionCount == 3 && $0.partitions.count == 4
            }
            #expect(!snapshot.isReady)
            let halted = try #require(snapshot.partitions.first { $0.phase == .halted })
            #expect(halted.number == 2)
            #expect(halted.reason.contains("committed offset 99") && halted.reason.contains("0 to 0"))
            #expect(snapshot.errors.contains { $0.contains("partition 2") })
            #expect(await worker.stop().isClean)
            #expect(try await house.committed()[2] == 99)
        }
    }

    /// A drain ends a start that waits for Kafka. Without the drain the start would wait forever.
    @Test(.timeLimit(.minutes(2))) func aDrainEndsAStart() async throws {
        try await WorkerHouse.with { house in
            var configuration = house.configuration()
            configuration.kafka.common = KafkaSettings([.init("bootstrap.servers", "127.0.0.1:1")])
            let lines = LogLines()
            let worker = try house.worker(configuration, lines: lines)
            let running = Task { try await worker.run() }
            try await worker.waitUntil {
                $0.errors.contains { $0.contains("Kafka cannot be reached at 127.0.0.1:1: ") }
            }
            worker.drain()
            try await running.value
            #expect(worker.snapshot().isDraining)
            // Each log line names the broker's address.
            #expect(!lines.all.isEmpty && lines.all.allSatisfy { $0.contains("127.0.0.1:1") }, "\(lines.all)")
        }
    }

    /// A worker of another group warns that the group has no offsets for this `state`. A worker of the same group takes
    /// over without a warning.
    @Test func aGroupThatNeverUsedTheStateIsNamed() async throws {
        try await WorkerHouse.with { house in
            let former = try await house.readyWorker()
            try house.register("a", token: "abc00001")
            try await house.flush()
            try await WorkerHouse.wait(for: former) { $0.engine.consumed == 1 && $0.isSettled }
            #expect(await former.stop().isClean)
            for group in ["mailboat", "other"] {
                var configuration = house.configuration()
                configuration.kafka.groupID = group
                let lines = LogLines()
                let worker = try await house.readyWorker(configuration, lines: lines)
                #expect(await worker.stop().isClean)
                let warnings = lines.all.filter { $0.contains("Kafka has no offsets of this worker's group") }
                #expect(warnings.count == (group == "other" ? 1 : 0), "\(lines.all)")
                #expect(warnings.allSatisfy { $0.contains("group=other") && $0.contains("state=liveactivity.state") })
            }
        }
    }

    @Test func topicsThatDoNotFitAreRefusedAtStart() async throws {
        let names = WorkerConfiguration().topics.all
        let topics = names.map { EmbeddedKafka.Topic($0, partitionCount: $0 == "liveactivity.state" ? 3 : 4) }
        try await WorkerHouse.with(topics: topics) { house in
            let worker = try house.worker()
            let error = await #expect(throws: WorkerError.self) { try await worker.start() }
            #expect(error?.description.contains("liveactivity.state has 3") == true)
        }
    }

    /// The worker warns once per topic about misplaced records, even if several shards find them. The contract
    /// (Placement) asks for that.
    @Test func misplacedRecordsAreWarnedAboutOnce() async throws {
        try await WorkerHouse.with { house in
            let lines = LogLines()
            let worker = try await house.readyWorker(lines: lines)
            for number in 0..<20 {
                let key = "elsewhere-\(number)"
                try house.publish(key, "{}", partition: Murmur2Partition.other(than: key))
            }
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.forwarded == 20 && $0.isSettled }
            await worker.stop()
            let warnings = lines.all.filter { $0.contains("wrong partition") }
            #expect(warnings.count == 1)
            #expect(warnings.first?.contains("first=liveactivity.events[") == true)
            #expect(warnings.first?.contains("partitioner=murmur2_random") == true)
        }
    }

    /// The worker warns once per topic about impossible record times. The phone still gets the content, and no metric
    /// shows an age of 56 years.
    @Test func recordTimesThatCannotBeAreWarnedAboutOnce() async throws {
        try await WorkerHouse.with { house in
            let lines = LogLines()
            let worker = try await house.readyWorker(lines: lines)
            for number in 0..<4 {
                try house.register("activity-\(number)", token: Self.token(number))
                try house.publish(
                    "activity-\(number)", #"{"event":"update","priority":10,"content-state":{"step":1}}"#,
                    recordMillis: [1, 1_700_000_000][number % 2])
            }
            try await house.flush()
            let snapshot = try await WorkerHouse.wait(for: worker) { $0.engine.pushesAccepted == 4 && $0.isSettled }
            #expect(snapshot.engine.untimed == 4)
            #expect(snapshot.recordToAccepted.maxMicros < 3_600_000_000)
            await worker.stop()
            let warnings = lines.all.filter { $0.contains("impossible record time") }
            #expect(warnings.count == 1)
            #expect(warnings.first?.contains("first=liveactivity.events[") == true)
            #expect(warnings.first?.contains("before 2017") == true)
        }
    }

    @Test func aKeyThatIsNoneIsRefusedAtStart() async throws {
        try await WorkerHouse.with { house in
            var configuration = house.configuration()
            configuration.apps[0].keyFile = "/nowhere/AuthKey.p8"
            let worker = try house.worker(configuration)
            let error = await #expect(throws: WorkerError.self) { try await worker.start() }
            #expect(error?.description.contains("/nowhere/AuthKey.p8") == true)
        }
    }

    @Test func twoWorkersShareThePartitions() async throws {
        try await WorkerHouse.with { house in
            let first = try await house.readyWorker()
            let second = try house.worker()
            try await second.start()
            try await WorkerHouse.wait(for: second) { $0.isReady && $0.runningPartitionCount == 2 }
            try await WorkerHouse.wait(for: first) { $0.isReady && $0.runningPartitionCount == 2 }
            for number in 0..<40 {
                try house.register("activity-\(number)", token: Self.token(number))
                try house.update("activity-\(number)", 7)
            }
            try await house.flush()
            try await WorkerHouse.wait(for: first) { $0.engine.consumed > 0 && $0.isSettled }
            #expect(await first.stop().isClean)
            try await WorkerHouse.wait(for: second) { $0.isReady && $0.runningPartitionCount == 4 && $0.isSettled }
            _ = try await house.simulator.wait { $0.accepted >= 40 }
            for number in 0..<40 { #expect(Self.step(house.simulator, number) == "{\"step\":7}") }
            await second.stop()
        }
    }
}

/// Chooses a partition of four to which a key does not belong.
enum Murmur2Partition {
    static func other(than key: String) -> Int32 {
        let bytes = Array(key.utf8)
        return (Murmur2.partition(key: bytes.span, count: 4) + 1) % 4
    }
}

/// Sends one request to the admin port.
enum AdminPort {
    static func get(_ path: String, port: Int) async throws -> (status: Int, body: String) {
        let result = await NamedThread.run("test-http") { () -> Result<(Int, String), any Error> in
            Result {
                let socket = try LoopbackSocket(port: port)
                try socket.send("GET \(path) HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                let answer = try socket.receiveAll()
                guard let status = Int(answer.split(separator: " ").dropFirst().first ?? ""),
                    let head = answer.range(of: "\r\n\r\n")
                else {
                    throw WorkerError("no answer to \(path): \(answer)")
                }
                return (status, String(answer[head.upperBound...]))
            }
        }
        return try result.get()
    }
}
