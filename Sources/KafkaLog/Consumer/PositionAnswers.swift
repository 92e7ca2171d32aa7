import CRDKafka

/// Positions of several partitions, and a reason for each partition whose positions are not known.
public struct PositionAnswers: Sendable {
    /// The positions of the partitions for which Kafka answered.
    public var known: [TopicPartition: PartitionPositions] = [:]
    /// The other partitions, each with the reason, such as a missing topic, a missing leader or a missing right.
    public var unknown: [TopicPartition: KafkaError] = [:]

    /// An instance without any answer.
    public init() {}
}

extension KafkaConsumer {
    /// Works like `positions(of:within:)`, but returns an answer or an error for each partition. A partition without an
    /// answer does not hide the others.
    /// - Throws: an error if no broker answers, or the group's coordinator does not.
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

    /// Number of partitions of each of these topics. A topic that the cluster does not show to this client is left out.
    /// Blocks, at most about `limit`.
    public func partitionCounts(of topics: [String], within limit: Duration) throws(KafkaError) -> [String: Int] {
        let metadata = try ClusterMetadata(client: self.client, topics: Set(topics), until: .now + limit)
        var counts: [String: Int] = [:]
        for topic in topics { counts[topic] = metadata.partitionCount(of: topic) }
        return counts
    }
}
