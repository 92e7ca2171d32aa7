import ChildProcesses
import Foundation
import Testing

/// Tests of two workers with the same `kafka.group-instance-id`. The tests need a real broker, because the embedded
/// Kafka has no static members.
@Suite(
    .enabled(if: ProcessInfo.processInfo.environment["MAILBOAT_TEST_BOOTSTRAP"]?.isEmpty == false),
    .timeLimit(.minutes(5)))
struct SameInstanceTests {
    @Test func whoeverIsFencedStaysUpAndJoinsWhenTheOtherHasGone() async throws {
        try await TestHouse.with { house in
            let settings = "kafka.group-instance-id: same-0"
            let first = try await house.startWorker("first", settings: settings)
            try await first.ready()
            let second = try await house.startWorker("second", settings: settings)
            try await second.ready()
            try await until("the first says who has its place") {
                guard let answer = try await first.get("/readyz") else { return false }
                return answer.status == 503 && answer.body.contains("kafka.group-instance-id same-0")
                    && answer.body.contains("another process at ")
            }
            #expect(try await first.get("/healthz")?.status == 200)

            let publisher = try TestPublisher(house.kafka)
            for order in 0..<20 {
                try publisher.register("order-\(order)", token: Tokens.make(order))
                try publisher.update("order-\(order)", "preparing", priority: 10)
            }
            try await publisher.flush()
            try await house.phonesAgree(with: publisher.phones)
            // The worker that lost its instance id has not joined again.
            #expect(try await first.get("/readyz")?.status == 503)
            #expect(try await second.get("/readyz")?.status == 200)

            second.terminate()
            #expect(try await second.exited() == 0)
            try await first.ready()
            for order in 0..<20 { try publisher.update("order-\(order)", "at the door", priority: 10) }
            try await publisher.flush()
            try await house.phonesAgree(with: publisher.phones)
            #expect(house.violations().isEmpty)
            first.terminate()
            #expect(try await first.exited() == 0)
        }
    }
}
