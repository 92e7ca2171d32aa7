import CRDKafka

/// A consumer group as the broker describes it.
public struct GroupDescription: Sendable, Hashable {
    /// The assignment strategy that the members agreed on, such as `cooperative-sticky`. Empty while the group has no
    /// members or they have not agreed yet.
    public var strategy: String
    /// The group's members now.
    public var members: [GroupMember]

    public init(strategy: String, members: [GroupMember]) {
        self.strategy = strategy
        self.members = members
    }
}

/// A member of a consumer group as the broker describes it.
public struct GroupMember: Sendable, Hashable {
    /// The member's `client.id`.
    public var clientID: String
    /// The address that the member is connected from.
    public var host: String
    /// The member's `group.instance.id`; `nil` unless it is a static member.
    public var groupInstanceID: String?
    /// The host without the slash that the broker puts before addresses.
    public var address: String { self.host.hasPrefix("/") ? String(self.host.dropFirst()) : self.host }
    /// The member's partitions of the topic that it subscribes to. The broker does not know of the riding topics.
    public var assignment: [TopicPartition]

    public init(clientID: String, host: String, groupInstanceID: String?, assignment: [TopicPartition] = []) {
        self.clientID = clientID
        self.host = host
        self.groupInstanceID = groupInstanceID
        self.assignment = assignment
    }
}

extension KafkaAdmin {
    /// Lists a group's members; empty when the group does not exist. Needs the right Describe on the group.
    public func members(of group: String, within limit: Duration) throws(KafkaError) -> [GroupMember] {
        try self.group(group, within: limit).members
    }

    /// Describes a group with its members and their partitions. A group that does not exist has no members. Needs the
    /// right Describe on the group. Throws `unsupportedFeature` for a cluster without administration, such as the
    /// embedded one.
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
