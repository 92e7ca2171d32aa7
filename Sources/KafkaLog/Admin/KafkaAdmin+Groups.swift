import CRDKafka

/// A consumer group, as the broker tells of it.
public struct GroupDescription: Sendable, Hashable {
    /// What its members have agreed on, such as `cooperative-sticky`; empty: nobody is in it, or they have not agreed yet.
    public var strategy: String
    /// Who is in it now.
    public var members: [GroupMember]

    public init(strategy: String, members: [GroupMember]) {
        self.strategy = strategy
        self.members = members
    }
}

/// A member of a consumer group, as the broker tells of it.
public struct GroupMember: Sendable, Hashable {
    /// `client.id` of the member.
    public var clientID: String
    /// Where it is connected from.
    public var host: String
    /// `nil`: not a static member.
    public var groupInstanceID: String?
    /// The host as others write it: the broker puts a slash before addresses.
    public var address: String { self.host.hasPrefix("/") ? String(self.host.dropFirst()) : self.host }
    /// What it has been given. Of topics that others ride along with, workers tell the broker nothing.
    public var assignment: [TopicPartition]

    public init(clientID: String, host: String, groupInstanceID: String?, assignment: [TopicPartition] = []) {
        self.clientID = clientID
        self.host = host
        self.groupInstanceID = groupInstanceID
        self.assignment = assignment
    }
}

extension KafkaAdmin {
    /// Lists who is in a group now; nobody when there is no such group. Needs what `group` needs.
    public func members(of group: String, within limit: Duration) throws(KafkaError) -> [GroupMember] {
        try self.group(group, within: limit).members
    }

    /// Who is in a group now, with what they have; nobody when there is no such group. Needs Describe on the group. A broker without
    /// administration (the embedded one) makes the call throw `unsupportedFeature`.
    public func group(_ group: String, within limit: Duration) throws(KafkaError) -> GroupDescription {
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
                else { return GroupDescription(strategy: "", members: []) }
                if let error = rd_kafka_ConsumerGroupDescription_error(description) {
                    throw KafkaError(
                        rd_kafka_error_code(error), subject: .group(group),
                        text: rd_kafka_error_string(error).map { String(cString: $0) }
                    ).needing(.describe)
                }
                return GroupDescription(
                    strategy: Self.text(rd_kafka_ConsumerGroupDescription_partition_assignor(description)) ?? "",
                    members: (0..<rd_kafka_ConsumerGroupDescription_member_count(description)).compactMap { index in
                        rd_kafka_ConsumerGroupDescription_member(description, index).map { Self.member($0) }
                    })
            })
    }

    private static func member(_ member: OpaquePointer) -> GroupMember {
        let partitions = rd_kafka_MemberDescription_assignment(member).flatMap {
            rd_kafka_MemberAssignment_partitions($0)
        }
        return GroupMember(
            clientID: Self.text(rd_kafka_MemberDescription_client_id(member)) ?? "",
            host: Self.text(rd_kafka_MemberDescription_host(member)) ?? "",
            groupInstanceID: Self.text(rd_kafka_MemberDescription_group_instance_id(member)),
            assignment: partitions.map { PartitionList.elements(of: $0).map(\.topicPartition) } ?? [])
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }
}
