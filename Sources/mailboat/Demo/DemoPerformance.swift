import APNSSimulator
import CommandSupport
import DeviceModel
import Foundation
import Histogram
import KafkaLog
import PushEngine
import PushModel
import PushWorker
import Upstream

/// One performance of the story: waits for the worker, plays, waits until everything is settled, judges.
struct DemoPerformance {
    /// Latest time at which judging begins, in milliseconds after the program's start, even if something is unsettled.
    /// The demo must end within 30 s, so this leaves time to judge and to stop.
    private static let settledByMillis = 26_500
    private static let readyByMillis = 15_000
    private static let auditLimit = Duration.seconds(5)

    private let stage: DemoStage
    private let publisher: StoryPublisher
    private let began: ContinuousClock.Instant
    private var director: Director
    private var board = Scoreboard()
    private var shownMillis = Int.min / 2

    init(stage: DemoStage, durationMillis: Int, fanCount: Int, seed: UInt64, began: ContinuousClock.Instant) throws {
        self.stage = stage
        self.began = began
        self.publisher = try StoryPublisher(
            settings: stage.kafka.settings, topic: stage.configuration.topics.events[0],
            partitionCount: DemoStage.partitionCount)
        let script = Script(
            startSeconds: Int64(Date().timeIntervalSince1970) + 4, durationMillis: durationMillis, fanCount: fanCount,
            seed: seed)
        self.director = Director(script: script, publisher: self.publisher, simulator: stage.simulator)
    }

    // MARK: Playing

