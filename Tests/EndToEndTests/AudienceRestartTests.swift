import APNSSimulator
import DeviceModel
import Foundation
import Testing

/// Tests of workers that serve an audience. A worker is killed in the middle of a pass, a worker stops, and two workers
/// share the audience.
@Suite(.timeLimit(.minutes(10)))
struct AudienceRestartTests {
    private static let count = 1_000

    /// The next worker continues from the progress that the killed one recorded. It omits no member, and pushes again
    /// only to members that were served in about the last second.
    @Test func aPassGoesOnAfterAWorkerWasKilled() async throws {
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            house.simulator.setConcurrentStreamsMax(TestAudience.narrowStreams)
            let first = try await house.startWorker("first", settings: TestAudience.narrow)
            try match.join(0..<Self.count)
            try await publisher.flush()
            try await match.has(Self.count, at: first)
            house.simulator.setLatency(Latency(fixedMillis: 200))
            try match.publish(1, TestAudience.goal)
            try await publisher.flush()
            try await house.apns("the pass is in its middle") { $0.accepted >= 500 }
            first.kill()
            #expect(try await first.exited() == -SIGKILL)
            let reached = house.simulator.statistics().accepted
            #expect(reached < Self.count, "it was killed in mid-pass")

            house.simulator.setLatency(Latency())
            let second = try await house.startWorker("second", settings: TestAudience.narrow)
            let summary = try await match.shows(1, 0..<Self.count)
            try await until("nobody waits") { try await second.metric("mailboat_members_waiting") == 0 }
            let repeated = summary.pushes - Self.count
            #expect(repeated < 400, "\(repeated) got it twice: about a second's members, not all that were served")
            #expect(summary.alerts.allSatisfy { $0.alerts >= 1 }, "nobody missed the goal")
            #expect(summary.differing.filter { $0.ways != [.alerts] }.isEmpty)

            // The next worker knows all members, so the next version reaches them.
            try match.publish(2)
            try await publisher.flush()
            try await match.shows(2, 0..<Self.count)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await DeliveryTests.everyEventHasAnOutcome(publisher, outcomes, in: house)
            #expect(house.violations(except: .http2, .tls).isEmpty)
        }
    }

    /// APNs answers the last pushes of a round long after they left. A worker that stops afterwards has recorded these
    /// answers, so the next one repeats nothing.
    @Test func aCleanRestartRepeatsNothing() async throws {
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let first = try await house.startWorker("first")
            try match.join(0..<100)
            try await publisher.flush()
            try await match.has(100, at: first)
            house.simulator.setLatency(Latency(fixedMillis: 2_500))
            try match.publish(1, TestAudience.goal)
            try await publisher.flush()
            try await match.shows(1, 0..<100)
            try await until("all are answered") { try await first.metric("mailboat_members_waiting") == 0 }
            first.terminate()
            #expect(try await first.exited() == 0)

            house.simulator.setLatency(Latency())
            let second = try await house.startWorker("second")
            try await match.has(100, at: second)
            try match.publish(2)
            try await publisher.flush()
            let summary = try await match.shows(2, 0..<100)
            #expect(summary.pushes == 200, "one push each for each version")
        }
    }

    /// Two workers share the partitions of the audience and its members. One of them stops in the middle of a pass.
    @Test func twoWorkersShareAnAudienceAndOneStops() async throws {
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            house.simulator.setConcurrentStreamsMax(TestAudience.narrowStreams)
            let workers = [
                try await house.startWorker("one", settings: TestAudience.narrow),
                try await house.startWorker("two", settings: TestAudience.narrow),
            ]
            for worker in workers { try await worker.ready() }
            try await until("both own partitions") {
                let first = try await workers[0].metric("mailboat_partitions", label: "running")
                let second = try await workers[1].metric("mailboat_partitions", label: "running")
                return first > 0 && second > 0 && Int(first + second) == TestKafka.partitionCount
            }
            try match.join(0..<Self.count)
            try match.publish(1)
            try await publisher.flush()
            try await match.shows(1, 0..<Self.count)

            house.simulator.setLatency(Latency(fixedMillis: 200))
            let before = house.simulator.statistics().accepted
            try match.publish(2, TestAudience.goal)
            try await publisher.flush()
            try await house.apns("the pass has begun") { $0.accepted >= before + 100 }
            workers[0].terminate()
            try match.join(Self.count..<Self.count + 100)
            try await publisher.flush()
            #expect(try await workers[0].exited() == 0)
            house.simulator.setLatency(Latency())
            try await match.shows(2, 0..<Self.count + 100)
            let members = match.summary(0..<Self.count)
            #expect(members.alerts.map(\.alerts) == [1], "after a clean stop nothing is sent twice")
            #expect(match.summary(Self.count..<Self.count + 100).alerts.map(\.alerts) == [0])
            #expect(members.mostInFlight?.value == 1)

            try match.publish(3, event: "end")
            try await publisher.flush()
            try await match.shows(3, 0..<Self.count + 100, .ended)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await DeliveryTests.everyEventHasAnOutcome(publisher, outcomes, in: house)
            #expect(house.violations(except: .http2, .tls).isEmpty)
        }
    }
}
