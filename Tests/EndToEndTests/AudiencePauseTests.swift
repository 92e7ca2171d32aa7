import APNSSimulator
import ArgumentParser
import Foundation
import KafkaLog
import Testing

@testable import mailboat

/// Tests of `mailboat audience pause` in the middle of a pass, from the command to the last push. The resumed pass
/// brings the newest version.
@Suite(.timeLimit(.minutes(10)))
struct AudiencePauseTests {
    private static let count = 2_000
    /// Maximum number of milliseconds from the command's return to the last push.
    private static let obeyedMillisMax: Int64 = 1_000

    @Test func aPausedPassStopsWithinASecond() async throws {
        var configuration = SimulatorConfiguration()
        let journal = FileManager.default.temporaryDirectory.appendingPathComponent("pause-\(UUID().uuidString)").path
        configuration.journalPath = journal
        defer { try? FileManager.default.removeItem(atPath: journal) }
        try await TestHouse.with(simulator: configuration) { house in
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            house.simulator.setConcurrentStreamsMax(TestAudience.narrowStreams)
            let worker = try await house.startWorker(settings: TestAudience.narrow)
            try match.join(0..<Self.count)
            try await publisher.flush()
            try await match.has(Self.count, at: worker)
            house.simulator.setLatency(Latency(fixedMillis: 200))
            try match.publish(1, TestAudience.goal)
            try await publisher.flush()
            try await house.apns("the pass is under way") { $0.accepted >= 50 }

            try await Self.command(AudienceCommand.Pause.self, match, worker).run()
            let toldMillis = Int64(Date().timeIntervalSince1970 * 1_000)
            try await until("every partition obeys, and what was in flight has its answer (log: \(worker.logPath))") {
                let paused = try await worker.metric("mailboat_audiences_paused")
                let inFlight = try await worker.metric("mailboat_pushes_in_flight")
                return paused == Double(TestKafka.partitionCount) && inFlight == 0
            }
            let reached = house.simulator.statistics().accepted
            #expect(reached < Self.count, "it was paused in mid-pass")

            // While the pass is paused, an event gets its outcome, a phone can join, and an order is pushed. If a
            // member's push could leave, it would leave before the order's.
            let order = Tokens.make(Self.count + 1)
            try match.publish(2)
            try match.join(Self.count..<Self.count + 1)
            try publisher.register("order-1", token: order)
            try publisher.update("order-1", "at the door")
            try await publisher.flush()
            try await match.has(Self.count + 1, at: worker)
            try await house.phonesAgree(with: publisher.phones)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await until("both versions are told of") {
                try OutcomeRecord.all(in: outcomes).count { $0.outcome == "fanned-out" } == 2
            }
            #expect(house.simulator.statistics().accepted == reached + 1, "the order's update, and nothing else")
            let last = try #require(try Self.lastPush(in: journal, but: order))
            #expect(
                last <= toldMillis + Self.obeyedMillisMax,
                "the last push came \(last - toldMillis) ms after the command's return")
            #expect(try await worker.metric("mailboat_members_waiting") == Double(Self.count + 1))

            house.simulator.setLatency(Latency())
            try await Self.command(AudienceCommand.Resume.self, match, worker).run()
            let summary = try await match.shows(2, 0..<Self.count + 1)
            #expect(summary.differing.filter { $0.ways != [.alerts] }.isEmpty)
            try await until("nobody waits") { try await worker.metric("mailboat_members_waiting") == 0 }
            #expect(house.violations().isEmpty)
        }
    }

    private static func command<Command: ParsableCommand>(
        _ type: Command.Type, _ match: TestAudience, _ worker: WorkerProcess
    ) throws -> Command {
        try type.parse([match.id, "--app", TestPublisher.app, "--config", worker.configurationPath])
    }

    /// Time of the last accepted push for a token other than `token`, in milliseconds since 1970.
    private static func lastPush(in journal: String, but token: String) throws -> Int64? {
        var reader = try JournalReader(path: journal)
        var last: Int64?
        while let entry = try reader.next() {
            if case .push(let atMillis, let other, _, _, _) = entry, other != token { last = max(last ?? 0, atMillis) }
        }
        return last
    }
}
