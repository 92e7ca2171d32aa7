/// Records of input topics, copied out of Kafka's buffers, to be taken together by `ShardEngine.consume(_:now:)`.
///
/// A backlog touches activities all over the memory. Of a record alone the processor learns where to look only step by step, and waits at
/// each; of a few together it is told ahead. Confined to its engine's loop.
@safe public struct InputBatch: ~Copyable {
    /// More are not taken together.
    public static let recordCountMax = 32
    /// What keys, values and headers of several may have together.
    public static let byteCountMax = 49_152

    struct Element {
        var record: InputRecord
        /// The key begins here, then come the value and the traceparent.
        var start: Int32
        var keyByteCount: Int32
        var valueByteCount: Int32
        var traceparentByteCount: Int32
        /// Of the key; the engine's.
        var hash: UInt32
        /// Where the activity's slot probably lies; the engine's. None: not known.
        var slot: SlotID
    }

    private let elements: UnsafeMutablePointer<Element>
    private var memory: UnsafeMutablePointer<UInt8>
    private var capacity = Self.byteCountMax
    private(set) var count = 0
    private var byteCount = 0

    /// An empty batch; its memory is allocated once, here.
    public init() {
        unsafe self.elements = .allocate(capacity: Self.recordCountMax)
        unsafe self.memory = .allocate(capacity: Self.byteCountMax)
    }

    deinit {
        // Elements are trivial: nothing to end.
        unsafe self.elements.deallocate()
        unsafe self.memory.deallocate()
    }

    /// Whether it holds no record.
    public var isEmpty: Bool { self.count == 0 }

    /// Copies a record in. `false`: there is no room. Let the engine take the batch and try again: an empty one has room for any record.
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
        // The place lies within the capacity.
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
        // The caller has seen that there is room.
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

    /// Everything copied in. Valid until the batch changes.
    @unsafe var bytes: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: self.memory, count: self.byteCount)
    }

    mutating func removeAll() {
        self.count = 0
        self.byteCount = 0
        // A record larger than any event may be was in it.
        if self.capacity > Self.byteCountMax { self.allocate(Self.byteCountMax) }
    }

    /// While it is empty.
    private mutating func allocate(_ byteCount: Int) {
        unsafe self.memory.deallocate()
        unsafe self.memory = .allocate(capacity: byteCount)
        self.capacity = byteCount
    }
}
