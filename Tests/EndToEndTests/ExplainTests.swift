import APNSSimulator
import ArgumentParser
import DeviceModel
import Foundation
import PushEngine
import PushModel
import Testing
import Upstream

@testable import mailboat

/// Tests of what `mailboat explain` says about an activity at each point of its life, beside a worker.
@Suite(.timeLimit(.minutes(10)))
struct ExplainTests {
    private static func report(_ key: String, _ worker: WorkerProcess) throws -> ExplainReport {
        try Explain.parse([key, "--config", worker.configurationPath]).report { _ in }
    }

    /// Waits until `explain` gives this verdict and the facts hold, because a worker writes its topics one after another.
    private static func says(
        _ cause: ExplainVerdict.Cause, of key: String, _ worker: WorkerProcess,
        and holds: (ExplainFacts) -> Bool = { _ in true }
    ) async throws -> ExplainReport {
        var report = try Self.report(key, worker)
        try await until("\(key) is \(cause), not \(report.verdict.sentence)") {
            report = try Self.report(key, worker)
            return report.verdict.cause == cause && holds(report.facts)
        }
        return report
    }

    @Test func aLifeIsExplained() async throws {
        try await TestHouse.with { house in
            let worker = try await house.startWorker()
            try await worker.ready()
            let publisher = try TestPublisher(house.kafka)
            #expect(try Self.report("order", worker).verdict.cause == .unknownKey)

            try publisher.update("order", "preparing", priority: 10)
            try await publisher.flush()
            let waits = try await Self.says(.waitsForToken, of: "order", worker)
            #expect(waits.facts.slot?.updates.count == 1)

            let token = Tokens.make(1)
            try publisher.register("order", token: token)
            try await publisher.flush()
            // The record in `state` is written after the outcome, so the test waits for it.
            let accepted = try await Self.says(.accepted, of: "order", worker) { $0.budget.out == 1 }
            #expect(accepted.facts.outcomes.first?.outcome == "delivered")
            #expect(accepted.facts.events.map(\.event) == ["register", "update"])
            #expect(!accepted.json.contains(token) && !accepted.lines.joined().contains(token))

            try publisher.send(key: Array("order".utf8), value: Array("{\"event\":\"refresh\"}".utf8))
            try await publisher.flush()
            let refused = try await Self.says(.deadLettered, of: "order", worker) { $0.letters.count == 1 }
            #expect(refused.verdict.sentence.contains("refresh"))

            house.simulator.setToken(token, .dead)
            try publisher.update("order", "in the oven", priority: 10)
            try await publisher.flush()
            _ = try await Self.says(.tokenDead, of: "order", worker) { $0.slot?.tokenIsDead == true }

            let next = Tokens.make(2)
            try publisher.register("order", token: next)
            try publisher.end("order", "delivered")
            try await publisher.flush()
            _ = try await Self.says(.ended, of: "order", worker) { $0.progress.contains { $0.committed != nil } }
        }
    }

    /// An event that no worker takes is reported as never read.
    @Test func anEventThatNobodyTakesIsNamed() async throws {
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            // The record's time is a minute ago, as if the event had waited for that long.
            try publisher.send(
                key: Array("order".utf8), value: Array("{\"event\":\"unregister\"}".utf8),
                recordMillis: Int64(Date().timeIntervalSince1970 * 1_000) - 60_000)
            try await publisher.flush()
            let worker = try await house.startWorker()
            worker.kill()
            #expect(try Self.report("order", worker).verdict.cause == .neverRead)
        }
    }

    /// The verdict names a paused audience until an operator resumes it.
    @Test func aPausedAudienceIsNamedUntilItIsResumed() async throws {
        try await TestHouse.with { house in
            let worker = try await house.startWorker()
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            try match.join(0..<3)
            try match.publish(1)
            try await publisher.flush()
            try await house.apns("the members have it") { $0.accepted == 3 }
            _ = try await Self.says(.audience, of: "match-7", worker)
            let words = ["match-7", "--app", TestPublisher.app, "--config", worker.configurationPath]
            try await AudienceCommand.Pause.parse(words).run()
            let paused = try await Self.says(.audiencePaused, of: "match-7", worker)
            #expect(paused.verdict.next.first?.contains("audience resume match-7 --app \(TestPublisher.app)") == true)
            #expect(paused.lines.contains { $0.hasPrefix("pause ") })
            try await AudienceCommand.Resume.parse(words).run()
            let resumed = try await Self.says(.audience, of: "match-7", worker)
            #expect(resumed.facts.pauses == [])
        }
    }

    @Test func aChannelThatIsGoneIsNamed() async throws {
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            let channel = try #require(house.simulator.createChannel(app: TestPublisher.app, storage: .none))
            #expect(house.simulator.deleteChannel(id: channel))
            let worker = try await house.startWorker(settings: "channel.storage: none")
            let event = """
                {"event":"update","app":"\(TestPublisher.app)","to":{"channel":"\(channel)"},"content-state":{"step":1}}
                """
            try publisher.send(key: Array(channel.utf8), value: Array(event.utf8))
            try await publisher.flush()
            let gone = try await Self.says(.channelGone, of: channel, worker)
            #expect(gone.verdict.next.first?.contains("channels create") == true)
        }
    }
}
