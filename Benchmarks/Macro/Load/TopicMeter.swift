import Foundation
import KafkaLog

/// Measures what was written to one of the worker's topics.
struct TopicMeter {
    private let reader: KafkaLogReader
    private let partitions: [TopicPartition]

    init(_ broker: Broker, topic: String, partitionCount: Int) throws {
        self.reader = try KafkaLogReader(KafkaSettings(bootstrap: broker.bootstrap))
        let topic = broker.topic(topic)
        self.partitions = (0..<Int32(partitionCount)).map { TopicPartition(topic: topic, partition: $0) }
    }

    /// Number of records so far, in all partitions.
    func recordCount() throws -> Int {
        try self.reader.positions(of: self.partitions, within: .seconds(30)).reduce(0) { $0 + Int($1.endOffset) }
    }

    /// Number of records that were written between two times, and bytes of their keys and values. The times are in
    /// milliseconds since 1970.
    func written(_ millis: Range<Int64>) throws -> (records: Int, byteCount: Int) {
        var (records, byteCount) = (0, 0)
        try self.reader.forEach(of: self.partitions, within: .seconds(60)) { record in
            guard millis.contains(record.timestampMillis) else { return }
            records += 1
            byteCount += (record.key?.count ?? 0) + (record.value?.count ?? 0)
        }
        return (records, byteCount)
    }
}
