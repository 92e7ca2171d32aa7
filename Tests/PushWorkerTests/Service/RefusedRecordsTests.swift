import APNSSimulator
import KafkaLog
import PushEngine
import ShardLoop
import Testing

@testable import PushWorker

/// Records that a Kafka refuses for what they are.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct RefusedRecordsTests {
    /// Kafka's numbers: MESSAGE_TOO_LARGE, INVALID_TIMESTAMP, INVALID_RECORD.
    private static let codes: [Int32] = [10, 32, 87]

    @Test(arguments: Self.codes) func aRecordIsJudgedAlone(code: Int32) async throws {
        try await WorkerHouse.withWaitingUpdate { house, worker in
            house.kafka.failRequests(apiKey: 0, code: .init(rawValue: code), count: 1)
            let settled = try await WorkerHouse.wait(for: worker) {
                $0.engine.pushesAccepted == 2 && $0.isSettled && $0.kafka.deliveriesFailed > 0
            }
            #expect(settled.kafka.outcomesUnpublished == 0 && settled.kafka.retriesWaiting == 0)
            #expect(settled.isReady && settled.engine.isConserved)
            await worker.stop()
            #expect(try await house.outcomes() == ["applied": 1, "delivered": 2])
        }
    }

    /// Refused alone too, and with the present time: it is counted, and holds nothing up.
    @Test(arguments: Self.codes) func anOutcomeThatIsRefusedForGoodIsCounted(code: Int32) async throws {
        try await WorkerHouse.withWaitingUpdate { house, worker in
            house.kafka.failRequests(apiKey: 0, code: .init(rawValue: code), count: code == 32 ? 3 : 2)
            let settled = try await WorkerHouse.wait(for: worker) {
                $0.engine.pushesAccepted == 2 && $0.isSettled && $0.kafka.outcomesUnpublished == 1
            }
            #expect(settled.isReady && settled.engine.isConserved)
            #expect(settled.kafka.refusals[.outcomes, ProduceError(code: code)] >= 2)
            #expect(settled.degraded.contains { $0.hasPrefix("Kafka refuses a record for outcomes") })
            await worker.stop()
            #expect(try await house.outcomes() == ["applied": 1, "delivered": 1])
            #expect(try await house.committed().max() == 3)
        }
    }
}
