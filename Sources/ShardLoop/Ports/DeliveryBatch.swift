public import PushEngine

/// Kafka's answers to records that were written, gathered for one turn. It is reused: its arrays keep their capacity.
public struct DeliveryBatch: Sendable {
    @usableFromInline struct Delivery: Sendable {
        @usableFromInline var topic: EngineRecord.Topic
        @usableFromInline var isFailure: Bool
        @usableFromInline var partition: Int32
        @usableFromInline var offset: Int64
        /// Index into `keys`, or into `failures` for a failure.
        @usableFromInline var start: Int32
        @usableFromInline var byteCount: Int32

        @inlinable init(
            topic: EngineRecord.Topic, isFailure: Bool, partition: Int32, offset: Int64, start: Int32, byteCount: Int32
        ) {
            self.topic = topic
            self.isFailure = isFailure
            self.partition = partition
            self.offset = offset
            self.start = start
            self.byteCount = byteCount
        }
    }

    /// Acknowledgements by delivery. They are in an array of their own, so that some can be passed to the engine in
    /// advance for prefetching.
    @usableFromInline private(set) var acknowledgements: [UInt64] = []
    @usableFromInline private(set) var deliveries: [Delivery] = []
    @usableFromInline private(set) var keys: [UInt8] = []
    /// The records that failed, each with the reason, in the order of the answers.
    public private(set) var failures: [(record: KeptRecord, failure: ProduceFailure)] = []

    /// Why the client that writes has ended; `nil` while it works.
    public var clientFailure: ProduceFailure? { didSet { self.hasClientFailure = self.clientFailure != nil } }
    /// Whether the client has ended. It is checked in each turn.
    private(set) var hasClientFailure = false

    /// An empty batch.
    public init() {}

    /// Number of records that Kafka has answered for, failures included.
    @inlinable public var count: Int { self.deliveries.count }
    /// Whether some records failed.
    @inlinable public var hasFailures: Bool { !self.failures.isEmpty }

    /// Adds a delivery: the record is at `offset`.
    @inlinable public mutating func append(
        _ acknowledgement: UInt64, topic: EngineRecord.Topic, partition: Int32, offset: Int64
    ) {
        self.acknowledgements.append(acknowledgement)
        self.deliveries.append(
            Delivery(
                topic: topic, isFailure: false, partition: partition, offset: offset, start: 0, byteCount: 0))
    }

    /// Adds a delivery with the record's key.
    public mutating func append(
        _ acknowledgement: UInt64, topic: EngineRecord.Topic, partition: Int32, offset: Int64, key: Span<UInt8>
    ) {
        self.append(acknowledgement, topic: topic, partition: partition, offset: offset)
        self.deliveries[self.deliveries.count - 1].start = Int32(self.keys.count)
        self.deliveries[self.deliveries.count - 1].byteCount = Int32(key.count)
        for index in key.indices { self.keys.append(key[index]) }
    }

    /// Adds a failure. The client has given up the record, but the record may be in the log.
    public mutating func append(_ record: KeptRecord, _ failure: ProduceFailure) {
        self.acknowledgements.append(record.acknowledgement)
        self.deliveries.append(
            Delivery(
                topic: record.topic, isFailure: true, partition: record.partition, offset: -1,
                start: Int32(self.failures.count), byteCount: 0))
        self.failures.append((record, failure))
    }

    mutating func removeAll() {
        self.acknowledgements.removeAll(keepingCapacity: true)
        self.deliveries.removeAll(keepingCapacity: true)
        self.keys.removeAll(keepingCapacity: true)
        self.failures.removeAll()
        if self.hasClientFailure { self.clientFailure = nil }
    }
}
