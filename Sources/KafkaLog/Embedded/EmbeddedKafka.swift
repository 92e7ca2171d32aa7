import CRDKafka
import Synchronization

/// A Kafka cluster inside this process (librdkafka's mock cluster), for tests and the demo. Everything is in memory and
/// disappears with it.
///
/// Any client on this machine can connect to `bootstrap`. The cluster keeps keys, values, headers, times, offsets and
/// commits like a broker, except:
/// - A partition holds at most 5 MiB or 100,000 batches and drops its oldest records past that (watched, see
///   `onNotice`).
/// - It has no compaction, no retention and no administration requests, and ignores static membership.
/// - A group's first assignment takes 3 s and later ones `session.timeout.ms` - 1 s.
/// - A produce does not wake fetches that wait, so clients want `fetch.wait.max.ms` 5–20.
/// - The sequence numbers of idempotent producers are not checked, see `producerSettings`.
///
/// All methods may be called from any thread.
public final class EmbeddedKafka: Sendable {
    /// A topic to be created at the start or later.
    public struct Topic: Sendable, Hashable {
        /// 1–249 bytes: letters, digits, `.`, `_` and `-`.
        public var name: String
        /// Number of partitions that the topic gets, 1...`partitionCountMax`. It cannot change later.
        public var partitionCount: Int
        public init(_ name: String, partitionCount: Int) {
            self.name = name
            self.partitionCount = partitionCount
        }
    }

    /// What the watcher of the log bounds found.
    public enum Notice: Sendable, Hashable {
        /// The partition holds an estimated 80 % of what it can. Reported once per partition.
        case nearlyFull(PartitionFill)
        /// The oldest records are gone: those that nobody had read are lost. Reported once per partition, then each
        /// time the loss has doubled.
        case truncated(PartitionFill)
    }

    /// How full one partition is.
    public struct PartitionFill: Sendable, Hashable {
        /// The partition.
        public var topicPartition: TopicPartition
        /// The first offset still in the log. Above 0, the records before it are gone.
        public var lowOffset: Int64
        /// The offset that the next record will get.
        public var endOffset: Int64
        /// Estimated size of the records still held, in bytes, from a sample.
        public var estimatedByteCount: Int
    }

    /// Maximum number of bytes that the mock keeps per partition; compiled into librdkafka
    /// (`rd_kafka_mock_partition_init`).
    public static let partitionByteCountMax = 5 * 1_024 * 1_024
    /// Maximum number of batches that a partition keeps. A batch is what a producer sends to a partition in one
    /// request.
    public static let partitionBatchCountMax = 100_000
    /// Maximum number of brokers. The default is 1; the mock numbers them from 1.
    public static let brokerCountMax = 16
    /// The most partitions that a topic can have.
    public static let partitionCountMax = 10_000

    /// Settings for producers where requests fail. A real broker refuses a batch that does not follow the last one it
    /// has; the mock accepts it although the previous one failed. The producer then believes that both are written: the
    /// first is lost, and its delivery is a success without an offset (`rd_kafka_dr_implicit_ack`). With one request
    /// under way at a time, no batch overtakes another.
    public static let producerSettings = KafkaSettings([.init("max.in.flight.requests.per.connection", "1")])

    /// `host:port,…` for clients on this machine.
    public let bootstrap: String
    private let cluster: MockCluster
    private let watcher: LogBoundWatcher

    /// Starts brokers and creates the topics; partition counts cannot change later. Returns when clients can connect.
    ///
    /// A topic that is not named here is created with 4 partitions by the first client that asks for it.
    /// - Parameter onNotice: called on the watcher's thread; `nil`: notices go to standard error as lines.
    public init(
        topics: [Topic], brokerCount: Int = 1, onNotice: (@Sendable (Notice) -> Void)? = nil,
        log: KafkaLogHandler? = nil
    ) throws(KafkaError) {
        guard (1...Self.brokerCountMax).contains(brokerCount) else {
            throw KafkaError(
                code: .invalidArgument,
                text: "an embedded cluster has 1 to \(Self.brokerCountMax) brokers, not \(brokerCount)")
        }
        self.cluster = try MockCluster(brokerCount: brokerCount, log: log)
        self.bootstrap = self.cluster.bootstrap
        let settings = Self.settings(bootstrap: self.cluster.bootstrap)
        self.watcher = try LogBoundWatcher(
            settings: settings, topics: topics, onNotice: onNotice ?? { Self.printNotice($0) })
        for topic in topics { try self.cluster.createTopic(topic) }
        self.watcher.start()
    }

