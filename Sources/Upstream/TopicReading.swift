import Foundation
package import KafkaLog

/// Reads whole topics, as a consumer without a group does.
package enum TopicReading {
    /// All records of a topic, partition by partition. Reading blocks, so it runs on a thread of its own.
    /// - Parameter limit: time limit for each partition.
    package static func readAll(
        _ topic: String, partitionCount: Int32, settings: KafkaSettings, within limit: Duration
    ) async throws -> [OwnedRecord] {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let reader = try KafkaLogReader(settings)
                        var records: [OwnedRecord] = []
                        try reader.forEach(
                            of: (0..<partitionCount).map { TopicPartition(topic: topic, partition: $0) }, within: limit
                        ) { records.append($0) }
                        return records
                    })
            }
        }
    }
}
