import APNSSimulator
import KafkaLog
import PushEngine
import ShardLoop
import Testing

@testable import PushWorker

/// Tests of records that Kafka refuses because of their content.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct RefusedRecordsTests {
    /// Kafka's codes MESSAGE_TOO_LARGE, INVALID_TIMESTAMP and INVALID_RECORD.
    private static let codes: [Int32] = [10, 32, 87]

    @Test(arguments: Self.codes) func aRecordIsJudgedAlone(code: Int32) async throws {
        try await WorkerHouse.withWaitingUpdate { house, worker in
            house.kafka.failRequests(apiKey: 0, code: .init(rawValue: code), count: 1)
            let settled = try await WorkerHouse.wait(for: worker) {
                $0.engine.pushesAccepted == 2 && $0.isSettled && $0.kafka.outbox.deliveriesFailed > 0
            }
            #expect(settled.kafka.outbox.outcomesUnpublished == 0 && settled.kafka.outbox.retriesWaiting == 0)
            #expect(settled.isReady && settled.engine.isConserved)
            await worker.stop()
            #expect(try await house.outcomes() == ["applied": 1, "delivered": 2])
        }
    }

    /// Kafka also refuses the outcome when it is sent alone and with the present time. The outcome is then given up and
    /// counted, and delays nothing.
    @Test(arguments: Self.codes) func anOutcomeThatIsRefusedForGoodIsCounted(code: Int32) async throws {
        try await WorkerHouse.withWaitingUpdate { house, worker in
            house.kafka.failRequests(apiKey: 0, code: .init(rawValue: code), count: code == 32 ? 3 : 2)
            let settled = try await WorkerHouse.wait(for: worker) {
                $0.engine.pushesAccepted == 2 && $0.isSettled && $0.kafka.outbox.outcomesUnpublished == 1
            }
            #expect(settled.isReady && settled.engine.isConserved)
            #expect(settled.kafka.outbox.refusals[.outcomes, ProduceError(code: code)] >= 2)
            #expect(settled.degraded.contains { $0.hasPrefix("Kafka refuses a record for outcomes") })
            await worker.stop()
            #expect(try await house.outcomes() == ["applied": 1, "delivered": 1])
            #expect(try await house.committed().max() == 3)
        }
    }
}
