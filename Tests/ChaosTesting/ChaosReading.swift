import Foundation
import KafkaLog
import PushWorker
import Upstream

/// Reads back from Kafka what a run wrote, as any client would.
enum ChaosReading {
    private static let requestDurationMax = Duration.seconds(20)

    private static func settings(_ stage: ChaosStage) -> KafkaSettings {
        stage.kafkaIsEmbedded ? stage.kafkaSettings.appending("fetch.wait.max.ms", "5") : stage.kafkaSettings
    }

    /// All records of a topic, partition by partition.
    /// - Parameter limit: time limit for each partition.
    static func readAll(_ topic: String, _ stage: ChaosStage, within limit: Duration) async throws -> [OwnedRecord] {
        try await TopicReading.readAll(
            topic, partitionCount: Int32(stage.partitions(of: topic).count), settings: Self.settings(stage),
            within: limit)
    }

    /// Offsets of the group in the input and routed partitions, and the ends of these partitions.
    static func positions(_ stage: ChaosStage) async throws -> [PartitionPositions] {
        let partitions = (stage.topics.events + [stage.topics.routed]).flatMap { stage.partitions(of: $0) }
        // A consumer may ask for the group's offsets without joining the group.
        let configuration = ConsumerConfiguration(
            settings: stage.kafkaSettings, groupID: stage.group, driverTopic: stage.topics.events[0], log: { _ in })
        return try await NamedThread.run("chaos-positions") {
            Result { try KafkaConsumer(configuration).positions(of: partitions, within: Self.requestDurationMax) }
        }.get()
    }

    /// A partition where the embedded Kafka has dropped records, in words. `nil` means that it dropped none, or that
    /// Kafka is real.
    static func truncated(_ stage: ChaosStage) async throws -> String? {
        guard stage.kafkaIsEmbedded else { return nil }
        let (settings, topics) = (stage.kafkaSettings, stage.topics.all)
        let partitions = topics.flatMap { stage.partitions(of: $0) }
        let positions = try await NamedThread.run("chaos-positions") {
            Result {
                try KafkaLogReader(settings, log: { _ in }).positions(of: partitions, within: Self.requestDurationMax)
            }
        }.get()
        return positions.first { $0.lowOffset > 0 }.map { "\($0.topicPartition) begins at \($0.lowOffset)" }
    }
}
