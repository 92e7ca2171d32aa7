import CRDKafka
import Synchronization

/// Reads partitions without a group: restore, tests, tools. One client for any number of sections, each of another
/// partition. All methods may be called from any thread.
public final class KafkaLogReader: Sendable {
    private let client: ClientHandle
    private let openPartitions = OpenPartitions()
    private let waker: FetchWaker
    /// Known to librdkafka for as long as the reader lives; see `prepare`.
    private let preparedTopics = Mutex<[KafkaTopic]>([])

    /// Checks the settings and makes the client. `group.…` properties are ignored.
    public init(_ settings: KafkaSettings, log: KafkaLogHandler? = nil) throws(KafkaError) {
        self.client = try Self.client(for: settings).makeClient(log: log)
        self.waker = FetchWaker(client: self.client)
    }

    /// Every property of such a reader.
    static func client(for settings: KafkaSettings) throws(KafkaError) -> ClientConfiguration {
        var client = try ClientConfiguration.withoutGroup(settings, defaults: Self.defaults)
        // The end of the log tells that offsets taken by compaction or control records will not come.
        try client.set("enable.partition.eof", "true")
        return client
    }

    /// Used unless `settings` says otherwise, on top of `ConsumerConfiguration.defaults`. A reader that has nothing open fetches nothing, so a
    /// short wait costs an idle worker nothing. More bytes ahead restored no faster (measured with 2 to 64 MB), and every partition may be open at
    /// once.
    public static let defaults = KafkaSettings([
        .init("queued.max.messages.kbytes", "2048"),
        .init("fetch.wait.max.ms", "10"),
    ])

    /// Makes librdkafka learn who leads the topic's partitions, and keep it in mind. Contacts Kafka in the background.
    ///
    /// A section that begins at an end of the log while no leader is known waits half a second before it asks again
    /// (`rd_kafka_toppar_offset_request` of 2.0.2).
    public func prepare(_ topic: String) throws(KafkaError) {
        let topic = try KafkaTopic(topic, client: self.client)
        self.preparedTopics.withLock { $0.append(topic) }
    }

    /// Kafka's own name of the cluster; `nil` when it was not learnt in time. Blocks, at most `limit`.
    public func clusterID(within limit: Duration) -> String? { self.client.clusterID(within: limit) }

    /// Begins reading one partition, up to but not including `endOffset`.
    ///
    /// A partition can be open once at a time. Close the section, or let go of it, to stop.
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

    /// First offset in the log and next offset to be written. Blocks, at most about `limit`.
    public func positions(of partitions: [TopicPartition], within limit: Duration) throws(KafkaError)
        -> [PartitionPositions]
    {
        let (low, end) = try LogBounds.query(client: self.client, partitions, until: .now + limit)
        return partitions.indices.map {
            PartitionPositions(topicPartition: partitions[$0], committed: nil, lowOffset: low[$0], endOffset: end[$0])
        }
    }

    /// As `positions(of:within:)`, without those that cannot be asked. Blocks, at most about `limit`.
    /// - Throws: nothing can be asked.
    public func logsOfEach(
        _ partitions: [TopicPartition], within limit: Duration
    ) throws(KafkaError) -> [TopicPartition: (low: Int64, end: Int64)] {
        let answers = try LogBounds.queryEach(client: self.client, partitions, until: .now + limit)
        var logs: [TopicPartition: (low: Int64, end: Int64)] = [:]
        for (partition, answer) in zip(partitions, answers) { logs[partition] = try? answer.get() }
        return logs
    }
}

/// Which partitions a log reader has open. librdkafka knows one position per partition and client.
final class OpenPartitions: Sendable {
    private let partitions = Mutex<Set<TopicPartition>>([])
    func insert(_ partition: TopicPartition) -> Bool { self.partitions.withLock { $0.insert(partition).inserted } }
    func remove(_ partition: TopicPartition) { self.partitions.withLock { _ = $0.remove(partition) } }
}
