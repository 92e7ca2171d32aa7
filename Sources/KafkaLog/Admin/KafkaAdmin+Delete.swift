import CRDKafka

extension KafkaAdmin {
    /// Deletes topics, and returns an answer for each topic. If a topic does not exist, its error is
    /// `unknownTopicOrPartition`. Blocks.
    public func deleteTopics(_ names: [String], within limit: Duration) throws(KafkaError) -> [TopicAnswer] {
        guard !names.isEmpty else { return [] }
        var requests: [OpaquePointer?] = names.map { rd_kafka_DeleteTopic_new($0) }
        defer { for request in requests { rd_kafka_DeleteTopic_destroy(request) } }
        return try self.ask(
            RD_KAFKA_ADMIN_OP_DELETETOPICS, within: limit,
            { client, options, queue in rd_kafka_DeleteTopics(client, &requests, requests.count, options, queue) },
            { event throws(KafkaError) in
                Self.entries(of: rd_kafka_event_DeleteTopics_result(event), rd_kafka_DeleteTopics_result_topics)
                    .map { Self.answer($0, needing: .delete) }
            })
    }

    /// Deletes consumer groups with their committed offsets, and returns an answer for each group. If a group has
    /// members, its error is Kafka's `NON_EMPTY_GROUP`. If a group does not exist, its error is `groupIDNotFound`.
    /// Blocks.
    public func deleteGroups(_ names: [String], within limit: Duration) throws(KafkaError) -> [GroupAnswer] {
        guard !names.isEmpty else { return [] }
        var requests: [OpaquePointer?] = names.map { rd_kafka_DeleteGroup_new($0) }
        defer { for request in requests { rd_kafka_DeleteGroup_destroy(request) } }
        return try self.ask(
            RD_KAFKA_ADMIN_OP_DELETEGROUPS, within: limit,
            { client, options, queue in rd_kafka_DeleteGroups(client, &requests, requests.count, options, queue) },
            { event throws(KafkaError) in
                Self.entries(of: rd_kafka_event_DeleteGroups_result(event), rd_kafka_DeleteGroups_result_groups)
                    .map { Self.groupAnswer($0) }
            })
    }

    /// Reads the broker's answer for a group.
    private static func groupAnswer(_ answer: OpaquePointer) -> GroupAnswer {
        let name = String(cString: rd_kafka_group_result_name(answer))
        guard let error = rd_kafka_group_result_error(answer) else { return GroupAnswer(name: name, error: nil) }
        return GroupAnswer(
            name: name,
            error: KafkaError(
                rd_kafka_error_code(error), subject: .group(name), text: String(cString: rd_kafka_error_string(error))))
    }
}

/// The broker's answer for one consumer group.
public struct GroupAnswer: Sendable, Hashable {
    /// The group's identifier.
    public var name: String
    /// Why the group was not deleted; `nil` when it was.
    public var error: KafkaError?
}
