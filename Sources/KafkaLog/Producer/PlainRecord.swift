/// A record without headers. Its time is the moment at which it is queued. Its bytes are in a buffer that many records
/// share.
public struct PlainRecord: Sendable {
    /// The number of a partition; -1: the producer's partitioner chooses it.
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
    /// Number of records, counted from the first, that were queued or are among the failures. If it is less than the
    /// number of all records, the queue is full.
    public var doneCount: Int
    /// The records that were not queued because trying again does not help, by index (see `ProduceResult.failed`).
    public var failures: [(index: Int, error: KafkaError)]
}
