/// A record without headers, to be written with the time of its batch. Its bytes lie in a buffer that many share.
public struct PlainRecord: Sendable {
    /// Explicit, or -1: as in `KafkaProducer.produce`.
    public var partition: Int32
    /// Where the key lies in the buffer; `nil` is a null key.
    public var key: Range<Int>?
    /// Where the value lies; `nil` is a tombstone.
    public var value: Range<Int>?
    /// Comes back with the delivery.
    public var opaque: UInt64

    @inlinable public init(partition: Int32, key: Range<Int>?, value: Range<Int>?, opaque: UInt64) {
        self.partition = partition
        self.key = key
        self.value = value
        self.opaque = opaque
    }
}

/// What became of a batch of records.
public struct BatchResult: Sendable {
    /// How many of the first records are dealt with: queued, or among the failures. Fewer than were given: the queue is
    /// full, back-pressure.
    public var doneCount: Int
    /// Records that were not taken and never will be, by index (see `ProduceResult.failed`); empty but for faults.
    public var failures: [(index: Int, error: KafkaError)]
}
