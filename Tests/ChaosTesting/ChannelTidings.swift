import Foundation
import KafkaLog
import PushWorker

/// Follows the outcomes topic for records about channels that are kept for audiences, as a publisher would. Only the
/// task of the run uses it.
final class ChannelTidings {
    /// What a record says about a channel.
    enum News: Equatable {
        case opened(_ channel: String, audience: String)
        case closed(_ channel: String)
    }

    private let reader: KafkaLogReader
    private let sections: [LogSection]

    /// Opens the outcomes topic. Throws a `KafkaError` when the topic cannot be followed.
    init(_ stage: ChaosStage) throws {
        let settings =
            stage.kafkaIsEmbedded ? stage.kafkaSettings.appending("fetch.wait.max.ms", "5") : stage.kafkaSettings
        let reader = try KafkaLogReader(settings, log: { _ in })
        self.reader = reader
        self.sections = try (0..<ChaosStage.partitionCount).map { partition in
            try reader.open(TopicPartition(topic: stage.topics.outcomes, partition: partition), from: .beginning)
        }
    }

    deinit { self.sections.forEach { $0.close() } }

    /// News since the last call.
    func take() -> [News] {
        var news: [News] = []
        for section in self.sections {
            while section.read(
                max: 1_000,
                { record in
                    guard record.hasKey, record.hasValue,
                        let told = Self.news(key: Self.bytes(record.key), value: Self.bytes(record.value))
                    else { return }
                    news.append(told)
                }
            ).mayHaveMore {}
        }
        return news
    }

    private static func bytes(_ span: Span<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        for index in span.indices { bytes.append(span[index]) }
        return bytes
    }

    private struct Outcome: Decodable {
        var outcome: String
        var audience: String
        var channel: String?
    }

    /// News that a record brings. `nil` means that the record is about something else.
    static func news(key: [UInt8], value: [UInt8]) -> News? {
        guard key.starts(with: "channel/".utf8),
            let told = try? JSONDecoder().decode(Outcome.self, from: Data(value)), let channel = told.channel
        else { return nil }
        switch told.outcome {
        case "channel-opened": return .opened(channel, audience: told.audience)
        case "channel-closed": return .closed(channel)
        default: return nil
        }
    }
}
