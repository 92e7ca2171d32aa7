import CommandSupport
import KafkaLog

/// Publishes records to a topic one by one, each acknowledged before the next. Blocks: use a thread of its own.
struct SteadyPublisher {
    private let producer: KafkaProducer
    private let topic: KafkaTopic
    private let topicName: String
    private let limit: Duration

    /// Creates a publisher.
    /// - Throws: a `CommandFailure` if the topic does not exist. A producer that names a missing topic may create it.
    init(_ kafka: KafkaOptions, topic: String) throws {
        try kafka.partitionCount(of: topic, needing: .write)
        self.producer = try kafka.producer()
        self.topicName = topic
        self.limit = kafka.limit
        self.topic = try self.producer.topic(topic)
    }

    /// Publishes a record and returns its position. A record without a partition goes to the partition that murmur2
    /// gives for its key.
    /// - Throws: a `CommandFailure` if Kafka did not acknowledge the record.
    func publish(_ record: RecordText) throws -> TopicPartitionOffset {
        var headers = KafkaHeaders()
        for header in record.headers { headers.append(name: Array(header.name.utf8).span, value: header.value.span) }
        let result = self.producer.produce(
            self.topic, partition: record.partition ?? -1, key: record.key?.span, value: record.value?.span,
            headers: headers, timestampMillis: record.timestampMillis ?? 0, opaque: 0)
        guard case .queued = result else { throw CommandFailure("not published to \(self.topicName): \(result)") }
        var position: TopicPartitionOffset?
        var failure: KafkaError?
        // `message.timeout.ms` ends the wait within the limit. The producer reports it a moment later.
        _ = self.producer.flush(within: self.limit + .seconds(1)) { delivery in
            failure = delivery.error
            position = TopicPartitionOffset(
                topic: self.topicName, partition: delivery.partition, offset: delivery.offset)
        }
        if let failure { throw CommandFailure("not acknowledged by \(self.topicName): \(failure)") }
        guard let position else {
            throw CommandFailure("\(self.topicName) did not answer: it is unknown whether it has the record")
        }
        return position
    }
}
