import ChildProcesses
import CommandSupport
import Foundation
import KafkaLog

/// Makes Kafka refuse records for good, one way at a time, and adds up what workers count of that. Confined to the task that runs.
final class ChaosRefusals {
    private let stage: ChaosStage
    /// All there have been.
    private(set) var refusals: [ChaosRefusal] = []
    private(set) var isInForce = false
    /// Outcomes that workers did not publish, and dead letters that they gave up, over all their lives.
    private(set) var outcomesUnpublished = CountOverLives("mailboat_kafka_outcomes_unpublished_total")
    private(set) var lettersGivenUp = CountOverLives("mailboat_kafka_dead_letters_given_up_total")
    /// No worker has ended before it was asked for its counts.
    private(set) var countsAreWhole = true

    init(stage: ChaosStage) { self.stage = stage }

    /// - Returns: `false`: another one is in force.
    func begin(_ choice: Int) async throws -> Bool {
        guard !self.isInForce else { return false }
        self.isInForce = true
        var refusal = ChaosRefusal.drawn(choice, kafkaIsEmbedded: self.stage.kafkaIsEmbedded)
        refusal.fromMillis = Self.wallMillis()
        self.refusals.append(refusal)
        switch refusal.way {
        case .size:
            try await self.stage.configure(
                refusal.topics, setting: "max.message.bytes", "\(ChaosRefusal.byteCountMax)")
        case .keyless: try await self.stage.configure(refusal.topics, setting: "cleanup.policy", "compact")
        case .anything(let code, let count):
            for topic in refusal.topics { try await self.stage.fail(topic, code: code, count: count) }
        }
        return true
    }

    /// Puts the topics' settings back.
    func end() async throws {
        self.isInForce = false
        guard let refusal = self.refusals.last else { return }
        // What is left of the embedded Kafka's errors meets any request.
        guard !self.stage.kafkaIsEmbedded else { return }
        try await self.stage.configure(refusal.topics, setting: nil, "")
        self.refusals[self.refusals.count - 1].toMillis = Self.wallMillis()
    }

    /// Asks the workers for their counts.
    func count() async throws {
        guard !self.refusals.isEmpty else { return }
        for worker in self.stage.workers where worker.isUp && !worker.isPaused {
            guard let metrics = try await worker.metrics() else { continue }
            self.outcomesUnpublished.take(metrics, of: worker.name)
            self.lettersGivenUp.take(metrics, of: worker.name)
        }
    }

    /// A worker's next life begins at 0.
    func hasEnded(_ worker: ChaosWorker) {
        self.outcomesUnpublished.hasEnded(worker.name)
        self.lettersGivenUp.hasEnded(worker.name)
    }

    /// A worker ends, and takes counts with it that nobody asked for.
    func losesCounts() { if !self.refusals.isEmpty { self.countsAreWhole = false } }

    /// What the judge has to know of them.
    var scene: ChaosAudit.RefusalScene {
        ChaosAudit.RefusalScene(
            refusals: self.refusals, outcomesUnpublished: self.outcomesUnpublished.sum,
            lettersGivenUp: self.lettersGivenUp.sum, countsAreWhole: self.countsAreWhole)
    }

    private static func wallMillis() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
}

/// A counter of several processes; each begins at 0 again and again.
struct CountOverLives {
    private let metric: String
    private var ended = 0
    private var living: [String: Int] = [:]

    init(_ metric: String) { self.metric = metric }

    var sum: Int { self.living.values.reduce(self.ended, +) }

    mutating func take(_ metrics: String, of process: String) {
        self.living[process] = Int(PrometheusReading.sum(self.metric, in: metrics))
    }

    mutating func hasEnded(_ process: String) { self.ended += self.living.removeValue(forKey: process) ?? 0 }
}