    /// Plays the story. Returns when everything is settled, or when time is up.
    mutating func play() async throws {
        while !self.stage.isReady {
            guard self.elapsedMillis < Self.readyByMillis else {
                let errors = self.stage.worker.snapshot().errors.joined(separator: "; ")
                throw CommandFailure("the worker was not ready within \(Self.readyByMillis / 1_000) s. \(errors)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        try await self.openChannel()
        self.board.say(
            "The worker owns \(DemoStage.partitionCount) partitions and has opened a channel for the match. Curtain up.",
            atMillis: self.elapsedMillis)
        // The prologue takes a second.
        let curtain = ContinuousClock.now + .seconds(1)
        while self.elapsedMillis < Self.settledByMillis {
            try StandardOutput.check()
            let atMillis = (ContinuousClock.now - curtain).wholeMillis
            let elapsedMillis = self.elapsedMillis
            var lines: [String] = []
            try self.director.perform(upTo: atMillis, wallMillis: Int64(Date().timeIntervalSince1970 * 1_000)) {
                lines.append($0)
            }
            for line in lines { self.board.say(line, atMillis: elapsedMillis) }
            self.showNumbers()
            if self.director.isFinished, self.isSettled { break }
            try await Task.sleep(for: .milliseconds(10))
        }
        self.showNumbers(always: true)
    }

    /// Opens the match's channel. The story begins once the channel exists.
    private mutating func openChannel() async throws {
        try self.director.perform(
            upTo: Script.beforehandMillis, wallMillis: Int64(Date().timeIntervalSince1970 * 1_000)
        ) { _ in }
        while self.stage.worker.snapshot().engine.channelsKeptOpen == 0 {
            guard self.elapsedMillis < Self.readyByMillis else {
                throw CommandFailure("the match had no channel within \(Self.readyByMillis / 1_000) s")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private var elapsedMillis: Int { (ContinuousClock.now - self.began).wholeMillis }

    /// Whether nothing is left to do. Each event is acknowledged and has its outcome, no member waits, and the match's
    /// channel is deleted.
    private var isSettled: Bool {
        guard self.publisher.isDelivered else { return false }
        let snapshot = self.stage.worker.snapshot()
        return snapshot.isSettled && snapshot.engine.members.waiting == 0
            && snapshot.engine.startMembers.waiting == 0
            && self.stage.simulator.channels(app: Script.football).isEmpty
            && Self.eventCount(snapshot) == self.publisher.records.count
    }

    /// Number of events taken, each counted once. A forwarded record is taken a second time in its own partition.
    private static func eventCount(_ snapshot: WorkerSnapshot) -> Int {
        Int(snapshot.engine.consumed) - Int(snapshot.engine.forwarded)
    }

    private mutating func showNumbers(always: Bool = false) {
        let elapsedMillis = self.elapsedMillis
        guard always || elapsedMillis - self.shownMillis >= self.board.intervalMillis else { return }
        self.shownMillis = elapsedMillis
        let engine = self.stage.worker.snapshot().engine
        let apns = self.stage.simulator.statistics()
        self.board.show(
            Scoreboard.Score(
                published: self.publisher.records.count, consumed: Int(engine.consumed),
                accepted: Int(engine.pushesAccepted),
                merged: Int(engine.eventsMerged), pending: Int(engine.pending), phones: apns.devices,
                connections: apns.connectionsOpen),
            atMillis: elapsedMillis)
    }

    // MARK: Judging

    /// Compares phones, counts budgets, reads the outcomes back from Kafka.
    func judge() async throws -> DemoVerdict {
        let snapshot = self.stage.worker.snapshot()
        let simulator = self.stage.simulator
        let comparison = self.director.phones.compare { simulator.device(token: $0)?.device }
        let fans = self.director.members.compare { simulator.device(token: $0) }
        var budgetViolations: [String] = []
        for (activity, token) in self.director.phones.tokens {
            let peak = simulator.device(token: token)?.device.highPriorityPeak ?? 0
            let budget = self.stage.budgetPerHour(activity: activity)
            if peak > budget {
                budgetViolations.append("\(activity): \(peak) high-priority pushes in an hour, the budget is \(budget)")
            }
        }
        let topics = self.stage.configuration.topics
        let outcomes = try await TopicReading.readAll(
            topics.outcomes, partitionCount: DemoStage.partitionCount, settings: self.stage.kafka.settings,
            within: Self.auditLimit)
        let audit = try OutcomeAudit(outcomes: outcomes, published: self.publisher.records, topic: topics.events[0])

        let summary = DemoSummary(
            eventsConsumed: Self.eventCount(snapshot), pushesAccepted: Int(snapshot.engine.pushesAccepted),
            eventsMerged: Int(snapshot.engine.eventsMerged), outcomes: Self.outcomes(snapshot),
            pending: Int(snapshot.engine.pending),
            devicesChecked: comparison.checked, devicesEquivalent: comparison.equivalent,
            budgetViolations: budgetViolations.count,
            members: .init(fans, snapshot.engine.members, starts: snapshot.engine.startMembers),
            channel: .init(listeners: fans.listening, snapshot.engine),
            eventToAcceptedMs: .init(
                p50: Double(audit.eventToAcceptedMillis.valueAtPercentile(50)),
                p99: Double(audit.eventToAcceptedMillis.valueAtPercentile(99))))
        return DemoVerdict(
            summary: summary,
            faults: summary.faults + self.unfinished(snapshot) + self.foulPlay + comparison.differences
                + fans.differences + budgetViolations + audit.faults)
    }

    private static func outcomes(_ snapshot: WorkerSnapshot) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: Outcome.allCases.map { ("\($0.name)", Int(snapshot.engine.count($0))) })
    }

    private func unfinished(_ snapshot: WorkerSnapshot) -> [String] {
        var faults: [String] = []
        if !snapshot.engine.isConserved {
            faults.append("conservation does not hold in the worker's own counters: \(snapshot.engine)")
        }
        let count = self.publisher.records.count
        if Self.eventCount(snapshot) != count {
            faults.append("\(count) events were published, \(Self.eventCount(snapshot)) consumed")
        }
        if !self.director.isFinished {
            faults.append("the story was not played to its end: \(self.director.missingStarts) cards never appeared")
        }
        return faults + snapshot.errors
    }

    /// Violations that APNs recorded. Pushes to dead tokens are part of the story. Pushing to a token again after APNs
    /// has called it dead is a violation.
    private var foulPlay: [String] {
        self.stage.simulator.violations().map { "APNs: \($0.kind.rawValue): \($0.detail) (token \($0.token)…)" }
    }
}

/// The result of a performance.
struct DemoVerdict: Sendable {
    var summary: DemoSummary
    /// What went wrong; empty: a success.
    var faults: [String]
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    var wholeMillis: Int { Int(self.components.seconds * 1_000 + self.components.attoseconds / 1_000_000_000_000_000) }
}
