/// Records of input topics, copied out of Kafka's buffers, to be taken together by `ShardEngine.consume(_:now:)`.
///
/// A backlog touches activities all over the memory. For a single record the processor learns only step by step where
/// to look, and waits at each step. For several records together, the addresses are prefetched. A batch is confined to
/// its engine's loop.
@safe public struct InputBatch: ~Copyable {
    /// Maximum number of records in a batch.
    public static let recordCountMax = 32
    /// Maximum number of bytes of keys, values and headers in a batch of several records.
    public static let byteCountMax = 49_152

    struct Element {
        var record: InputRecord
        /// Index of the key's first byte. The value and the traceparent follow the key.
        var start: Int32
        var keyByteCount: Int32
        var valueByteCount: Int32
        var traceparentByteCount: Int32
        /// Hash of the key, set by the engine.
        var hash: UInt32
        /// The slot that the activity probably has, set by the engine; `none`: not known.
        var slot: SlotID
    }

    private let elements: UnsafeMutablePointer<Element>
    private var memory: UnsafeMutablePointer<UInt8>
    private var capacity = Self.byteCountMax
    private(set) var count = 0
    private var byteCount = 0

    /// Creates an empty batch. Its memory is allocated here, for all records of normal size.
    public init() {
        unsafe self.elements = .allocate(capacity: Self.recordCountMax)
        unsafe self.memory = .allocate(capacity: Self.byteCountMax)
    }

    deinit {
        // The elements are trivial, so nothing has to be deinitialised.
        unsafe self.elements.deallocate()
        unsafe self.memory.deallocate()
    }

    /// Whether the batch holds no record.
    public var isEmpty: Bool { self.count == 0 }

    /// Copies a record in. `false`: there is no room. In this case let the engine take the batch, and try again: an
    /// empty batch has room for any record.
    /// - Parameters: see `ShardEngine.consume(_:key:value:traceparent:now:)`.
    public mutating func append(
        _ record: InputRecord, key: Span<UInt8>, value: Span<UInt8>, traceparent: Span<UInt8>
    ) -> Bool {
        let start = self.byteCount
        let byteCount = key.count + value.count + traceparent.count
        guard self.count < Self.recordCountMax else { return false }
        if byteCount > self.capacity - start {
            guard self.count == 0 else { return false }
            self.allocate(byteCount)
        }
        self.copy(key)
        self.copy(value)
        self.copy(traceparent)
        // The index is within the capacity.
        unsafe (self.elements + self.count).initialize(
            to: Element(
                record: record, start: Int32(truncatingIfNeeded: start),
                keyByteCount: Int32(truncatingIfNeeded: key.count),
                valueByteCount: Int32(truncatingIfNeeded: value.count),
                traceparentByteCount: Int32(truncatingIfNeeded: traceparent.count), hash: 0, slot: .none))
        self.count += 1
        return true
    }

    private mutating func copy(_ span: Span<UInt8>) {
        guard !span.isEmpty else { return }
        // The caller has checked that there is room.
        unsafe span.withUnsafeBufferPointer { bytes in
            unsafe (self.memory + self.byteCount).update(from: bytes.baseAddress!, count: bytes.count)
        }
        self.byteCount += span.count
    }

    subscript(_ index: Int) -> Element {
        unsafeAddress {
            precondition(index >= 0 && index < self.count, "no such record")
            return unsafe UnsafePointer(self.elements + index)
        }
        unsafeMutableAddress {
            precondition(index >= 0 && index < self.count, "no such record")
            return unsafe self.elements + index
        }
    }

    /// All bytes copied in. Valid until the batch changes.
    @unsafe var bytes: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: self.memory, count: self.byteCount)
    }

    mutating func removeAll() {
        self.count = 0
        self.byteCount = 0
        // The memory had grown for a single record that is larger than any event may be.
        if self.capacity > Self.byteCountMax { self.allocate(Self.byteCountMax) }
    }

    /// Allocates the memory for the bytes of records. The batch must be empty.
    private mutating func allocate(_ byteCount: Int) {
        unsafe self.memory.deallocate()
        unsafe self.memory = .allocate(capacity: byteCount)
        self.capacity = byteCount
    }
}
