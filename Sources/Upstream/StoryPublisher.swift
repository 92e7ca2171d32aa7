import CommandSupport
package import KafkaLog
import PushModel

/// Publishes the records of a story, as `mailboat demo` plays one, and remembers the position of each. Confined to the
/// task that plays the story.
package final class StoryPublisher {
    /// A record that was published.
    package struct Published {
        /// The activity that the record belongs to.
        package var activity: String
        /// The possible outcomes, as in the record's `Publication`.
        package var outcomes: Set<String>
        /// The partition that the record was published to.
        package var partition: Int32
        /// The record's time, milliseconds since 1970.
        package var timestampMillis: Int64
        /// The record's offset; `nil` until Kafka has acknowledged it.
        package var offset: Int64?
    }

    /// A new, larger number of partitions of the topic.
    private struct Growth {
        var partitionCount: Int32
        /// Activities that were published before the topic grew.
        var known: Set<String>
    }

    private let settings: KafkaSettings
    private let topicName: String
    private let log: KafkaLogHandler?
    private var producer: KafkaProducer
    private var topic: KafkaTopic
    private let partitionCount: Int32
    private var growth: Growth?
    /// The records in the order of publishing.
    package private(set) var records: [Published] = []
    private var deliveredCount = 0

    /// - Parameter log: receives librdkafka's lines; `nil`: they go to standard error.
    package init(settings: KafkaSettings, topic: String, partitionCount: Int32, log: KafkaLogHandler? = nil) throws {
        self.settings = settings
        self.topicName = topic
        self.log = log
        self.producer = try Self.producer(settings, log)
        self.topic = try self.producer.topic(topic)
        self.partitionCount = partitionCount
    }

    private static func producer(_ settings: KafkaSettings, _ log: KafkaLogHandler?) throws -> KafkaProducer {
        // The player drains deliveries every few milliseconds, so no wake-up is needed.
        try KafkaProducer(ProducerConfiguration(settings: settings, log: log), onDeliveries: {}, onError: { _ in })
    }

    /// Whether Kafka has acknowledged everything published so far.
    package var isDelivered: Bool { self.deliveredCount == self.records.count }

    /// Queues one record. Throws when it cannot be queued.
    /// - Parameter recordMillis: the record's time, milliseconds since 1970.
    package func publish(_ publication: Publication, recordMillis: Int64) throws {
        let key = publication.recordKey
        let partition = self.partition(of: publication)
        try self.produce(key: key, value: publication.value, partition: partition, recordMillis: recordMillis)
        self.records.append(
            Published(
                activity: publication.activity, outcomes: publication.outcomes, partition: partition,
                timestampMillis: recordMillis, offset: nil))
    }

    private func partition(of publication: Publication) -> Int32 {
        guard let key = publication.recordKey else { return 0 }
        let partition = Murmur2.partition(key: key.span, count: self.partitionCount)
        if publication.isMisplaced { return (partition + 1) % self.partitionCount }
        let isOfActivity =
            publication.membership == nil && publication.event?.audience == nil && publication.event?.channel == nil
        guard let growth = self.growth, isOfActivity else { return partition }
        let grown = Murmur2.partition(key: key.span, count: growth.partitionCount)
        return grown >= self.partitionCount || !growth.known.contains(publication.activity) ? grown : partition
    }

    /// Uses a larger number of partitions from now on. Records of new activities go to the partition that follows from
    /// their key and the new number. Workers keep a key's order between an old partition and an added one, but not
    /// between two old ones. So an activity that was published before moves only to an added partition. Kafka must have
    /// acknowledged everything published so far. Throws when no new producer can be made.
    package func grow(to partitionCount: Int32) throws {
        // The old producer would keep to the old number of partitions for minutes.
        self.producer = try Self.producer(self.settings, self.log)
        self.topic = try self.producer.topic(self.topicName)
        self.growth = Growth(partitionCount: partitionCount, known: Set(self.records.map(\.activity)))
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

    /// Takes Kafka's acknowledgements. Throws when Kafka refused a record, because the story cannot be judged without
    /// that record.
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