    deinit { self.stop() }

    /// Settings for a client of this cluster: its brokers, and a fetch wait that suits the mock.
    public var settings: KafkaSettings { Self.settings(bootstrap: self.bootstrap) }

    private static func settings(bootstrap: String) -> KafkaSettings {
        KafkaSettings([.init("bootstrap.servers", bootstrap), .init("fetch.wait.max.ms", "10")])
    }

    /// Creates one more topic. Throws when the name exists or is empty, or the count is not 1 to `partitionCountMax`.
    public func createTopic(_ topic: Topic) throws(KafkaError) {
        try self.cluster.createTopic(topic)
        self.watcher.add(topic)
    }

    /// Refuses connections and drops existing ones until `setUp`. `nil`: for every broker.
    public func setDown(broker: Int32? = nil) {
        self.cluster.forEachBroker(broker) { rd_kafka_mock_broker_set_down($0, $1) }
    }

    /// Lets clients connect again after `setDown`. `nil`: to every broker.
    public func setUp(broker: Int32? = nil) {
        self.cluster.forEachBroker(broker) { rd_kafka_mock_broker_set_up($0, $1) }
    }

    /// Makes a broker the leader of a partition. `nil`: the partition has no leader, so that it cannot be asked about,
    /// read or written.
    public func setLeader(of partition: TopicPartition, broker: Int32?) {
        self.setLeader(of: [partition], broker: broker)
    }

    /// Makes a broker the leader of several partitions, which takes no longer than for one; `nil`: they have no leader.
    /// Blocks.
    public func setLeader(of partitions: [TopicPartition], broker: Int32?) {
        self.cluster.setLeader(of: partitions, broker: broker)
    }

    /// Delays every answer by this many milliseconds; 0 ends the delay. `nil`: for every broker.
    public func setRoundTrip(millis: Int, broker: Int32? = nil) {
        self.cluster.forEachBroker(broker) { rd_kafka_mock_broker_set_rtt($0, $1, Int32(clamping: max(0, millis))) }
    }

    /// Answers the next `count` requests of that API key (Kafka's number: 0 Produce, 1 Fetch, 8 OffsetCommit …) with
    /// `code`. With `KafkaError.Code.transport` the connection is dropped instead. Adds to the failures that were
    /// queued before.
    /// - Parameter broker: the broker whose requests fail, and whose failures `clearFailures` does not forget; `nil`:
    ///   every broker.
    public func failRequests(apiKey: Int16, code: KafkaError.Code, count: Int, broker: Int32? = nil) {
        self.cluster.failRequests(
            apiKey: apiKey, code: code, count: min(count, Self.failureCountMax), broker: broker)
    }

    /// Maximum number of failures that one call queues.
    public static let failureCountMax = 10_000

    /// Forgets the failures that are queued for that API key, except those of single brokers.
    public func clearFailures(apiKey: Int16) { self.cluster.clearFailures(apiKey: apiKey) }

    /// The fill of every partition at the watcher's last look (once a second).
    public var fill: [PartitionFill] { self.watcher.fill }

    /// Looks at every partition now. Blocks for a moment.
    @discardableResult
    public func checkFill() -> [PartitionFill] { self.watcher.check() }

    /// Ends the cluster; the connections of clients break. Idempotent. Close the clients first.
    public func stop() {
        self.watcher.stop()
        self.cluster.stop()
    }

    /// A notice as one line for an operator.
    public static func text(of notice: Notice) -> String {
        switch notice {
        case .nearlyFull(let fill):
            "warning: embedded Kafka: partition \(fill.topicPartition) holds about \(fill.estimatedByteCount / 1_024) KiB in "
                + "\(fill.endOffset - fill.lowOffset) records; past \(Self.partitionByteCountMax / 1_024) KiB or \(Self.partitionBatchCountMax) batches it drops its "
                + "oldest records. Use more partitions, fewer events, or a real Kafka."
        case .truncated(let fill):
            "error: embedded Kafka: partition \(fill.topicPartition) was full and has dropped its oldest \(fill.lowOffset) records; what was not "
                + "read before is lost. Use more partitions, fewer events, or a real Kafka."
        }
    }

    private static func printNotice(_ notice: Notice) { FallbackOutput.print(Self.text(of: notice)) }
}
