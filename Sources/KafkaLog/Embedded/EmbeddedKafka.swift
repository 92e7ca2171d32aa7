import CRDKafka
import Synchronization

/// A Kafka cluster inside this process (librdkafka's mock cluster), for tests and the demo. Everything is in memory and
/// gone with it.
///
/// Any client on this machine can connect to `bootstrap`. It keeps keys, values, headers, times, offsets and commits
/// like a broker, but: a partition holds at most 5 MiB or 100,000 batches and drops its oldest records past that
/// (watched, see `onNotice`); no compaction or retention; no administration requests; static membership is ignored; a
/// group's first assignment takes 3 s and later ones `session.timeout.ms` - 1 s; fetches that wait are not woken by a
/// produce, so clients want `fetch.wait.max.ms` 5–20; the sequence numbers of idempotent producers are not checked, see
/// `producerSettings`. All methods may be called from any thread.
public final class EmbeddedKafka: Sendable {
    /// A topic to be created at the start or later.
    public struct Topic: Sendable, Hashable {
        /// 1–249 bytes: letters, digits, `.`, `_` and `-`.
        public var name: String
        /// How many partitions it gets. 1...`partitionCountMax`; the count cannot change later.
        public var partitionCount: Int
        public init(_ name: String, partitionCount: Int) {
            self.name = name
            self.partitionCount = partitionCount
        }
    }

    /// What the watcher found.
    public enum Notice: Sendable, Hashable {
        /// By estimate the partition holds 80 % of what it can. Said once per partition.
        case nearlyFull(PartitionFill)
        /// The oldest records are gone: what nobody read before is lost. Said once per partition, then each time the
        /// loss has doubled.
        case truncated(PartitionFill)
    }

    /// How full one partition is.
    public struct PartitionFill: Sendable, Hashable {
        /// The partition it is about.
        public var topicPartition: TopicPartition
        /// Above 0: the records before it are gone.
        public var lowOffset: Int64
        /// The offset that the next record will get.
        public var endOffset: Int64
        /// Size of the records still held, bytes, estimated from a sample.
        public var estimatedByteCount: Int
    }

    /// The mock's bounds per partition, compiled into librdkafka (`rd_kafka_mock_partition_init`).
    public static let partitionByteCountMax = 5 * 1_024 * 1_024
    /// Most batches that a partition keeps: a batch is what a producer sends to a partition in one request.
    public static let partitionBatchCountMax = 100_000
    /// The default number of brokers is 1; the mock itself numbers them from 1.
    public static let brokerCountMax = 16
    /// The most partitions that a topic can have.
    public static let partitionCountMax = 10_000

    /// For producers where requests fail. A broker refuses what does not follow on what it has; this one takes a batch
    /// although the one before failed, and the producer believes that both are written: the first is lost, its delivery a
    /// success without an offset (`rd_kafka_dr_implicit_ack`). With one request on its way at a time none overtakes.
    public static let producerSettings = KafkaSettings([.init("max.in.flight.requests.per.connection", "1")])

    /// `host:port,…` for clients on this machine.
    public let bootstrap: String
    private let cluster: MockCluster
    private let watcher: LogBoundWatcher

    /// Starts brokers and creates the topics; partition counts cannot change later. Returns when clients can connect.
    ///
    /// A topic that is not named here is created by the first client that asks for it, with 4 partitions.
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

    /// Refuses connections and drops those that exist, until `setUp`. `nil`: every broker.
    public func setDown(broker: Int32? = nil) {
        self.cluster.forEachBroker(broker) { rd_kafka_mock_broker_set_down($0, $1) }
    }

    /// Lets clients connect again after `setDown`. `nil`: to every broker.
    public func setUp(broker: Int32? = nil) {
        self.cluster.forEachBroker(broker) { rd_kafka_mock_broker_set_up($0, $1) }
    }

    /// Lets a broker lead a partition; `nil`: nobody does, so that nothing can be asked about it, read from it or written to it.
    public func setLeader(of partition: TopicPartition, broker: Int32?) {
        self.setLeader(of: [partition], broker: broker)
    }

    /// Lets a broker lead several partitions, which takes no longer than one; `nil`: nobody does. Blocks.
    public func setLeader(of partitions: [TopicPartition], broker: Int32?) {
        self.cluster.setLeader(of: partitions, broker: broker)
    }

    /// Delays every answer by this many milliseconds (0: no more). `nil`: every broker.
    public func setRoundTrip(millis: Int, broker: Int32? = nil) {
        self.cluster.forEachBroker(broker) { rd_kafka_mock_broker_set_rtt($0, $1, Int32(clamping: max(0, millis))) }
    }

    /// Answers the next `count` requests of that API key (Kafka's number: 0 Produce, 1 Fetch, 8 OffsetCommit …) with
    /// `code`; `KafkaError.Code.transport` drops the connection instead. Takes effect in addition to what was asked
    /// before.
    /// - Parameter broker: only requests to this one, whose failures `clearFailures` does not forget; `nil`: to every broker.
    public func failRequests(apiKey: Int16, code: KafkaError.Code, count: Int, broker: Int32? = nil) {
        self.cluster.failRequests(
            apiKey: apiKey, code: code, count: min(count, Self.failureCountMax), broker: broker)
    }

    /// At most this many failures are queued by one call.
    public static let failureCountMax = 10_000

    /// Forgets the failures still queued for that API key, but for those of single brokers.
    public func clearFailures(apiKey: Int16) { self.cluster.clearFailures(apiKey: apiKey) }

    /// The fill of every partition when the watcher last looked (once a second).
    public var fill: [PartitionFill] { self.watcher.fill }

    /// Looks at every partition now. Blocks for a moment.
    @discardableResult
    public func checkFill() -> [PartitionFill] { self.watcher.check() }

    /// Ends the cluster; clients see their connections break. Idempotent. Close the clients first.
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
