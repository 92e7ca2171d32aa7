import CRDKafka
import Synchronization

/// A Kafka cluster inside this process (librdkafka's mock cluster), for tests and the demo. Everything is in memory and
/// lost when the cluster stops.
///
/// Any client on this machine can connect to `bootstrap`. The cluster keeps keys, values, headers, times, offsets and
/// commits like a broker, except:
/// - A partition holds at most 5 MiB or 100,000 batches. Above that it drops its oldest records; `onNotice` reports it.
/// - It has no compaction, no retention and no administration requests, and ignores static membership.
/// - A group's first assignment takes 3 s and later ones `session.timeout.ms` - 1 s.
/// - A new record does not end a fetch that waits, so clients should set `fetch.wait.max.ms` to 5–20.
/// - It does not check the sequence numbers of idempotent producers (see `producerSettings`).
///
/// All methods may be called from any thread.
public final class EmbeddedKafka: Sendable {
    /// A topic that the cluster creates at its start or later.
    public struct Topic: Sendable, Hashable {
        /// The topic's name: 1 to 249 letters, digits, `.`, `_` and `-`.
        public var name: String
        /// Number of partitions that the topic gets, 1...`partitionCountMax`. It cannot change later.
        public var partitionCount: Int
        public init(_ name: String, partitionCount: Int) {
            self.name = name
            self.partitionCount = partitionCount
        }
    }

    /// A warning about a partition that is nearly full, or that was full and has dropped records. Partitions are
    /// checked once a second.
    public enum Notice: Sendable, Hashable {
        /// The partition has reached about 80 % of its bytes or batches. Reported once per partition.
        case nearlyFull(PartitionFill)
        /// The partition has dropped its oldest records, whether or not anyone has read them. Reported at the first
        /// loss, then each time the number of lost records has doubled.
        case truncated(PartitionFill)
    }

    /// How many records and bytes one partition holds.
    public struct PartitionFill: Sendable, Hashable {
        /// The partition.
        public var topicPartition: TopicPartition
        /// The first offset still in the log. It equals the number of records that were dropped.
        public var lowOffset: Int64
        /// The offset that the next record will get.
        public var endOffset: Int64
        /// Estimated size in bytes of the records still in the log, from a sample of them.
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
    /// Maximum number of partitions of a topic.
    public static let partitionCountMax = 10_000

    /// Settings for producers in tests that make requests fail. After a batch has failed, a real broker refuses the
    /// next one, but the mock accepts it. The producer then believes that both are written. The first is lost, and its
    /// delivery is a success without an offset (`rd_kafka_dr_implicit_ack`). With one request at a time, no batch
    /// overtakes another.
    public static let producerSettings = KafkaSettings([.init("max.in.flight.requests.per.connection", "1")])

    /// Whether a cluster is librdkafka's mock cluster, of this process or of another.
    /// - Parameter clusterID: Kafka's own identifier of the cluster.
    public static func isEmbedded(clusterID: String) -> Bool { clusterID.hasPrefix("mockCluster") }

    /// `host:port,…` for clients on this machine.
    public let bootstrap: String
    private let cluster: MockCluster
    private let watcher: LogBoundWatcher

    /// Starts the brokers and creates the topics. Their numbers of partitions cannot change later. Returns when clients
    /// can connect.
    ///
    /// A topic that is not named here is created with 4 partitions by the first client that asks for it.
    /// - Parameter onNotice: called on a thread of the cluster, or on the caller's thread during `checkFill`; `nil`:
    ///   each notice becomes a line on standard error.
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

    /// Settings for a client of this cluster: the brokers, and a short `fetch.wait.max.ms`.
    public var settings: KafkaSettings { Self.settings(bootstrap: self.bootstrap) }

    private static func settings(bootstrap: String) -> KafkaSettings {
        KafkaSettings([.init("bootstrap.servers", bootstrap), .init("fetch.wait.max.ms", "10")])
    }

    /// Creates one more topic. Throws when the name exists or does not have 1 to 249 bytes, or the number of partitions
    /// is not 1 to `partitionCountMax`.
    public func createTopic(_ topic: Topic) throws(KafkaError) {
        try self.cluster.createTopic(topic)
        self.watcher.add(topic)
    }

    /// Makes a broker drop its connections and refuse new ones until `setUp`; `nil`: every broker.
    public func setDown(broker: Int32? = nil) {
        self.cluster.forEachBroker(broker) { rd_kafka_mock_broker_set_down($0, $1) }
    }

    /// Lets clients connect to a broker again after `setDown`; `nil`: to every broker.
    public func setUp(broker: Int32? = nil) {
        self.cluster.forEachBroker(broker) { rd_kafka_mock_broker_set_up($0, $1) }
    }

    /// Makes a broker the leader of a partition; `nil`: the partition has no leader. Without a leader it cannot be read
    /// or written, and its offsets are not known.
    public func setLeader(of partition: TopicPartition, broker: Int32?) {
        self.setLeader(of: [partition], broker: broker)
    }

    /// Makes a broker the leader of several partitions; `nil`: they have no leader. Blocks. Up to 64 partitions take no
    /// longer than one.
    public func setLeader(of partitions: [TopicPartition], broker: Int32?) {
        self.cluster.setLeader(of: partitions, broker: broker)
    }

    /// Delays every answer of a broker by this many milliseconds; 0 ends the delay. A `broker` of `nil` means every
    /// broker.
    public func setRoundTrip(millis: Int, broker: Int32? = nil) {
        self.cluster.forEachBroker(broker) { rd_kafka_mock_broker_set_rtt($0, $1, Int32(clamping: max(0, millis))) }
    }

    /// Makes the next `count` requests with that API key fail with `code`, after the failures that are already queued.
    /// API keys are Kafka's numbers: 0 Produce, 1 Fetch, 8 OffsetCommit and so on. `KafkaError.Code.transport` drops
    /// the connection instead of answering.
    /// - Parameter broker: the broker whose next requests fail; `clearFailures` does not remove these failures. `nil`:
    ///   the next requests to any broker fail.
    public func failRequests(apiKey: Int16, code: KafkaError.Code, count: Int, broker: Int32? = nil) {
        self.cluster.failRequests(
            apiKey: apiKey, code: code, count: min(count, Self.failureCountMax), broker: broker)
    }

    /// Maximum number of failures that one call of `failRequests` queues. A higher `count` is lowered to this.
    public static let failureCountMax = 10_000

    /// Removes the queued failures of that API key, except those that were queued for a single broker.
    public func clearFailures(apiKey: Int16) { self.cluster.clearFailures(apiKey: apiKey) }

    /// How full every partition was at the last check, which is made once a second.
    public var fill: [PartitionFill] { self.watcher.fill }

    /// Checks how full every partition is now. Blocks for a moment, or for some seconds while the cluster does not
    /// answer.
    @discardableResult
    public func checkFill() -> [PartitionFill] { self.watcher.check() }

    /// Ends the cluster and breaks the connections of clients, so close the clients first. May be called again.
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
