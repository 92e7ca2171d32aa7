import CRDKafka
import Synchronization

/// Reads partitions without a group, for restores, tests and tools. One client reads any number of sections at a time,
/// each of a different partition. All methods may be called from any thread.
public final class KafkaLogReader: Sendable {
    private let client: ClientHandle
    private let openPartitions = OpenPartitions()
    private let waker: FetchWaker
    /// Handles of the topics for which `prepare` was called. librdkafka knows these topics as long as the handles
    /// exist.
    private let preparedTopics = Mutex<[KafkaTopic]>([])

    /// Checks the settings and makes the client. `group.…` properties are ignored.
    public init(_ settings: KafkaSettings, log: KafkaLogHandler? = nil) throws(KafkaError) {
        self.client = try Self.client(for: settings).makeClient(log: log)
        self.waker = FetchWaker(client: self.client)
    }

    /// Makes the configuration of a client, with all properties of a log reader.
    static func client(for settings: KafkaSettings) throws(KafkaError) -> ClientConfiguration {
        var client = try ClientConfiguration.withoutGroup(settings, defaults: Self.defaults)
        // The last offsets of a log may have no records, because of compaction or control records. The event at the end
        // of the log then shows that none will arrive.
        try client.set("enable.partition.eof", "true")
        return client
    }

    /// Properties that are used unless `settings` says otherwise. They replace some of
    /// `ConsumerConfiguration.defaults`. A reader without an open section fetches nothing, so a short wait costs an
    /// idle worker nothing. All partitions may be open at the same time, so little is fetched ahead for each. Restores
    /// were not faster with more (measured with 2 to 64 MB).
    public static let defaults = KafkaSettings([
        .init("queued.max.messages.kbytes", "2048"),
        .init("fetch.wait.max.ms", "10"),
    ])

    /// Makes librdkafka learn and remember which brokers lead the topic's partitions. Contacts Kafka in the background.
    ///
    /// Without this call, a section that begins at the beginning or end of a log may find no leader known. librdkafka
    /// then waits half a second before it asks again (`rd_kafka_toppar_offset_request` of 2.0.2).
    public func prepare(_ topic: String) throws(KafkaError) {
        let topic = try KafkaTopic(topic, client: self.client)
        self.preparedTopics.withLock { $0.append(topic) }
    }

    /// The cluster's identifier; `nil` when no broker gave it within `limit`. Blocks until then.
    public func clusterID(within limit: Duration) -> String? { self.client.clusterID(within: limit) }

    /// Begins reading one partition, up to but not including `endOffset`.
    ///
    /// A reader can have only one open section of a partition. To stop, close the section or release it.
    /// - Parameter endOffset: the offset after the last record wanted; `Int64.max`: the section never ends. While the
    ///   log is shorter, the section waits for more records.
    public func open(_ partition: TopicPartition, from start: LogStart, upTo endOffset: Int64 = .max) throws(KafkaError)
        -> LogSection
    {
        guard self.openPartitions.insert(partition) else {
            throw KafkaError(
                code: .invalidArgument, text: "the partition is being read already by this reader",
                subject: .partition(partition))
        }
        guard let topic = rd_kafka_topic_new(self.client.pointer, partition.topic, nil) else {
            self.openPartitions.remove(partition)
            throw KafkaError(rd_kafka_last_error(), subject: .partition(partition))
        }
        let queue = KafkaQueue(rd_kafka_queue_new(self.client.pointer))
        guard rd_kafka_consume_start_queue(topic, partition.partition, start.rawOffset, queue.pointer) == 0 else {
            let error = KafkaError(rd_kafka_last_error(), subject: .partition(partition))
            rd_kafka_topic_destroy(topic)
            self.openPartitions.remove(partition)
            throw error
        }
        return LogSection(
            topicPartition: partition, start: start, endOffset: endOffset, client: self.client,
            openPartitions: self.openPartitions, waker: self.waker, topic: topic, queue: queue)
    }

    /// The first offset in the log and the offset of the next record, for each partition. Blocks, at most about
    /// `limit`.
    public func positions(of partitions: [TopicPartition], within limit: Duration) throws(KafkaError)
        -> [PartitionPositions]
    {
        let (low, end) = try LogBounds.query(client: self.client, partitions, until: .now + limit)
        return partitions.indices.map {
            PartitionPositions(topicPartition: partitions[$0], committed: nil, lowOffset: low[$0], endOffset: end[$0])
        }
    }

    /// Works like `positions(of:within:)`, but leaves out the partitions that have no answer. Blocks, at most about
    /// `limit`.
    /// - Throws: a fatal error of the client, or an error if the cluster does not answer at all.
    public func logsOfEach(
        _ partitions: [TopicPartition], within limit: Duration
    ) throws(KafkaError) -> [TopicPartition: (low: Int64, end: Int64)] {
        let answers = try LogBounds.queryEach(client: self.client, partitions, until: .now + limit)
        var logs: [TopicPartition: (low: Int64, end: Int64)] = [:]
        for (partition, answer) in zip(partitions, answers) { logs[partition] = try? answer.get() }
        return logs
    }
}

/// The partitions that a log reader has open. librdkafka has only one position per partition and client.
final class OpenPartitions: Sendable {
    private let partitions = Mutex<Set<TopicPartition>>([])
    func insert(_ partition: TopicPartition) -> Bool { self.partitions.withLock { $0.insert(partition).inserted } }
    func remove(_ partition: TopicPartition) { self.partitions.withLock { _ = $0.remove(partition) } }
}
