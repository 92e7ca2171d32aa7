import CRDKafka

/// Collects the headers of a record. To avoid allocations, empty one value and fill it again for each record.
public struct KafkaHeaders: Sendable {
    /// The bytes of all names and values, one after the other.
    private(set) var bytes: [UInt8] = []
    private(set) var entries: [Entry] = []
    struct Entry {
        var nameStart: Int
        var nameByteCount: Int
        var valueStart: Int
        var valueByteCount: Int
    }

    /// An instance without headers.
    public init() {}

    /// Whether no header was added.
    public var isEmpty: Bool { self.entries.isEmpty }
    /// Number of headers that were added.
    public var count: Int { self.entries.count }

    /// Removes the headers; the memory is kept.
    public mutating func removeAll() {
        self.bytes.removeAll(keepingCapacity: true)
        self.entries.removeAll(keepingCapacity: true)
    }

    /// Adds a header, copying its name and value.
    public mutating func append(name: Span<UInt8>, value: Span<UInt8>) {
        let nameStart = self.bytes.count
        self.entries.append(
            Entry(
                nameStart: nameStart, nameByteCount: name.count, valueStart: nameStart + name.count,
                valueByteCount: value.count))
        self.append(name)
        self.append(value)
    }

    /// Adds a header, copying its name and value as UTF-8.
    public mutating func append(_ name: String, _ value: String) {
        let (name, value) = (Array(name.utf8), Array(value.utf8))
        self.append(name: name.span, value: value.span)
    }

    /// A copy in librdkafka's form; the caller owns it.
    func makeRDKafkaHeaders() -> OpaquePointer? {
        let headers = rd_kafka_headers_new(self.entries.count)
        self.bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            for entry in self.entries {
                rd_kafka_header_add(
                    headers, (base + entry.nameStart).assumingMemoryBound(to: CChar.self), entry.nameByteCount,
                    base + entry.valueStart,
                    entry.valueByteCount)
            }
        }
        return headers
    }

    private mutating func append(_ span: Span<UInt8>) {
        span.withUnsafeBufferPointer { self.bytes.append(contentsOf: $0) }
    }
}
