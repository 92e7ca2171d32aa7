import CRDKafka

/// One partition of one Kafka topic.
public struct TopicPartition: Hashable, Sendable, CustomStringConvertible {
    /// The topic's name.
    public var topic: String
    /// The number of the partition, from 0.
    public var partition: Int32

    public init(topic: String, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    public var description: String { "\(self.topic)[\(self.partition)]" }
}

/// An offset in a partition's log. In a commit it is the *next* offset to read, as always in Kafka.
public struct TopicPartitionOffset: Hashable, Sendable, CustomStringConvertible {
    /// The partition that the log belongs to.
    public var topicPartition: TopicPartition
    /// The offset, from 0.
    public var offset: Int64
    /// Metadata that Kafka keeps with a commit until the partition's next commit. It has fewer than 4,096 bytes; `nil`:
    /// none.
    public var metadata: String?

    public init(topic: String, partition: Int32, offset: Int64, metadata: String? = nil) {
        self.topicPartition = TopicPartition(topic: topic, partition: partition)
        self.offset = offset
        self.metadata = metadata
    }

    /// The topic's name.
    public var topic: String { self.topicPartition.topic }
    /// The number of the partition, from 0.
    public var partition: Int32 { self.topicPartition.partition }
    public var description: String { "\(self.topicPartition)@\(self.offset)" }
}

/// The offset at which reading of a partition begins.
public enum LogStart: Sendable, Hashable {
    /// The first record still in the log.
    case beginning
    /// The end of the log: only records that are produced from now on are read.
    case end
    /// This offset. When it is outside the log, the reader reports `PartitionFailure.offsetOutOfRange`; nothing is
    /// skipped silently.
    case offset(Int64)
    /// The offset that the consumer's group committed. Without a commit the reader reports
    /// `PartitionFailure.noCommittedOffset`.
    case committed

    /// The number that librdkafka expects for this start. librdkafka's logical offsets, such as "end", are negative.
    var rawOffset: Int64 {
        switch self {
        case .beginning: -2
        case .end: -1
        case .offset(let offset): offset
        case .committed: -1_000
        }
    }
}

/// What Kafka knows of one partition's log and of a group's progress in it.
public struct PartitionPositions: Sendable, Hashable {
    /// The partition that the log belongs to.
    public var topicPartition: TopicPartition
    /// The next offset that the group would read; `nil` when the group never committed here, or the query was made
    /// without a group.
    public var committed: Int64?
    /// The metadata of the commit; `nil`: none.
    public var committedMetadata: String?
    /// The first offset still in the log.
    public var lowOffset: Int64
    /// The offset the next record will get (log end, "high watermark").
    public var endOffset: Int64

    public init(
        topicPartition: TopicPartition, committed: Int64?, committedMetadata: String? = nil, lowOffset: Int64,
        endOffset: Int64
    ) {
        self.topicPartition = topicPartition
        self.committed = committed
        self.committedMetadata = committedMetadata
        self.lowOffset = lowOffset
        self.endOffset = endOffset
    }

    /// Whether `committed` is within the log (its end included). `true` without a commit.
    public var isCommittedInLog: Bool { self.committed.map { $0 >= self.lowOffset && $0 <= self.endOffset } ?? true }
}
