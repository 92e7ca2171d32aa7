import CommandSupport
package import KafkaLog
import PushModel

/// Publishes the story's records and remembers where each of them lies. Confined to the task that plays.
package final class StoryPublisher {
    /// A record that was published.
    package struct Published {
        /// Whose it is.
        package var activity: String
        /// As in its `Publication`.
        package var outcomes: Set<String>
        /// That of its key, unless the publication is misplaced.
        package var partition: Int32
        /// The record's time, milliseconds since 1970.
        package var timestampMillis: Int64
        /// Where Kafka put it; `nil` until it said so.
        package var offset: Int64?
    }

    private let producer: KafkaProducer
    private let topic: KafkaTopic
    private let partitionCount: Int32
    /// In the order of publishing.
    package private(set) var records: [Published] = []
    private var deliveredCount = 0

    /// - Parameter log: for librdkafka's lines; `nil`: standard error.
    package init(settings: KafkaSettings, topic: String, partitionCount: Int32, log: KafkaLogHandler? = nil) throws {
        // Deliveries are drained by whoever plays, every few milliseconds: nobody needs waking.
        self.producer = try KafkaProducer(
            ProducerConfiguration(settings: settings, log: log), onDeliveries: {}, onError: { _ in })
        self.topic = try self.producer.topic(topic)
        self.partitionCount = partitionCount
    }

    /// Whether Kafka has taken everything published so far.
    package var isDelivered: Bool { self.deliveredCount == self.records.count }

    /// Queues one record. Throws when it cannot be queued.
    /// - Parameter recordMillis: the record's time, milliseconds since 1970.
    package func publish(_ publication: Publication, recordMillis: Int64) throws {
        let key: [UInt8]? = publication.key ?? Array(publication.activity.utf8)
        var partition = key.map { Murmur2.partition(key: $0.span, count: self.partitionCount) } ?? 0
        if publication.isMisplaced { partition = (partition + 1) % self.partitionCount }
        try self.produce(key: key, value: publication.value, partition: partition, recordMillis: recordMillis)
        self.records.append(
            Published(
                activity: publication.activity, outcomes: publication.outcomes, partition: partition,
                timestampMillis: recordMillis, offset: nil))
    }

    private func produce(key: [UInt8]?, value: [UInt8], partition: Int32, recordMillis: Int64) throws {
        let opaque = UInt64(self.records.count)
        let result =
            if let key {
                self.producer.produce(
                    self.topic, partition: partition, key: key.span, value: value.span, timestampMillis: recordMillis,
                    opaque: opaque)
            } else {
                self.producer.produce(
                    self.topic, partition: partition, key: nil, value: value.span, timestampMillis: recordMillis,
                    opaque: opaque)
            }
        switch result {
        case .queued: break
        case .queueFull:
            throw CommandFailure("the queue to Kafka is full: \(self.producer.outstandingCount) records are waiting")
        case .failed(let error): throw error
        }
    }

    /// Takes note of what Kafka has taken. Throws when it refused a record: the story cannot be judged without it.
    package func drain() throws {
        var refusal: KafkaError?
        self.producer.drainDeliveries(max: 100_000) { delivery in
            if let error = delivery.error { refusal = error }
            self.records[Int(delivery.opaque)].offset = delivery.offset
            self.deliveredCount += 1
        }
        if let refusal { throw refusal }
    }
}
