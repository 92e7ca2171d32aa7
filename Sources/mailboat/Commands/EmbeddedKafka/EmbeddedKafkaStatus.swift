import KafkaLog

/// The answer to `GET /status` of an embedded cluster.
struct EmbeddedKafkaStatus: Encodable {
    struct Topic: Encodable {
        var name: String
        var partitions: [Partition]
    }

    struct Partition: Encodable {
        var partition: Int32
        var lowOffset: Int64
        var endOffset: Int64
        var estimatedBytes: Int
        /// Whether the oldest records were deleted.
        var truncated: Bool
    }

    var brokers: String
    var bytesMaxPerPartition = EmbeddedKafka.partitionByteCountMax
    var topics: [Topic] = []

    init(bootstrap: String, fill: [EmbeddedKafka.PartitionFill]) {
        self.brokers = bootstrap
        for fill in fill {
            let partition = Partition(
                partition: fill.topicPartition.partition, lowOffset: fill.lowOffset, endOffset: fill.endOffset,
                estimatedBytes: fill.estimatedByteCount, truncated: fill.lowOffset > 0)
            if self.topics.last?.name == fill.topicPartition.topic {
                self.topics[self.topics.count - 1].partitions.append(partition)
            } else {
                self.topics.append(Topic(name: fill.topicPartition.topic, partitions: [partition]))
            }
        }
    }
}
