import CNGHTTP2

/// What one stream sends: the values of its header fields and its body, in memory of the stream that the next stream reuses.
struct OutgoingMessage {
    /// Values, then the body. Does not move while the stream is open: nghttp2 points into it.
    private var storage = GrowingBytes()
    private var valuesByteCount = 0
    /// Body bytes given to nghttp2 so far.
    private(set) var sentByteCount = 0
    private(set) var bodyByteCount = 0

    /// Copies values and body in.
    mutating func fill(values: borrowing HTTP2HeaderValues, body: Span<UInt8>) {
        self.storage.removeAll()
        self.storage.reserve(values.byteCount + body.count)
        values.bytes.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress { self.storage.append(base, bytes.count) }
        }
        body.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress { self.storage.append(base, bytes.count) }
        }
        self.valuesByteCount = values.byteCount
        self.sentByteCount = 0
        self.bodyByteCount = body.count
    }

    /// Points the variable fields of `fields`, a copy of the template's, at the values.
    func point(_ fields: UnsafeMutablePointer<nghttp2_nv>, template: HTTP2HeaderTemplate, ends: [Int]) {
        guard let base = self.storage.base?.assumingMemoryBound(to: UInt8.self) else { return }
        var start = 0
        for index in 0..<template.variableCount {
            let place = template.variablePlaces[index]
            fields[place].value = base + start
            fields[place].valuelen = ends[index] - start
            start = ends[index]
        }
    }

    var bodyLeft: Int { self.bodyByteCount - self.sentByteCount }

    /// The next `byteCount` bytes of the body.
    mutating func takeBody(_ byteCount: Int) -> UnsafeRawPointer? {
        defer { self.sentByteCount += byteCount }
        return self.storage.base.map { UnsafeRawPointer($0 + self.valuesByteCount + self.sentByteCount) }
    }

    mutating func free() { self.storage.free() }
}
