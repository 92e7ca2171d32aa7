public import PushEngine

/// A record of its own, out of the engine's batch or out of Kafka's hands: what is needed to write it again.
public struct KeptRecord: Sendable {
    /// Which of the worker's topics it is for.
    public var topic: EngineRecord.Topic
    /// The partition it is for; -1 leaves the choice to the producer's partitioner.
    public var partition: Int32
    /// `nil`: a null key.
    public var key: [UInt8]?
    /// `nil`: a tombstone.
    public var value: [UInt8]?
    /// Names and values, in order.
    public var headers: [(name: [UInt8], value: [UInt8])]
    /// Milliseconds since 1970; 0: now.
    public var timestampMillis: Int64
    /// Tells which of two was made first (`EngineRecord.isMade`).
    public var acknowledgement: UInt64

    /// Made of its parts, such as those of a delivery that failed.
    public init(
        topic: EngineRecord.Topic, partition: Int32, key: [UInt8]?, value: [UInt8]?,
        headers: [(name: [UInt8], value: [UInt8])] = [], timestampMillis: Int64 = 0, acknowledgement: UInt64
    ) {
        self.topic = topic
        self.partition = partition
        self.key = key
        self.value = value
        self.headers = headers
        self.timestampMillis = timestampMillis
        self.acknowledgement = acknowledgement
    }

    /// Copied out of the batch that it lies in.
    public init(_ record: EngineRecord, of batch: borrowing RecordBatch) {
        self.init(
            topic: record.topic, partition: record.partition, key: record.hasKey ? Array(batch.bytes[record.key]) : nil,
            value: record.isTombstone ? nil : Array(batch.bytes[record.value]),
            headers: batch.headers[record.headers].map { (Array(batch.bytes[$0.name]), Array(batch.bytes[$0.value])) },
            timestampMillis: record.timestampMillis, acknowledgement: record.acknowledgement)
    }
}
