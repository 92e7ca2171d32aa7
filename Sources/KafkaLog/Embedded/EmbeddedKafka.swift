/// A Kafka cluster inside this process (librdkafka's mock cluster), for tests and the demo. Everything is in memory and gone with it.
///
/// Any client on this machine can connect to `bootstrap`. It keeps keys, values, headers, times, offsets and commits like a broker, but: a partition
/// holds at most 5 MiB or 100,000 batches and drops its oldest records past that (watched, see `onNotice`); no compaction or retention; no administration
/// requests; static membership is ignored; a group's first assignment takes 3 s and later ones `session.timeout.ms` - 1 s; fetches that
/// wait are not woken by a produce, so clients want `fetch.wait.max.ms` 5–20.
public final class EmbeddedKafka: Sendable {
    public struct Topic: Sendable, Hashable {
        public var name: String
        public var partitionCount: Int
        public init(_ name: String, partitionCount: Int) {
            self.name = name
            self.partitionCount = partitionCount
        }
    }

    /// What the watcher found.
    public enum Notice: Sendable, Hashable {
        /// By estimate the partition holds this much of what it can; said once per partition.
        case nearlyFull(TopicPartition, estimatedByteCount: Int, recordCount: Int)
        /// The oldest records are gone: what was not read yet is lost. Said once per partition and whenever it doubled.
        case truncated(TopicPartition, lowOffset: Int64)
    }

    /// Starts brokers and creates the topics (partition counts cannot change later).
    /// - Parameter onNotice: called on the watcher's thread; `nil`: notices go to standard error as lines.
    public init(
        topics: [Topic], brokerCount: Int = 1, onNotice: (@Sendable (Notice) -> Void)? = nil, log: KafkaLogHandler? = nil
    ) throws(KafkaError) { fatalError("not yet") }

    /// `host:port,…` for clients on this machine.
    public var bootstrap: String { fatalError("not yet") }

    /// Settings for a client of this cluster: brokers, and a fetch wait that suits the mock.
    public var settings: KafkaSettings { fatalError("not yet") }

    public func createTopic(_ topic: Topic) throws(KafkaError) { fatalError("not yet") }

    /// Refuses connections and drops those that exist, until `setUp`. `nil`: every broker.
    public func setDown(broker: Int32? = nil) { fatalError("not yet") }
    public func setUp(broker: Int32? = nil) { fatalError("not yet") }

    /// Delays every answer by this many milliseconds. `nil`: every broker.
    public func setRoundTrip(millis: Int, broker: Int32? = nil) { fatalError("not yet") }

    /// The next `count` requests of that API key (Kafka protocol number: 0 Produce, 1 Fetch, 8 OffsetCommit …) are answered with `code`;
    /// `KafkaError.Code.transport` drops the connection instead.
    public func failRequests(apiKey: Int16, code: KafkaError.Code, count: Int) { fatalError("not yet") }

    /// Fill of every partition as the watcher last saw it.
    public var fill: [PartitionFill] { fatalError("not yet") }
    public struct PartitionFill: Sendable, Hashable {
        public var topicPartition: TopicPartition
        public var lowOffset: Int64
        public var endOffset: Int64
        public var estimatedByteCount: Int
    }

    /// Ends the cluster; its clients see their connections break. Idempotent. Close the clients first.
    public func stop() { fatalError("not yet") }
}
