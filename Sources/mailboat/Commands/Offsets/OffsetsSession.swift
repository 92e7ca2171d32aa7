import CommandSupport
import KafkaLog
import PushWorker

/// Asks a cluster about a group's offsets, and moves them. Blocks: use a thread of its own.
struct OffsetsSession {
    let group: String
    let settings: KafkaSettings
    private let kafka: KafkaOptions
    private let admin: KafkaAdmin
    /// Acts for the group without joining the group.
    private let outsider: KafkaConsumer
    var limit: Duration { self.kafka.limit }

    init(_ kafka: KafkaOptions, group: String) throws {
        let settings = try kafka.settings(for: .consumer)
        self.group = group
        self.settings = settings
        self.kafka = kafka
        do throws(KafkaError) {
            self.admin = try KafkaAdmin(settings, log: { _ in })
            self.outsider = try KafkaConsumer(
                ConsumerConfiguration(settings: settings, groupID: group, driverTopic: "", log: { _ in }))
        } catch { throw CommandFailure("\(error)") }
    }

    /// The group's positions in these partitions of the topics, and where the logs begin and end.
    /// - Parameter partitions: the partitions; empty: all.
    func positions(of topics: [String], partitions: [Int32]) throws -> [PartitionPositions] {
        try self.kafka.cluster.ask("for the positions of the group \(self.group)", within: self.limit) {
            () throws(KafkaError) -> [PartitionPositions] in
            let found = try self.admin.describeTopics(topics, within: self.limit)
            var wanted: [TopicPartition] = []
            for topic in topics {
                guard let count = found.first(where: { $0.name == topic })?.partitionCount else {
                    if let refusal = try self.admin.refusal(toShow: topic, within: self.limit) { throw refusal }
                    throw KafkaError(
                        code: .unknownTopicOrPartition, text: "it does not exist", isRetriable: false,
                        subject: .topic(topic))
                }
                for partition in partitions.isEmpty ? Array(0..<Int32(count)) : partitions.sorted() {
                    guard partition >= 0, partition < count else {
                        throw KafkaError(
                            code: .unknownTopicOrPartition,
                            text: "it does not exist: the topic has the partitions 0 to \(count - 1)",
                            isRetriable: false, subject: .partition(TopicPartition(topic: topic, partition: partition)))
                    }
                    wanted.append(TopicPartition(topic: topic, partition: partition))
                }
            }
            return try self.outsider.positions(of: wanted, within: self.limit)
        }
    }

    /// The partitions whose present log is not the one that the group has read.
    /// - Parameter positions: positions of all input topics, in their order, and of the routed topic at the end.
    func otherLogs(among positions: [PartitionPositions]) throws -> Set<TopicPartition> {
        let settings = KafkaSettings([.init("fetch.wait.max.ms", "10")]).appending(
            try self.kafka.settings(for: .consumer))
        do throws(KafkaError) {
            let reader = try KafkaLogReader(settings, log: { _ in })
            var others: Set<TopicPartition> = []
            for number in Set(positions.map(\.topicPartition.partition)).sorted() {
                let mine = positions.filter { $0.topicPartition.partition == number }
                others.formUnion(try GroupWord.otherLogs(mine, reader, within: self.limit))
            }
            return others
        } catch  where error.isRefusal {
            // Without the right to read records, only the ends of the logs can show that a log is another one.
            return []
        } catch { throw CommandFailure("the records that the group \(self.group) has read cannot be read: \(error)") }
    }

    /// Members of the group. Empty also if the cluster cannot list members. `commit` then shows whether there are any.
    func members() throws -> [GroupMember] {
        try self.kafka.cluster.ask("for the members of the group \(self.group)", within: self.limit) {
            () throws(KafkaError) -> [GroupMember] in
            do throws(KafkaError) {
                return try self.admin.members(of: self.group, within: self.limit)
            } catch  where error.code == .unsupportedFeature { return [] }
        }
    }

    /// Commits offsets. Kafka refuses while the group has members, even those that joined after `members` was asked.
    /// - Parameter driverTopic: the topic to which the group subscribes.
    func commit(_ moves: [TopicPartitionOffset], driverTopic: String) -> CommitResult {
        let result = self.outsider.commitSync(moves, within: self.limit)
        guard result.committed.isEmpty, result.refused.allSatisfy({ $0.error.code == .unknownMember }) else {
            return result
        }
        do throws(KafkaError) {
            // A broker that can list the members has shown all of them, so its refusal stands. Make the attempt below
            // only at a broker that cannot list them.
            _ = try self.admin.members(of: self.group, within: self.limit)
            return result
        } catch {
            guard error.code == .unsupportedFeature,
                let count = try? self.admin.describeTopics([driverTopic], within: self.limit).first?.partitionCount
            else { return result }
            let asMember = try? self.commitAsMember(moves, driverTopic: driverTopic, partitionCount: count)
            return asMember ?? result
        }
    }
}
