/// A record without headers, written with the time of its batch. Its bytes are in a buffer that many records share.
public struct PlainRecord: Sendable {
    /// The number of a partition, or -1 as in `KafkaProducer.produce`.
    public var partition: Int32
    /// Range of the key in the buffer; `nil` is a null key.
    public var key: Range<Int>?
    /// Range of the value in the buffer; `nil` is a tombstone.
    public var value: Range<Int>?
    /// A number that is returned with the delivery.
    public var opaque: UInt64

    @inlinable public init(partition: Int32, key: Range<Int>?, value: Range<Int>?, opaque: UInt64) {
        self.partition = partition
        self.key = key
        self.value = value
        self.opaque = opaque
    }
}

/// The result of producing a batch of records.
public struct BatchResult: Sendable {
    /// Number of records, from the first on, that are dealt with: queued, or among the failures. When it is less than
    /// the number given, the queue is full: back-pressure.
    public var doneCount: Int
    /// Records that were not taken and never will be, by index (see `ProduceResult.failed`). Empty unless something is
    /// wrong.
    public var failures: [(index: Int, error: KafkaError)]
}
