import APNSSimulator
import ChildProcesses
import DeviceModel
import Foundation
import Testing

/// Tests of one event that starts a card on many phones, each by its push-to-start token. It goes from Kafka to the
/// phones over real TLS and HTTP/2.
@Suite(.timeLimit(.minutes(10)))
struct AudienceStartTests {
    private static let count = 500
    /// Numbers of the update tokens that the phones report for the started cards.
    private static let updates = 10_000..<10_500

    @Test func aStartPutsUpOneCardOnEachPhone() async throws {
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let worker = try await house.startWorker()
            try match.joinToBeStarted(0..<Self.count)
            try await publisher.flush()
            try await match.has(Self.count, at: worker)
            try match.start(0)
            try await publisher.flush()
            let started = try await match.shows(0, 0..<Self.count)
            #expect(started.pushes == Self.count, "one start each")
            #expect(started.alerts.map(\.alerts) == [1], "a start without its alert starts nothing")

            // The phones report their cards' update tokens. The goal goes to these tokens.
            try match.join(Self.updates)
            try match.publish(1, TestAudience.goal)
            try await publisher.flush()
            try await match.shows(1, Self.updates)

            // A phone that joins now gets a card with the newest version. A phone that had left and joins again gets no
            // second card.
            for phone in 0..<10 { try match.leave(Tokens.make(phone)) }
            try match.joinToBeStarted(0..<10)
            try match.joinToBeStarted(Self.count..<Self.count + 1)
            try await publisher.flush()
            let late = try await match.shows(1, Self.count..<Self.count + 1)
            #expect(late.alerts.map(\.alerts) == [1])
            #expect(match.summary(0..<Self.count).pushes == Self.count)

            // A second start of the same match has no effect.
            try match.start(2)
            try match.publish(3, event: "end")
            try await publisher.flush()
            try await match.shows(3, Self.updates, .ended)
            #expect(match.summary(0..<Self.count + 1).pushes == Self.count + 1)
            #expect(house.violations().isEmpty)
            let outcomes = try await house.everythingIsAccountedFor(publisher, worker)
            #expect(outcomes.count { $0.outcome == "duplicate" } == 1)
            #expect(try await worker.metric("mailboat_starts_waiting") == 0)
        }
    }

    /// A member that was announced in `state` may have been started. The next worker starts only members that were not
    /// announced, so no phone gets two cards.
    @Test func nobodyIsStartedTwiceWhenAWorkerIsKilled() async throws {
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            house.simulator.setConcurrentStreamsMax(TestAudience.narrowStreams)
            let first = try await house.startWorker("first", settings: TestAudience.narrow)
            try match.joinToBeStarted(0..<Self.count)
            try await publisher.flush()
            try await match.has(Self.count, at: first)
            house.simulator.setLatency(Latency(fixedMillis: 200))
            try match.start(0)
            try await publisher.flush()
            try await house.apns("the start is under way") { $0.accepted >= 50 }
            first.kill()
            #expect(try await first.exited() == -SIGKILL)
            let reached = house.simulator.statistics().accepted
            #expect(reached < Self.count, "it was killed while the start went round")

            house.simulator.setLatency(Latency())
            let second = try await house.startWorker("second", settings: TestAudience.narrow)
            try await until("what was announced is told of, and nobody waits (log: \(second.logPath))") {
                // The partitions start one after the other, and a partition that has not begun reports no waiting
                // members. So the test also waits until every start is either pushed or counted as unknown.
                let unknown = try await second.metric("mailboat_starts_results_total", label: "unknown")
                return try await second.metric("mailboat_starts_waiting") == 0 && unknown > 0
                    && match.summary(0..<Self.count).pushes + Int(unknown) >= Self.count
            }
            let summary = match.summary(0..<Self.count)
            let unknown = try await second.metric("mailboat_starts_results_total", label: "unknown")
            #expect(summary.mostPushes?.value == 1, "no phone got a second one")
            #expect(summary.pushes + Int(unknown) >= Self.count, "whoever got none was announced, and is told of")
            #expect(unknown > 0)
            #expect(house.violations(except: .http2, .tls).isEmpty)
        }
    }
}
