import CRDKafka
import Synchronization

/// Reads partitions without a group, for restore, tests and tools. One client serves any number of sections, each of a
/// different partition. All methods may be called from any thread.
public final class KafkaLogReader: Sendable {
    private let client: ClientHandle
    private let openPartitions = OpenPartitions()
    private let waker: FetchWaker
    /// The topics of `prepare`, which librdkafka knows as long as the reader lives.
    private let preparedTopics = Mutex<[KafkaTopic]>([])

    /// Checks the settings and makes the client. `group.…` properties are ignored.
    public init(_ settings: KafkaSettings, log: KafkaLogHandler? = nil) throws(KafkaError) {
        self.client = try Self.client(for: settings).makeClient(log: log)
        self.waker = FetchWaker(client: self.client)
    }

    /// Makes a client with every property of such a reader.
    static func client(for settings: KafkaSettings) throws(KafkaError) -> ClientConfiguration {
        var client = try ClientConfiguration.withoutGroup(settings, defaults: Self.defaults)
        // The event at the end of the log shows that no more offsets will arrive where compaction or control records
        // took them.
        try client.set("enable.partition.eof", "true")
        return client
    }

    /// Properties that are used unless `settings` says otherwise, on top of `ConsumerConfiguration.defaults`. A reader
    /// that has nothing open fetches nothing, so a short wait costs an idle worker nothing. Fetching more bytes ahead
    /// restored no faster (measured with 2 to 64 MB), and all partitions may be open at the same time.
    public static let defaults = KafkaSettings([
        .init("queued.max.messages.kbytes", "2048"),
        .init("fetch.wait.max.ms", "10"),
    ])

    /// Makes librdkafka learn and remember who leads the topic's partitions. Contacts Kafka in the background.
    ///
    /// A section may begin at an end of the log while no leader is known. It then waits half a second before it asks
    /// again (`rd_kafka_toppar_offset_request` of 2.0.2).
    public func prepare(_ topic: String) throws(KafkaError) {
        let topic = try KafkaTopic(topic, client: self.client)
        self.preparedTopics.withLock { $0.append(topic) }
    }

    /// Kafka's own identifier of the cluster; `nil` when it was not learnt in time. Blocks, at most `limit`.
    public func clusterID(within limit: Duration) -> String? { self.client.clusterID(within: limit) }

    /// Begins reading one partition, up to but not including `endOffset`.
    ///
    /// A partition can be open only once at a time. Close the section or release it to stop.
    /// - Parameter endOffset: the offset after the last one wanted; `Int64.max`: never finished. When the log ends
    ///   before it, the section waits for more.
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

    /// The first offset in the log and the next one to be written, for each partition. Blocks, at most about `limit`.
    public func positions(of partitions: [TopicPartition], within limit: Duration) throws(KafkaError)
        -> [PartitionPositions]
    {
        let (low, end) = try LogBounds.query(client: self.client, partitions, until: .now + limit)
        return partitions.indices.map {
            PartitionPositions(topicPartition: partitions[$0], committed: nil, lowOffset: low[$0], endOffset: end[$0])
        }
    }

    /// Works like `positions(of:within:)`, without the partitions that cannot be asked. Blocks, at most about `limit`.
    /// - Throws: when none can be asked.
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
