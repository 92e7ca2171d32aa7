/// A record the engine wants written to Kafka. Bytes lie in `RecordBatch.bytes`.
public struct EngineRecord: Sendable {
    public enum Topic: UInt8, Sendable {
        case state, outcomes, deadLetters, routed

        /// Whether the records of a partition must lie there in the order in which they were made.
        public var isOrdered: Bool { self == .state || self == .routed }
    }
    public var topic: Topic
    /// Explicit for `state` and `routed`; -1 leaves it to the partitioner.
    public var partition: Int32
    public var key: Range<Int>
    public var hasKey: Bool
    /// Empty and `isTombstone`: a null value.
    public var value: Range<Int>
    public var isTombstone: Bool
    /// Index range into `RecordBatch.headers`.
    public var headers: Range<Int>
    /// The record's time, milliseconds since 1970; 0: now.
    public var timestampMillis: Int64
    /// Given back with `ShardEngine.acknowledged`.
    public var acknowledgement: UInt64

    /// Whether the record of the one acknowledgement was made before that of the other. Holds while fewer than 2^31 are made between the two:
    /// hours, at the pace of a whole processor.
    public static func isMade(_ acknowledgement: UInt64, before other: UInt64) -> Bool {
        // The upper half counts the records and may wrap around.
        Int32(bitPattern: UInt32(acknowledgement >> 32) &- UInt32(other >> 32)) < 0
    }
}

/// What the engine wants written, in order, since the loop last took it. The loop hands each to the producer and calls `removeAll`.
public struct RecordBatch: Sendable {
    public struct Header: Sendable {
        public var name: Range<Int>
        public var value: Range<Int>
    }
    public var bytes: [UInt8] = []
    public var records: [EngineRecord] = []
    public var headers: [Header] = []
    /// Something waits for one of these to be written (a forwarded event, a start to be announced, a partition to be
    /// claimed): they should go out now, even while writing together would be cheaper.
    public var isUrgent = false

    public init() {}

    @inlinable public var isEmpty: Bool { self.records.isEmpty }

    public mutating func removeAll() {
        self.bytes.removeAll(keepingCapacity: true)
        self.records.removeAll(keepingCapacity: true)
        self.headers.removeAll(keepingCapacity: true)
        self.isUrgent = false
    }
}

/// An offset that may be committed: the next one to read.
public struct CommitPosition: Hashable, Sendable {
    /// Index into `EngineConfiguration.inputTopics`.
    public var topic: UInt16
    public var partition: Int32
    public var nextOffset: Int64

    public init(topic: UInt16, partition: Int32, nextOffset: Int64) {
        self.topic = topic
        self.partition = partition
        self.nextOffset = nextOffset
    }
}
