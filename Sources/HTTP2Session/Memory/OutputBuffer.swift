/// Frames that were serialised and not taken yet. The buffer counts all bytes of the session, so that a stream can tell
/// whether its last byte has left.
struct OutputBuffer {
    /// Maximum capacity that is kept when the buffer is empty, bytes.
    static let capacityKeptMax = 1 << 20

    private var storage = GrowingBytes()
    private var start = 0
    /// Number of bytes appended since the session began.
    private(set) var appendedByteCount: UInt64 = 0

    var count: Int { self.storage.count - self.start }
    /// Number of bytes taken since the session began.
    var takenByteCount: UInt64 { self.appendedByteCount - UInt64(self.count) }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self.storage.bytes[self.start...]) }

    mutating func append(_ source: UnsafeRawPointer, _ byteCount: Int) {
        self.storage.append(source, byteCount)
        self.appendedByteCount += UInt64(byteCount)
    }

    /// Returns memory for `byteCount` bytes. The caller writes them there and then calls `commit`. The pointer is valid
    /// until the next call.
    mutating func reserve(_ byteCount: Int) -> UnsafeMutableRawPointer {
        self.storage.reserve(self.storage.count + byteCount)
        return self.storage.base! + self.storage.count
    }

    mutating func commit(_ byteCount: Int) {
        self.storage.commit(byteCount)
        self.appendedByteCount += UInt64(byteCount)
    }

    /// Removes the first `byteCount` bytes.
    mutating func discard(_ byteCount: Int) {
        self.start += byteCount
        guard self.start == self.storage.count else { return }
        self.start = 0
        self.storage.removeAll()
        if self.storage.capacity > Self.capacityKeptMax { self.storage.free() }
    }

    mutating func free() { self.storage.free() }
}
