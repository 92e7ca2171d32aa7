import APNSSimulator
import DeviceModel
import KafkaLog
import PushEngine
import Testing

@testable import PushWorker

/// Tests of Kafka faults that a worker survives. Nothing is lost, readiness reports the fault, and liveness does not.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct KafkaOutageTests {
    private static func token(_ number: Int) -> String { "abc0000\(number)" }

    private static func step(_ house: WorkerHouse, _ number: Int) -> String? {
        house.simulator.device(token: Self.token(number)).map {
            String(decoding: $0.device.contentState, as: UTF8.self)
        }
    }

    /// Every broker is away for longer than the session. The lease ends, and the partitions are lost and come back. No
    /// event is lost.
    @Test func brokersThatAreGoneForAWhileLoseNothing() async throws {
        try await WorkerHouse.with { house in
            let worker = try await house.readyWorker()
            let port = try #require(worker.adminPort)
            for number in 0..<8 {
                try house.register("activity-\(number)", token: Self.token(number))
                try house.update("activity-\(number)", 1)
            }
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.pushesAccepted == 8 && $0.isSettled }

            house.kafka.setDown()
            // The publisher keeps these events until the brokers are back.
            for number in 0..<8 { try house.update("activity-\(number)", 2) }
            // Soon the partitions are lost, together with everything that Kafka has not acknowledged.
            try await WorkerHouse.wait(for: worker) {
                $0.runningPartitionCount == 0 || $0.errors.contains { $0.contains("has not confirmed recently") }
            }
            #expect(try await AdminPort.get("/readyz", port: port).status == 503)
            #expect(try await AdminPort.get("/healthz", port: port).status == 200)

            house.kafka.setUp()
            try await house.flush()
            try await WorkerHouse.wait(for: worker) {
                $0.isReady && $0.runningPartitionCount == 4 && $0.engine.pushesAccepted >= 16 && $0.isSettled
            }
            for number in 0..<8 { #expect(Self.step(house, number) == "{\"step\":2}") }
            #expect(await worker.stop().isClean)
            #expect(worker.snapshot().engine.isConserved)
            #expect(try await house.committed().reduce(0, +) == 24)
        }
    }

    /// Kafka takes no more records for `state`, so the next owner will repeat the events. The stop reports that it was
    /// not in good order.
    @Test func stoppingWithRecordsThatKafkaHasNotTakenIsTold() async throws {
        try await WorkerHouse.with { house in
            let worker = try await house.readyWorker()
            for number in 0..<8 { try house.register("activity-\(number)", token: Self.token(number)) }
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.consumed == 8 && $0.isSettled }
            for partition in 0..<4 as Range<Int32> {
                let state = TopicPartition(topic: WorkerConfiguration().topics.state, partition: partition)
                house.kafka.setLeader(of: state, broker: nil)
            }
            for number in 0..<8 { try house.update("activity-\(number)", 1) }
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.pushesAccepted == 8 }
            let report = await worker.stop()
            #expect(!report.isClean)
            #expect(report.detail.contains("Kafka did not acknowledge everything of partitions"), "\(report.detail)")
            #expect(report.detail.contains("repeats what is not committed"), "\(report.detail)")
        }
    }

    /// One partition of an input topic has no leader when the worker starts. The other partitions begin at once. This
    /// one begins when it has a leader.
    @Test func aPartitionWithoutALeaderHoldsNoOther() async throws {
        try await WorkerHouse.with { house in
            let lost = TopicPartition(topic: WorkerConfiguration().topics.events[0], partition: 1)
            house.kafka.setLeader(of: lost, broker: nil)
            let worker = try house.worker()
            try await worker.start()
            try await WorkerHouse.wait(for: worker) { $0.isReady && $0.runningPartitionCount == 3 }
            let port = try #require(worker.adminPort)
            #expect(try await AdminPort.get("/readyz", port: port).status == 200)
            #expect(worker.snapshot().partitions.first { $0.number == 1 }?.phase == .waiting)
            #expect(
                worker.snapshot().degraded.contains { $0.hasPrefix("partition 1 waits: ") && $0.contains("\(lost)") })
            #expect(worker.metricsText?.contains("mailboat_partitions{phase=\"waiting\"} 1") == true)

            house.kafka.setLeader(of: lost, broker: 1)
            for number in 0..<8 {
                try house.register("activity-\(number)", token: Self.token(number))
                try house.update("activity-\(number)", 1)
            }
            try await house.flush()
            try await WorkerHouse.wait(for: worker) {
                $0.isReady && $0.runningPartitionCount == 4 && $0.engine.consumed == 16 && $0.isSettled
            }
            #expect(worker.snapshot().degraded.isEmpty)
            for number in 0..<8 { #expect(Self.step(house, number) == "{\"step\":1}") }
            #expect(await worker.stop().isClean)
            #expect(try await house.committed().reduce(0, +) == 16)
        }
    }

    /// Brokers answer with these errors while a partition's leader or the group's coordinator moves. No event is lost.
    @Test func leadersThatMoveLoseNothing() async throws {
        try await WorkerHouse.with { house in
            let worker = try await house.readyWorker()
            // 0 is Produce, 1 Fetch and 8 OffsetCommit. Error 6 means that the broker is not the leader.
            house.kafka.failRequests(apiKey: 0, code: .init(rawValue: 6), count: 6)
            house.kafka.failRequests(apiKey: 1, code: .init(rawValue: 6), count: 6)
            house.kafka.failRequests(apiKey: 8, code: .notCoordinator, count: 2)
            for number in 0..<8 {
                try house.register("activity-\(number)", token: Self.token(number))
                for step in 0..<3 { try house.update("activity-\(number)", step) }
            }
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.consumed >= 32 && $0.isSettled && $0.isReady }
            for number in 0..<8 { #expect(Self.step(house, number) == "{\"step\":2}") }
            #expect(await worker.stop().isClean)
            #expect(worker.snapshot().engine.isConserved)
            #expect(try await house.committed().reduce(0, +) == 32)
            #expect(try await house.outcomes().values.reduce(0, +) == 32)
        }
    }
}
