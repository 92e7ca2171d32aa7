import CRDKafka

/// Kafka's answers about partitions when some of them cannot be asked.
public struct PositionAnswers: Sendable {
    /// The positions of the partitions that could be asked.
    public var known: [TopicPartition: PartitionPositions] = [:]
    /// The other partitions, each with the reason: it does not exist, it has no leader, a right is missing.
    public var unknown: [TopicPartition: KafkaError] = [:]

    /// An instance without any answer.
    public init() {}
}

extension KafkaConsumer {
    /// Works like `positions(of:within:)`, with an answer for each partition: one that cannot be asked does not delay
    /// the others.
    /// - Throws: when nothing can be asked, because no broker answers or the group's coordinator does not.
    public func positionsOfEach(
        _ partitions: [TopicPartition], within limit: Duration
    ) throws(KafkaError) -> PositionAnswers {
        let deadline = ContinuousClock.now + limit
        var answers = PositionAnswers()
        guard !partitions.isEmpty else { return answers }
        let committed = PartitionList(partitions)
        let failure = rd_kafka_committed(self.client.pointer, committed.pointer, limit.wholeMillis)
        guard failure == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw self.client.error(failure, subject: .group(self.configuration.groupID))
        }
        let ends = try LogBounds.queryEach(client: self.client, partitions, until: deadline)
        for (index, partition) in partitions.enumerated() {
            let element = committed[index]
            switch ends[index] {
            case .failure(let error): answers.unknown[partition] = error
            case .success where element.error != RD_KAFKA_RESP_ERR_NO_ERROR:
                answers.unknown[partition] = KafkaError(element.error, subject: .partition(partition)).needing(.read)
            case .success(let log):
                answers.known[partition] = PartitionPositions(
                    topicPartition: partition, committed: element.offset >= 0 ? element.offset : nil,
                    committedMetadata: element.metadata, lowOffset: log.low, endOffset: log.end)
            }
        }
        return answers
    }

    /// Number of partitions of each of these topics; a topic that is not shown to this client is left out. Blocks, at
    /// most about `limit`.
    public func partitionCounts(of topics: [String], within limit: Duration) throws(KafkaError) -> [String: Int] {
        let metadata = try ClusterMetadata(client: self.client, topics: Set(topics), until: .now + limit)
        var counts: [String: Int] = [:]
        for topic in topics { counts[topic] = metadata.partitionCount(of: topic) }
        return counts
    }
}
