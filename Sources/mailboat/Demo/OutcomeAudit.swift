import Foundation
import KafkaLog

/// Reads the outcomes topic as any consumer would, and holds it against what was published: every event has an outcome, and a right one.
struct OutcomeAudit {
    /// One line for each event whose outcome is missing or wrong.
    private(set) var faults: [String] = []

    /// What the audit needs of an outcome record.
    private struct Record: Decodable {
        var outcome: String
        var topic: String
        var partition: Int32
        var offset: Int64
        var reason: String?
    }

    private struct Position: Hashable {
        var partition: Int32
        var offset: Int64
    }

    /// - Parameters:
    ///   - outcomes: values of all records of the outcomes topic.
    ///   - topic: where the story was published.
    init(outcomes: [[UInt8]], published: [StoryPublisher.Published], topic: String) throws {
        var found: [Position: [Record]] = [:]
        let decoder = JSONDecoder()
        for value in outcomes {
            let record = try decoder.decode(Record.self, from: Data(value))
            guard record.topic == topic else { continue }
            found[Position(partition: record.partition, offset: record.offset), default: []].append(record)
        }
        for record in published {
            guard let offset = record.offset else { continue }
            let place = "\(record.activity.isEmpty ? "a record without a key" : record.activity) (\(topic)[\(record.partition)]@\(offset))"
            let outcomes = found[Position(partition: record.partition, offset: offset)] ?? []
            let expected = record.outcomes.sorted().joined(separator: " or ")
            if outcomes.isEmpty { self.faults.append("\(place): no outcome, expected \(expected)") }
            for outcome in outcomes where !record.outcomes.contains(outcome.outcome) {
                let reason = outcome.reason.map { " (\($0))" } ?? ""
                self.faults.append("\(place): \(outcome.outcome)\(reason), expected \(expected)")
            }
        }
    }

    /// Reads a whole topic. Blocks: runs on a thread of its own.
    static func readTopic(_ topic: String, partitionCount: Int32, settings: KafkaSettings, within limit: Duration) async throws -> [[UInt8]] {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let reader = try KafkaLogReader(settings)
                        return try (0..<partitionCount).flatMap { partition in
                            try reader.readAll(TopicPartition(topic: topic, partition: partition), within: limit).compactMap(\.value)
                        }
                    })
            }
        }
    }
}
