/// The values of a template's variable fields for one message, in the template's order. Reused from message to message: it keeps its
/// memory. The session copies what it needs, so it may be refilled right after the call.
public struct HTTP2HeaderValues: Sendable {
    @usableFromInline var bytes: [UInt8] = []
    @usableFromInline var ends: [Int] = []

    @inlinable public init() {}

    /// How many values are complete.
    @inlinable public var count: Int { self.ends.count }

    /// Bytes of all values together.
    @inlinable public var byteCount: Int { self.bytes.count }

    /// Starts over; the memory is kept.
    @inlinable public mutating func removeAll() {
        self.bytes.removeAll(keepingCapacity: true)
        self.ends.removeAll(keepingCapacity: true)
    }

    /// Adds one whole value.
    @inlinable public mutating func append(_ value: Span<UInt8>) {
        self.appendPart(value)
        self.endValue()
    }

    /// Adds one whole value.
    @inlinable public mutating func append(_ value: [UInt8]) {
        self.bytes.append(contentsOf: value)
        self.endValue()
    }

    /// Adds one whole value: a number in decimal digits.
    @inlinable public mutating func append(decimal value: Int64) {
        self.appendPart(decimal: value)
        self.endValue()
    }

    /// Adds one whole value: the lower-case canonical form of a UUID given as its two halves in big-endian order.
    @inlinable public mutating func append(uuid: (UInt64, UInt64)) {
        self.appendPart(uuid: uuid)
        self.endValue()
    }

    /// Adds bytes to the value being built; `endValue` completes it.
    @inlinable public mutating func appendPart(_ part: Span<UInt8>) {
        for index in part.indices { self.bytes.append(part[index]) }
    }

    /// Adds bytes to the value being built; `endValue` completes it.
    @inlinable public mutating func appendPart(_ part: StaticString) {
        self.bytes.append(contentsOf: UnsafeBufferPointer(start: part.utf8Start, count: part.utf8CodeUnitCount))
    }

    @inlinable mutating func appendPart(decimal value: Int64) {
        self.bytes.append(contentsOf: String(value).utf8)
    }

    @inlinable mutating func appendPart(uuid: (UInt64, UInt64)) {
    }

    /// Completes the value being built, which may be empty.
    @inlinable public mutating func endValue() { self.ends.append(self.bytes.count) }
}
