/// The values of a template's variable fields for one message, in the template's order. Reused from message to message: it keeps its
/// memory. The session copies what it needs, so it may be refilled right after the call. Use it from one thread at a time.
public struct HTTP2HeaderValues: Sendable {
    @usableFromInline var bytes: [UInt8] = []
    /// Where each value ends in `bytes`.
    @usableFromInline var ends: [UInt32] = []

    public init() {
        self.bytes.reserveCapacity(512)
        self.ends.reserveCapacity(8)
    }

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

    /// Adds one whole value: the lower-case canonical form of a UUID given as its two halves, big-endian.
    @inlinable public mutating func append(uuid: (UInt64, UInt64)) {
        self.appendPart(uuid: uuid)
        self.endValue()
    }

    /// Adds bytes to the value being built; `endValue` completes it.
    @inlinable public mutating func appendPart(_ part: Span<UInt8>) {
        part.withUnsafeBufferPointer { self.bytes.append(contentsOf: $0) }
    }

    /// Adds bytes to the value being built; `endValue` completes it.
    @inlinable public mutating func appendPart(_ part: StaticString) {
        self.bytes.append(contentsOf: UnsafeBufferPointer(start: part.utf8Start, count: part.utf8CodeUnitCount))
    }

    /// Adds a number in decimal digits to the value being built.
    public mutating func appendPart(decimal value: Int64) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var rest = value.magnitude
            var start = 20
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if value < 0 {
                start -= 1
                digits[start] = UInt8(ascii: "-")
            }
            self.bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start..<20]))
        }
    }

    /// Adds a UUID in lower-case canonical form to the value being built.
    public mutating func appendPart(uuid: (UInt64, UInt64)) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) { text in
            var place = 0
            for nibble in 0..<32 {
                if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 {
                    text[place] = UInt8(ascii: "-")
                    place += 1
                }
                let half = nibble < 16 ? uuid.0 : uuid.1
                let value = UInt8(truncatingIfNeeded: half >> UInt64(60 - 4 * (nibble & 15))) & 15
                text[place] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
                place += 1
            }
            self.bytes.append(contentsOf: UnsafeBufferPointer(text))
        }
    }

    /// Completes the value being built, which may be empty.
    @inlinable public mutating func endValue() { self.ends.append(UInt32(truncatingIfNeeded: self.bytes.count)) }
}
