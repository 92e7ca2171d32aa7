import CRDKafka

/// What Kafka said about partitions, where some cannot be asked.
public struct PositionAnswers: Sendable {
    /// Those that could be.
    public var known: [TopicPartition: PartitionPositions] = [:]
    /// The others, each with the reason: it does not exist, nobody leads it, a right is missing.
    public var unknown: [TopicPartition: KafkaError] = [:]

    /// No answer yet.
    public init() {}
}

extension KafkaConsumer {
    /// As `positions(of:within:)`, with an answer for each: one partition that cannot be asked holds up none of the others.
    /// - Throws: nothing can be asked: no broker, or not the group's.
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

    /// How many partitions each of these topics has; one that is not shown to this client is left out. Blocks, at most about `limit`.
    public func partitionCounts(of topics: [String], within limit: Duration) throws(KafkaError) -> [String: Int] {
        let metadata = try ClusterMetadata(client: self.client, topics: Set(topics), until: .now + limit)
        var counts: [String: Int] = [:]
        for topic in topics { counts[topic] = metadata.partitionCount(of: topic) }
        return counts
    }
}
