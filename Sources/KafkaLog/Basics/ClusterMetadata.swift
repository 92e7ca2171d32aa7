import CRDKafka

/// The cluster's description of some topics: the number of partitions of each, and their leaders.
struct ClusterMetadata {
    private struct Topic {
        var error: rd_kafka_resp_err_t
        /// Id of the broker that leads each partition; -1: no broker leads it.
        var leaders: [Int32: Int32] = [:]
    }

    private var topics: [String: Topic] = [:]

    /// Asks the cluster about the topics. Blocks, at most until `deadline`.
    init(
        client: ClientHandle, topics names: Set<String>, until deadline: ContinuousClock.Instant
    ) throws(KafkaError) {
        // This call asks only about the client's known topics, and a topic is known while it has a handle.
        var handles: [KafkaTopic] = []
        for name in names { handles.append(try KafkaTopic(name, client: client)) }
        var found: UnsafePointer<rd_kafka_metadata>?
        let failure = rd_kafka_metadata(client.pointer, 0, nil, &found, max(1, (deadline - .now).wholeMillis))
        withExtendedLifetime(handles) {}
        guard failure == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata = found else { throw client.error(failure) }
        defer { rd_kafka_metadata_destroy(metadata) }
        for index in 0..<Int(metadata.pointee.topic_cnt) {
            let raw = metadata.pointee.topics[index]
            guard let name = raw.topic.map({ String(cString: $0) }), names.contains(name) else { continue }
            var topic = Topic(error: raw.err)
            for number in 0..<Int(raw.partition_cnt) {
                topic.leaders[raw.partitions[number].id] = raw.partitions[number].leader
            }
            self.topics[name] = topic
        }
    }

    /// Number of partitions of a topic; `nil` when the cluster does not show the topic, or returned an error for it.
    func partitionCount(of name: String) -> Int? {
        guard let topic = self.topics[name], topic.error == RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        return topic.leaders.count
    }

    /// Id of the broker that leads a partition, or the reason why no broker can be asked about the partition.
    func leader(of partition: TopicPartition) -> Result<Int32, KafkaError> {
        guard let topic = self.topics[partition.topic] else {
            return .failure(KafkaError(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, subject: .partition(partition)))
        }
        guard topic.error == RD_KAFKA_RESP_ERR_NO_ERROR else {
            return .failure(KafkaError(topic.error, subject: .partition(partition)).needing(.read))
        }
        guard let leader = topic.leaders[partition.partition] else {
            return .failure(KafkaError(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, subject: .partition(partition)))
        }
        guard leader >= 0 else {
            return .failure(KafkaError(RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, subject: .partition(partition)))
        }
        return .success(leader)
    }
}
