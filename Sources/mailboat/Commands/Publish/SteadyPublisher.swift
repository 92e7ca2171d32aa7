import CommandSupport
import KafkaLog

/// Publishes one record after the other to a topic, each acknowledged before the next. Blocks: on a thread of its own.
struct SteadyPublisher {
    private let producer: KafkaProducer
    private let topic: KafkaTopic
    private let topicName: String
    private let limit: Duration

    /// Throws a `CommandFailure` when there is no such topic: a producer that names one for the first time may create it.
    init(_ kafka: KafkaOptions, topic: String) throws {
        _ = try kafka.partitionCount(of: topic)
        self.producer = try kafka.producer()
        self.topicName = topic
        self.limit = kafka.limit
        self.topic = try self.producer.topic(topic)
    }

    /// Where it lies. Without a partition of its own it goes where murmur2 of its key says. Throws a `CommandFailure`.
    func publish(_ record: RecordText) throws -> TopicPartitionOffset {
        var headers = KafkaHeaders()
        for header in record.headers { headers.append(name: Array(header.name.utf8).span, value: header.value.span) }
        let result = self.producer.produce(
            self.topic, partition: record.partition ?? -1, key: record.key?.span, value: record.value?.span,
            headers: headers, timestampMillis: record.timestampMillis ?? 0, opaque: 0)
        guard case .queued = result else { throw CommandFailure("not published to \(self.topicName): \(result)") }
        var place: TopicPartitionOffset?
        var failure: KafkaError?
        // `message.timeout.ms` ends it within the limit, and the producer says so a moment later.
        _ = self.producer.flush(within: self.limit + .seconds(1)) { delivery in
            failure = delivery.error
            place = TopicPartitionOffset(
                topic: self.topicName, partition: delivery.partition, offset: delivery.offset)
        }
        if let failure { throw CommandFailure("not acknowledged by \(self.topicName): \(failure)") }
        guard let place else {
            throw CommandFailure("\(self.topicName) did not answer: nobody knows whether it has it")
        }
        return place
    }
}
