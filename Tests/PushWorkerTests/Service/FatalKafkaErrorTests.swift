import KafkaLog
import PushEngine
import Testing

@testable import PushWorker

/// Errors after which librdkafka's client is finished: the worker ends with the reason, and starting it again helps.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct FatalKafkaErrorTests {
    /// Another process has taken this member's place in the group.
    @Test func aFencedConsumerEndsTheWorkerAndTheNextGoesOn() async throws {
        try await WorkerHouse.with { house in
            let worker = try house.worker()
            let run = Task { try await worker.run() }
            try await WorkerHouse.wait(for: worker) { $0.isReady && $0.runningPartitionCount == 4 }
            try house.register("a", token: "abc0")
            try house.update("a", 1)
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.pushesAccepted == 1 && $0.isSettled }
            // Kafka's number of Heartbeat.
            house.kafka.failRequests(apiKey: 12, code: .fencedInstance, count: 1)
            let error = await #expect(throws: WorkerError.self) { try await run.value }
            #expect(error?.isRetriable == true)
            #expect(error?.description.contains("the Kafka consumer has ended") == true, "\(String(describing: error))")

            let next = try await house.readyWorker()
            try house.update("a", 2)
            try await house.flush()
            try await WorkerHouse.wait(for: next) { $0.engine.pushesAccepted == 1 && $0.isSettled }
            await next.stop()
            let outcomes = try await house.outcomes()
            #expect(outcomes["delivered"] == 2, "\(outcomes)")
        }
    }

    /// The cluster does not allow this client to write without duplicates.
    @Test func aProducerThatMayNotWriteEndsTheWorker() async throws {
        try await WorkerHouse.with { house in
            // InitProducerId, and Kafka's code for an authorization the cluster denies.
            house.kafka.failRequests(apiKey: 22, code: .init(rawValue: 31), count: 100)
            let worker = try house.worker()
            let error = await #expect(throws: WorkerError.self) { try await worker.run() }
            #expect(error?.description.contains("the Kafka producer of shard") == true, "\(String(describing: error))")
            house.kafka.clearFailures(apiKey: 22)
            let next = try await house.readyWorker()
            await next.stop()
        }
    }
}
