import CRDKafka

extension KafkaAdmin {
    /// Gives topics more partitions, and returns an answer for each topic. `NewTopic.partitionCount` is the number that
    /// a topic has afterwards; settings and replicas are ignored. Kafka cannot remove partitions. Blocks.
    public func addPartitions(_ topics: [NewTopic], within limit: Duration) throws(KafkaError) -> [TopicAnswer] {
        guard !topics.isEmpty else { return [] }
        var requests: [OpaquePointer?] = []
        defer { for request in requests { rd_kafka_NewPartitions_destroy(request) } }
        for topic in topics {
            let reasonCapacity = 512
            var reason = [CChar](repeating: 0, count: reasonCapacity)
            guard
                let request = rd_kafka_NewPartitions_new(topic.name, topic.partitionCount, &reason, reasonCapacity)
            else {
                throw KafkaError(
                    code: .invalidArgument, text: reason.withUnsafeBufferPointer { String(cString: $0.baseAddress!) },
                    subject: .topic(topic.name))
            }
            requests.append(request)
        }
        return try self.ask(
            RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, within: limit,
            { client, options, queue in
                rd_kafka_CreatePartitions(client, &requests, requests.count, options, queue)
            },
            { event throws(KafkaError) in
                Self.entries(
                    of: rd_kafka_event_CreatePartitions_result(event), rd_kafka_CreatePartitions_result_topics
                ).map { Self.answer($0, needing: .alter) }
            })
    }

    /// Replaces all settings of topics, and returns an answer for each topic. A setting that a `NewTopic` does not name
    /// gets the broker's default. `partitionCount` and `replicationFactor` are ignored. Blocks.
    public func configureTopics(_ topics: [NewTopic], within limit: Duration) throws(KafkaError) -> [TopicAnswer] {
        guard !topics.isEmpty else { return [] }
        var resources: [OpaquePointer?] = topics.map {
            rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0.name)
        }
        defer { for resource in resources { rd_kafka_ConfigResource_destroy(resource) } }
        for (topic, resource) in zip(topics, resources) {
            for (name, value) in topic.configuration {
                let failure = rd_kafka_ConfigResource_set_config(resource, name, value)
                guard failure == RD_KAFKA_RESP_ERR_NO_ERROR else {
                    throw KafkaError(failure, subject: .setting(name: name, value: value))
                }
            }
        }
        return try self.ask(
            RD_KAFKA_ADMIN_OP_ALTERCONFIGS, within: limit,
            { client, options, queue in rd_kafka_AlterConfigs(client, &resources, resources.count, options, queue) },
            { event throws(KafkaError) in
                Self.entries(of: rd_kafka_event_AlterConfigs_result(event), rd_kafka_AlterConfigs_result_resources)
                    .map { Self.configurationAnswer($0) }
            })
    }

    /// Reads the broker's answer about the settings of a topic.
    private static func configurationAnswer(_ answer: OpaquePointer) -> TopicAnswer {
        let name = String(cString: rd_kafka_ConfigResource_name(answer))
        let code = rd_kafka_ConfigResource_error(answer)
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return TopicAnswer(name: name, error: nil) }
        let text = rd_kafka_ConfigResource_error_string(answer).map { String(cString: $0) }
        return TopicAnswer(
            name: name, error: KafkaError(code, subject: .topic(name), text: text).needing(.alterConfigs))
    }
}
