/// Record headers being put together. One value, emptied and filled again for each record, allocates nothing once it has grown.
public struct KafkaHeaders: Sendable {
    /// Names (each with a closing NUL, for C) and values, one after the other.
    private(set) var bytes: [UInt8] = []
    private(set) var entries: [Entry] = []
    struct Entry {
        var nameStart: Int
        var valueStart: Int
        /// -1: a null value.
        var valueByteCount: Int
    }

    public init() {}

    public var isEmpty: Bool { self.entries.isEmpty }
    public var count: Int { self.entries.count }

    public mutating func removeAll() {
        self.bytes.removeAll(keepingCapacity: true)
        self.entries.removeAll(keepingCapacity: true)
    }

    /// Copies both. A NUL inside `name` ends the name.
    public mutating func append(name: Span<UInt8>, value: Span<UInt8>) {
        self.entries.append(Entry(nameStart: self.bytes.count, valueStart: self.bytes.count + name.count + 1, valueByteCount: value.count))
        self.append(name)
        self.bytes.append(0)
        self.append(value)
    }

    public mutating func append(_ name: String, _ value: String) {
        let (name, value) = (Array(name.utf8), Array(value.utf8))
        self.append(name: name.span, value: value.span)
    }

    private mutating func append(_ span: Span<UInt8>) {
        span.withUnsafeBufferPointer { self.bytes.append(contentsOf: $0) }
    }
}
