import ChildProcesses
import CommandSupport
import Foundation
import KafkaLog

/// Kafka, as far as it can be made to refuse records.
protocol RefusingKafka {
    var kafkaIsEmbedded: Bool { get }
    func configure(_ roles: [TopicRole], setting: String?, _ value: String) async throws
    func fail(_ role: TopicRole, code: Int, count: Int) async throws
}

extension ChaosStage: RefusingKafka {}

/// Makes Kafka refuse records for good, one way at a time, and adds up the workers' counts of refused records. Only the
/// task of the run uses it.
final class ChaosRefusals {
    private let kafka: any RefusingKafka
    /// All refusals so far.
    private(set) var refusals: [ChaosRefusal] = []
    private(set) var isInForce = false
    /// Number of outcomes that workers did not publish, over all their lives.
    private(set) var outcomesUnpublished = CountOverLives("mailboat_kafka_outcomes_unpublished_total")
    /// Number of dead letters that workers gave up, over all their lives.
    private(set) var lettersGivenUp = CountOverLives("mailboat_kafka_dead_letters_given_up_total")
    /// Whether every worker was asked for its counts before it ended.
    private(set) var countsAreWhole = true

    init(kafka: any RefusingKafka) { self.kafka = kafka }

    /// Begins the refusal that `choice` chooses.
    /// - Returns: `false` when another one is in force.
    func begin(_ choice: Int) async throws -> Bool {
        guard !self.isInForce else { return false }
        self.isInForce = true
        var refusal = ChaosRefusal.drawn(choice, kafkaIsEmbedded: self.kafka.kafkaIsEmbedded)
        refusal.fromMillis = Self.wallMillis()
        self.refusals.append(refusal)
        switch refusal.way {
        case .size:
            try await self.kafka.configure(
                refusal.topics, setting: "max.message.bytes", "\(ChaosRefusal.byteCountMax)")
        case .keyless: try await self.kafka.configure(refusal.topics, setting: "cleanup.policy", "compact")
        case .anything(let code, let count):
            for topic in refusal.topics { try await self.kafka.fail(topic, code: code, count: count) }
        }
        return true
    }

    /// Restores the settings of the topics.
    func end() async throws {
        self.isInForce = false
        guard let refusal = self.refusals.last else { return }
        // The embedded Kafka has nothing to restore. The next requests use up its remaining errors.
        if !self.kafka.kafkaIsEmbedded { try await self.kafka.configure(refusal.topics, setting: nil, "") }
        self.refusals[self.refusals.count - 1].toMillis = Self.wallMillis()
    }

    /// Asks the workers for their counts.
    func count(_ workers: [ChaosWorker]) async throws {
        guard !self.refusals.isEmpty else { return }
        for worker in workers where worker.isUp && !worker.isPaused {
            guard let metrics = try await worker.metrics() else { continue }
            self.outcomesUnpublished.take(metrics, of: worker.name)
            self.lettersGivenUp.take(metrics, of: worker.name)
        }
    }

    /// Keeps an ended worker's counts in the sums. The worker's next life counts from 0.
    func hasEnded(_ worker: ChaosWorker) {
        self.outcomesUnpublished.hasEnded(worker.name)
        self.lettersGivenUp.hasEnded(worker.name)
    }

    /// Remembers that a worker ends with counts that were not read.
    func losesCounts() { if !self.refusals.isEmpty { self.countsAreWhole = false } }

    /// Facts about the refusals for the judge.
    var scene: ChaosAudit.RefusalScene {
        ChaosAudit.RefusalScene(
            refusals: self.refusals, outcomesUnpublished: self.outcomesUnpublished.sum,
            lettersGivenUp: self.lettersGivenUp.sum, countsAreWhole: self.countsAreWhole)
    }

    private static func wallMillis() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
}

/// The sum of a counter over several processes and all their lives. The counter begins at 0 in each life.
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
