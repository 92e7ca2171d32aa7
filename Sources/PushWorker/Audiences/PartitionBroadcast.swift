public import KafkaLog
public import PushEngine
import PushModel

/// Writes a record to every partition of the routed topic, and waits until Kafka has acknowledged all of them. Confined
/// to one thread, which it blocks.
public struct PartitionBroadcast {
    private let producer: KafkaProducer
    private let limit: Duration
    private static let queueWait = Duration.milliseconds(50)

    /// - Parameters:
    ///   - producer: used by nobody else. Its settings make it give up a record after `limit`.
    ///   - limit: how long Kafka may take to acknowledge the records.
    public init(_ producer: KafkaProducer, limit: Duration) {
        self.producer = producer
        self.limit = limit
    }

    /// Writes the record to every partition.
    /// - Returns: one line for each partition that may lack the record, with the reason.
    public func write(
        _ record: (key: [UInt8], value: [UInt8]), kind: RoutedKind, topic name: String, count: Int32
    ) throws -> [String] {
        let topic = try self.producer.topic(name)
        var headers = KafkaHeaders()
        if let kind = kind.name {
            let (name, value) = (Array(RecordHeader.kind.text.utf8), Array("\(kind)".utf8))
            headers.append(name: name.span, value: value.span)
        }
        var failures: [Int32: String] = [:]
        var unheard = Set(0..<count)
        func drain() {
            _ = self.producer.flush(within: Self.queueWait) { delivery in
                let partition = Int32(truncatingIfNeeded: delivery.opaque)
                unheard.remove(partition)
                if let error = delivery.error { failures[partition] = "\(error)" }
            }
        }
        for partition in 0..<count {
            var result = ProduceResult.queueFull
            repeat {
                result = self.producer.produce(
                    topic, partition: partition, key: record.key.span, value: record.value.span, headers: headers,
                    opaque: UInt64(partition))
                if case .queueFull = result { drain() }
            } while result == .queueFull
            if case .failed(let error) = result {
                unheard.remove(partition)
                failures[partition] = "\(error)"
            }
        }
        let deadline = ContinuousClock.now + self.limit + .seconds(1)
        while self.producer.outstandingCount > 0, ContinuousClock.now < deadline { drain() }
        for partition in unheard { failures[partition] = "no answer in time" }
        return failures.sorted { $0.key < $1.key }.map { "\(name)[\($0.key)]: \($0.value)" }
    }
}
