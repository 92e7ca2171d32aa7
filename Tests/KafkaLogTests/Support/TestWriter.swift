import KafkaLog
import Synchronization

/// Writes records for tests and waits for each to be acknowledged.
final class TestWriter: Sendable {
    let producer: KafkaProducer
    private let progress: Progress

    init(_ settings: KafkaSettings) throws {
        let progress = Progress()
        self.progress = progress
        self.producer = try KafkaProducer(
            ProducerConfiguration(settings: settings, log: { _ in }), onDeliveries: { progress.made() },
            onError: { _ in })
    }

    /// Writes `count` records with the values "0", "1", … to one partition.
    /// - Returns: their offsets, in order.
    @discardableResult
    func write(_ count: Int, to topic: String, partition: Int32, valueByteCount: Int = 0) throws -> [Int64] {
        let topic = try self.producer.topic(topic)
        var offsets: [Int64] = []
        let key = Array("key".utf8)
        for number in 0..<count {
            let text = Array(String(number).utf8)
            let value = text + [UInt8](repeating: 0x20, count: max(0, valueByteCount - text.count))
            while self.producer.produce(
                topic, partition: partition, key: key.span, value: value.span, opaque: UInt64(number)) == .queueFull
            {
                self.producer.flush(within: .milliseconds(100)) { offsets.append($0.offset) }
            }
        }
        let left = self.producer.flush(within: .seconds(20)) { offsets.append($0.offset) }
        guard left == 0 else { throw KafkaError(code: .timedOut, text: "\(left) records were not acknowledged") }
        return offsets
    }
}
