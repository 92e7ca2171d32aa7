import KafkaLog
import PushEngine
import ShardLoop
import Testing

@testable import PushWorker

/// Tests of errors that end a client of librdkafka. A consumer's error ends the worker with the reason, and a producer
/// is replaced.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct FatalKafkaErrorTests {
    /// Another process has replaced this worker's consumer in the group. The worker ends with the reason, and the next
    /// worker continues.
    @Test func aFencedConsumerEndsTheWorkerAndTheNextGoesOn() async throws {
        try await WorkerHouse.with { house in
            let worker = try house.worker()
            let run = Task { try await worker.run() }
            try await WorkerHouse.wait(for: worker) { $0.isReady && $0.runningPartitionCount == 4 }
            try house.register("a", token: "abc0")
            try house.update("a", 1)
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.pushesAccepted == 1 && $0.isSettled }
            // 12 is the number of Heartbeat in Kafka.
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

    /// The cluster denies idempotent writes to this client, so the worker is not ready. When the right is granted, a
    /// new producer writes and the worker becomes ready.
    @Test func aProducerThatMayNotWriteIsFollowedByAnother() async throws {
        try await WorkerHouse.with { house in
            // 22 is InitProducerId, and 31 is CLUSTER_AUTHORIZATION_FAILED.
            house.kafka.failRequests(apiKey: 22, code: .init(rawValue: 31), count: 100)
            let worker = try house.worker()
            try await worker.start()
            let refused = try await WorkerHouse.wait(for: worker) {
                $0.kafka.outbox.producersRenewed > 0 && !$0.errors.isEmpty
            }
            #expect(!refused.isReady)
            #expect(
                refused.errors.contains { $0.hasPrefix("records cannot be written: ") }, "\(refused.errors)")
            house.kafka.clearFailures(apiKey: 22)
            let ready = try await WorkerHouse.wait(for: worker) { $0.isReady && $0.runningPartitionCount == 4 }
            #expect(ready.errors.isEmpty)
            await worker.stop()
        }
    }

    /// OUT_OF_ORDER_SEQUENCE_NUMBER (45) ends librdkafka's producer. INVALID_PRODUCER_EPOCH (47) fails only the record.
    /// No record is lost in either case.
    @Test(arguments: [(45, 1), (47, 0)]) func aProducerThatEndsInTheMiddleLosesNothing(
        code: Int32, renewedCount: UInt64
    ) async throws {
        try await WorkerHouse.withWaitingUpdate { house, worker in
            house.kafka.failRequests(apiKey: 0, code: .init(rawValue: code), count: 1)
            let settled = try await WorkerHouse.wait(for: worker) {
                $0.engine.pushesAccepted == 2 && $0.isSettled && $0.kafka.outbox.deliveriesFailed > 0
                    && $0.kafka.outbox.producersRenewed == renewedCount
            }
            #expect(settled.isReady && settled.engine.isConserved && settled.errors.isEmpty)
            try house.update("a", 3)
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.pushesAccepted == 3 && $0.isSettled }
            await worker.stop()
            #expect(try await house.outcomes() == ["applied": 1, "delivered": 3])
            #expect(try await house.committed().max() == 4)

            // A successor finds what it needs in `state`.
            let next = try await house.readyWorker()
            try house.update("a", 4)
            try await house.flush()
            let done = try await WorkerHouse.wait(for: next) { $0.engine.pushesAccepted == 1 && $0.isSettled }
            #expect(done.engine.isConserved)
            await next.stop()
            #expect(try await house.outcomes()["delivered"] == 4)
        }
    }
}
