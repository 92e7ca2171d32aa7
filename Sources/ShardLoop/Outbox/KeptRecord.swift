public import PushEngine

/// A copy of a record with everything that is needed to write it again. It is made from the engine's batch or from a
/// failed delivery.
public struct KeptRecord: Sendable {
    /// The kind of topic that the record is for.
    public var topic: EngineRecord.Topic
    /// The record's partition; -1 leaves the choice to the producer's partitioner.
    public var partition: Int32
    /// The key; `nil` is a null key.
    public var key: [UInt8]?
    /// The value; `nil` is a tombstone.
    public var value: [UInt8]?
    /// Names and values, in order.
    public var headers: [(name: [UInt8], value: [UInt8])]
    /// Milliseconds since 1970; 0 means the time of writing.
    public var timestampMillis: Int64
    /// The record's acknowledgement. From two acknowledgements, `EngineRecord.isMade` tells which record was made
    /// first.
    public var acknowledgement: UInt64

    /// A record from its parts, such as those of a failed delivery.
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

    /// A copy of a record in a batch.
    public init(_ record: EngineRecord, of batch: borrowing RecordBatch) {
        self.init(
            topic: record.topic, partition: record.partition, key: record.hasKey ? Array(batch.bytes[record.key]) : nil,
            value: record.isTombstone ? nil : Array(batch.bytes[record.value]),
            headers: batch.headers[record.headers].map { (Array(batch.bytes[$0.name]), Array(batch.bytes[$0.value])) },
            timestampMillis: record.timestampMillis, acknowledgement: record.acknowledgement)
    }
}
