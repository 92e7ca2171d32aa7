/// A copy of a record in Kafka, for tools and tests.
public struct OwnedRecord: Sendable, Hashable {
    /// One header of the record.
    public struct Header: Sendable, Hashable {
        /// The name as text; several headers may have the same name.
        public var name: String
        /// The value's bytes; `nil` for a null value.
        public var value: [UInt8]?

        public init(name: String, value: [UInt8]?) {
            self.name = name
            self.value = value
        }
    }

    /// The number of the record's partition, from 0.
    public var partition: Int32
    /// The record's offset in the partition's log.
    public var offset: Int64
    /// The record's time, milliseconds since 1970; -1: none.
    public var timestampMillis: Int64
    /// The key's bytes; `nil` for a null key.
    public var key: [UInt8]?
    /// The value's bytes; `nil` for a null value, a tombstone in a compacted topic.
    public var value: [UInt8]?
    /// The headers in the order in which they were written.
    public var headers: [Header]

    /// Creates a record that was not read from Kafka, for tests and tools.
    public init(
        partition: Int32, offset: Int64, timestampMillis: Int64, key: [UInt8]?, value: [UInt8]?, headers: [Header] = []
    ) {
        self.partition = partition
        self.offset = offset
        self.timestampMillis = timestampMillis
        self.key = key
        self.value = value
        self.headers = headers
    }

    /// Copies a record that is only valid inside a closure.
    public init(_ record: borrowing KafkaRecord) {
        self.partition = record.partition
        self.offset = record.offset
        self.timestampMillis = record.timestampMillis
        self.key = record.hasKey ? Array(copying: record.key) : nil
        self.value = record.hasValue ? Array(copying: record.value) : nil
        var headers: [Header] = []
        record.forEachHeader { name, value, hasValue in
            headers.append(
                Header(
                    name: String(decoding: Array(copying: name), as: UTF8.self),
                    value: hasValue ? Array(copying: value) : nil))
        }
        self.headers = headers
    }

    /// The key as text, for messages and tests; `nil` for a null key.
    public var keyText: String? { self.key.map { String(decoding: $0, as: UTF8.self) } }
    /// The value as text, for messages and tests; `nil` for a null value.
    public var valueText: String? { self.value.map { String(decoding: $0, as: UTF8.self) } }
}

extension Array<UInt8> {
    init(copying span: Span<UInt8>) { self = span.withUnsafeBufferPointer { Array($0) } }
}
