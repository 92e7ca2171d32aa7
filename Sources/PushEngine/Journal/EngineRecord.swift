/// A record that the engine wants written to Kafka. Its bytes are in `RecordBatch.bytes`.
public struct EngineRecord: Sendable {
    /// Which of the worker's topics a record is for.
    public enum Topic: UInt8, Sendable, CaseIterable {
        /// The topics. Their names in the cluster are configured.
        case state, outcomes, deadLetters, routed

        /// Whether the records of a partition must be in Kafka in the order in which they were made.
        public var isOrdered: Bool { self == .state || self == .routed }

        /// The topic's name in settings, log lines and metrics.
        public var label: String {
            switch self {
            case .state: "state"
            case .outcomes: "outcomes"
            case .deadLetters: "dead-letters"
            case .routed: "routed"
            }
        }
    }
    /// Which of the worker's topics the record is for.
    public var topic: Topic
    /// The record's partition, given for `state` and `routed`; -1 leaves it to the partitioner.
    public var partition: Int32
    /// Range of the key in `RecordBatch.bytes`.
    public var key: Range<Int>
    /// Whether the record has a key; `false`: a null key.
    public var hasKey: Bool
    /// Range of the value in `RecordBatch.bytes`. With `isTombstone` it is empty, and means null.
    public var value: Range<Int>
    /// Whether the value is null, which removes the key from a compacted topic.
    public var isTombstone: Bool
    /// Range of the record's headers in `RecordBatch.headers`.
    public var headers: Range<Int>
    /// The record's time, milliseconds since 1970; 0: now.
    public var timestampMillis: Int64
    /// Number to give back with `ShardEngine.acknowledged`.
    public var acknowledgement: UInt64

    /// Whether one acknowledgement's record was made before the other's. The answer is right if fewer than 2^31 records
    /// are made between the two, which would take hours even at full speed.
    public static func isMade(_ acknowledgement: UInt64, before other: UInt64) -> Bool {
        // The upper half counts the records and may wrap around.
        Int32(bitPattern: UInt32(acknowledgement >> 32) &- UInt32(other >> 32)) < 0
    }
}

/// Records for Kafka that the engine has made, in order. The loop hands each record to the producer, and then empties
/// the batch (`removeAll`).
public struct RecordBatch: Sendable {
    /// One header of a record.
    public struct Header: Sendable {
        /// Range of the name in `RecordBatch.bytes`.
        public var name: Range<Int>
        /// Range of the value in `RecordBatch.bytes`.
        public var value: Range<Int>
    }
    /// Keys, values and headers of all records.
    public var bytes: [UInt8] = []
    /// The records, in the order in which they were made.
    public var records: [EngineRecord] = []
    /// The headers of all records; each record has a range of them.
    public var headers: [Header] = []
    /// Number of bytes of key, value and headers of the largest record. The field has four bytes, because a
    /// `RecordBatch` of more than 32 bytes would be borrowed through the heap.
    public var recordByteCountMax: UInt32 = 0
    /// Whether somebody waits for one of these records, such as a forwarded event, an announcement of a start or a
    /// marker. All records of the batch should be sent now, even if it would be cheaper to write them together with
    /// later ones.
    public var isUrgent = false

    /// Creates an empty batch.
    public init() {}

    /// Whether there is nothing to be written.
    @inlinable public var isEmpty: Bool { self.records.isEmpty }

    /// Forgets the records; the memory is kept.
    public mutating func removeAll() {
        self.bytes.removeAll(keepingCapacity: true)
        self.records.removeAll(keepingCapacity: true)
        self.headers.removeAll(keepingCapacity: true)
        self.recordByteCountMax = 0
        self.isUrgent = false
    }

    /// Bytes of the record's key, value and headers.
    public func byteCount(of record: EngineRecord) -> Int {
        var count = record.key.count + record.value.count
        for header in self.headers[record.headers] { count += header.name.count + header.value.count }
        return count
    }
}

/// An offset that may be committed: that of the next record to read.
public struct CommitPosition: Hashable, Sendable {
    /// Index into `EngineConfiguration.inputTopics`.
    public var topic: UInt16
    /// The number of the partition, from 0.
    public var partition: Int32
    /// The offset after the last record that is resolved.
    public var nextOffset: Int64

    public init(topic: UInt16, partition: Int32, nextOffset: Int64) {
        self.topic = topic
        self.partition = partition
        self.nextOffset = nextOffset
    }
}
