import CRDKafka

/// A member of a consumer group, as the broker tells of it.
public struct GroupMember: Sendable, Hashable {
    /// `client.id` of the member.
    public var clientID: String
    /// Where it is connected from.
    public var host: String
    /// `nil`: not a static member.
    public var groupInstanceID: String?

    public init(clientID: String, host: String, groupInstanceID: String?) {
        self.clientID = clientID
        self.host = host
        self.groupInstanceID = groupInstanceID
    }
}

extension KafkaAdmin {
    /// Who is in a group now; nobody when there is no such group. Needs Describe on the group. A broker without administration (the embedded
    /// one) makes the call throw `unsupportedFeature`.
    public func members(of group: String, within limit: Duration) throws(KafkaError) -> [GroupMember] {
        try self.ask(
            RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, within: limit,
            { client, options, queue in
                group.withCString { name in
                    var names: [UnsafePointer<CChar>?] = [name]
                    rd_kafka_DescribeConsumerGroups(client, &names, names.count, options, queue)
                }
            },
            { event throws(KafkaError) in
                guard
                    let description = Self.entries(
                        of: rd_kafka_event_DescribeConsumerGroups_result(event),
                        rd_kafka_DescribeConsumerGroups_result_groups
                    ).first
                else { return [] }
                if let error = rd_kafka_ConsumerGroupDescription_error(description) {
                    throw KafkaError(
                        rd_kafka_error_code(error), subject: .group(group),
                        text: rd_kafka_error_string(error).map { String(cString: $0) }
                    ).needing(.describe)
                }
                return (0..<rd_kafka_ConsumerGroupDescription_member_count(description)).compactMap { index in
                    guard let member = rd_kafka_ConsumerGroupDescription_member(description, index) else { return nil }
                    func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }
                    return GroupMember(
                        clientID: text(rd_kafka_MemberDescription_client_id(member)) ?? "",
                        host: text(rd_kafka_MemberDescription_host(member)) ?? "",
                        groupInstanceID: text(rd_kafka_MemberDescription_group_instance_id(member)))
                }
            })
    }
}
