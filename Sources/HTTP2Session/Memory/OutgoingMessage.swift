/// What one stream sends: the values of its header fields, and its body. The next stream reuses the memory.
struct OutgoingMessage {
    /// First the end of each value (`UInt32`, counted from the start of the first value), then the values, then the
    /// body.
    private var storage = GrowingBytes()
    private(set) var valueCount = 0
    private(set) var valuesByteCount = 0
    /// Number of body bytes written so far.
    private(set) var sentByteCount = 0
    private(set) var bodyByteCount = 0

    private var valuesStart: Int { self.valueCount * MemoryLayout<UInt32>.stride }

    /// Copies the values and the body into the message's memory.
    mutating func fill(values: borrowing HTTP2HeaderValues, body: Span<UInt8>) {
        self.valueCount = values.count
        self.valuesByteCount = values.byteCount
        self.sentByteCount = 0
        self.bodyByteCount = body.count
        self.storage.removeAll()
        self.storage.reserve(self.valuesStart + values.byteCount + body.count)
        values.withMemory { ends, bytes in
            self.storage.append(ends)
            self.storage.append(bytes)
        }
        body.withUnsafeBytes { self.storage.append($0) }
    }

    /// The value at this index. It is valid until the message is filled again.
    @inline(__always)
    func value(_ number: Int) -> UnsafeRawBufferPointer {
        let base = UnsafeRawPointer(self.storage.base!)
        let ends = base.assumingMemoryBound(to: UInt32.self)
        let start = number == 0 ? 0 : Int(ends[number - 1])
        return UnsafeRawBufferPointer(start: base + self.valuesStart + start, count: Int(ends[number]) - start)
    }

    var bodyLeft: Int { self.bodyByteCount - self.sentByteCount }

    /// Returns the next `byteCount` bytes of the body, and counts them as sent.
    mutating func takeBody(_ byteCount: Int) -> UnsafeRawPointer? {
        defer { self.sentByteCount += byteCount }
        return self.storage.base.map {
            UnsafeRawPointer($0 + self.valuesStart + self.valuesByteCount + self.sentByteCount)
        }
    }

    mutating func free() { self.storage.free() }
}
