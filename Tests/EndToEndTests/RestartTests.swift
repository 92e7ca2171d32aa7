import APNSSimulator
import DeviceModel
import Foundation
import Testing

/// Tests of workers that are killed, stop, and share partitions. No event is lost, and no phone returns to older
/// content.
@Suite(.timeLimit(.minutes(10)))
struct RestartTests {
    /// A worker that is killed loses no event. The events come in waves, so that each kill finds the worker with pushes
    /// in flight.
    @Test func aKilledWorkerLosesNothing() async throws {
        try await TestHouse.with { house in
            var worker = try await house.startWorker("first")
            let publisher = try TestPublisher(house.kafka)
            house.simulator.setLatency(Latency(fixedMillis: 20, jitterMillis: 60))
            for order in 0..<200 { try publisher.register("order-\(order)", token: Tokens.make(order)) }
            for order in 0..<200 { try publisher.update("order-\(order)", "preparing", priority: 10) }
            try await publisher.flush()
            try await worker.ready()
            try await until("some are under way") { house.simulator.statistics().accepted > 40 }
            for order in 0..<200 { try publisher.update("order-\(order)", "in the oven") }
            try await publisher.flush()
            worker.kill()
            #expect(try await worker.exited() == -SIGKILL)

            for order in 0..<200 {
                try publisher.update("order-\(order)", "at the door", alert: order % 2 == 0 ? "Ding dong" : nil)
            }
            for order in 0..<50 { try publisher.end("order-\(order)") }
            try await publisher.flush()
            worker = try await house.startWorker("second")
            try await house.phonesAgree(with: publisher.phones)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await DeliveryTests.everyEventHasAnOutcome(publisher, outcomes, in: house)
            #expect(house.violations(except: .http2, .tls).isEmpty)
            worker.terminate()
            #expect(try await worker.exited() == 0)
        }
    }

    @Test func twoWorkersShareAndEitherMayStop() async throws {
        try await TestHouse.with { house in
            let workers = [try await house.startWorker("one"), try await house.startWorker("two")]
            let publisher = try TestPublisher(house.kafka)
            for order in 0..<100 { try publisher.register("order-\(order)", token: Tokens.make(order)) }
            for order in 0..<100 { try publisher.update("order-\(order)", "preparing", priority: 10) }
            try await publisher.flush()
            for worker in workers { try await worker.ready() }
            try await until("both own partitions") {
                let first = try await workers[0].metric("mailboat_partitions", label: "running")
                let second = try await workers[1].metric("mailboat_partitions", label: "running")
                return first > 0 && second > 0 && Int(first + second) == TestKafka.partitionCount
            }
            try await house.phonesAgree(with: publisher.phones)

            for order in 0..<100 { try publisher.update("order-\(order)", "in the oven", priority: 10) }
            try await publisher.flush()
            workers[0].terminate()
            for order in 0..<100 { try publisher.update("order-\(order)", "at the door", alert: "Ding dong") }
            try await publisher.flush()
            #expect(try await workers[0].exited() == 0)
            try await house.phonesAgree(with: publisher.phones)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await DeliveryTests.everyEventHasAnOutcome(publisher, outcomes, in: house)
            #expect(house.violations(except: .http2, .tls).isEmpty)
        }
    }

    /// On SIGTERM the worker finishes what is in flight and records what waits. Another worker continues from there.
    @Test func sigtermDrainsAndExitsWithZero() async throws {
        try await TestHouse.with { house in
            let worker = try await house.startWorker("first")
            let publisher = try TestPublisher(house.kafka)
            for order in 0..<60 { try publisher.register("order-\(order)", token: Tokens.make(order)) }
            try await publisher.flush()
            try await worker.ready()
            house.simulator.setLatency(Latency(fixedMillis: 300))
            for order in 0..<60 {
                try publisher.update("order-\(order)", "preparing", priority: 10)
                // This update waits for the answer to the first one, and then for the minimum distance of a second.
                try publisher.update("order-\(order)", "in the oven", alert: "Hot")
            }
            try await publisher.flush()
            try await until("pushes are under way") { house.simulator.statistics().requests > 0 }
            worker.terminate()
            #expect(try await worker.exited() == 0)
            let answered = house.simulator.statistics().accepted
            #expect(answered >= 1)

            house.simulator.setLatency(Latency())
            let successor = try await house.startWorker("second")
            try await house.phonesAgree(with: publisher.phones)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await DeliveryTests.everyEventHasAnOutcome(publisher, outcomes, in: house)
            let alerts = (0..<60).map { house.simulator.device(token: Tokens.make($0))?.device.alertCount ?? 0 }
            #expect(alerts.allSatisfy { $0 == 1 }, "after a clean stop nothing is sent twice")
            successor.terminate()
            #expect(try await successor.exited() == 0)
        }
    }
}
