/// The values of a template's variable fields for one message, in the template's order. It is reused from message to
/// message and keeps its memory. The session copies the values, so they may be replaced when `submit` or `respond` has
/// returned. Use it from one thread at a time.
public struct HTTP2HeaderValues: Sendable {
    /// Initial size of `bytes`: about four times as much as a push needs.
    private static let byteCountFirst = 512

    /// Memory for the bytes of all values. The first `used` bytes are in use.
    private var bytes = [UInt8](repeating: 0, count: Self.byteCountFirst)
    private var used = 0
    /// Where each value ends in `bytes`.
    private var ends: [UInt32] = []

    /// A list without values.
    public init() { self.ends.reserveCapacity(8) }

    /// Number of complete values.
    public var count: Int { self.ends.count }

    /// Number of bytes of all values together.
    public var byteCount: Int { self.used }

    /// Removes all values; the memory is kept.
    public mutating func removeAll() {
        self.used = 0
        self.ends.removeAll(keepingCapacity: true)
    }

    /// Adds one whole value.
    public mutating func append(_ value: Span<UInt8>) {
        self.appendPart(value)
        self.endValue()
    }

    /// Adds one whole value.
    public mutating func append(_ value: [UInt8]) {
        self.appendPart(value.span)
        self.endValue()
    }

    /// Adds a number in decimal digits as one whole value.
    public mutating func append(decimal value: Int64) {
        self.appendPart(decimal: value)
        self.endValue()
    }

    /// Adds bytes to the value being built; `endValue` completes it.
    public mutating func appendPart(_ part: Span<UInt8>) {
        part.withUnsafeBufferPointer { self.appendPart($0) }
    }

    /// Adds bytes to the value being built; `endValue` completes it.
    public mutating func appendPart(_ part: StaticString) {
        self.appendPart(UnsafeBufferPointer(start: part.utf8Start, count: part.utf8CodeUnitCount))
    }

    private mutating func appendPart(_ part: UnsafeBufferPointer<UInt8>) {
        guard part.count > 0 else { return }
        self.write(part.count) { $0.copyMemory(from: part.baseAddress!, byteCount: part.count) }
    }

    /// Adds a number in decimal digits to the value being built.
    public mutating func appendPart(decimal value: Int64) {
        var rest = value.magnitude
        var digitCount = 1
        var bound: UInt64 = 10
        while digitCount < 20, rest >= bound {
            digitCount += 1
            bound = bound.multipliedReportingOverflow(by: 10).overflow ? .max : bound * 10
        }
        let signCount = value < 0 ? 1 : 0
        self.write(signCount + digitCount) { memory in
            if signCount > 0 { memory.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self) }
            for place in stride(from: signCount + digitCount - 1, through: signCount, by: -1) {
                memory.storeBytes(
                    of: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10), toByteOffset: place, as: UInt8.self)
                rest /= 10
            }
        }
    }

    /// Adds a UUID as one whole value, in canonical form and lower case. `uuid` has its two halves in big-endian order.
    public mutating func append(uuid: (UInt64, UInt64)) {
        self.write(36) { memory in
            let (a, b) = (
                Self.hex(UInt32(truncatingIfNeeded: uuid.0 >> 32)), Self.hex(UInt32(truncatingIfNeeded: uuid.0))
            )
            let (c, d) = (
                Self.hex(UInt32(truncatingIfNeeded: uuid.1 >> 32)), Self.hex(UInt32(truncatingIfNeeded: uuid.1))
            )
            memory.storeBytes(of: a.bigEndian, as: UInt64.self)
            memory.storeBytes(of: UInt32(truncatingIfNeeded: b >> 32).bigEndian, toByteOffset: 9, as: UInt32.self)
            memory.storeBytes(of: UInt32(truncatingIfNeeded: b).bigEndian, toByteOffset: 14, as: UInt32.self)
            memory.storeBytes(of: UInt32(truncatingIfNeeded: c >> 32).bigEndian, toByteOffset: 19, as: UInt32.self)
            memory.storeBytes(of: UInt32(truncatingIfNeeded: c).bigEndian, toByteOffset: 24, as: UInt32.self)
            memory.storeBytes(of: d.bigEndian, toByteOffset: 28, as: UInt64.self)
            memory.storeBytes(of: UInt8(ascii: "-"), toByteOffset: 8, as: UInt8.self)
            memory.storeBytes(of: UInt8(ascii: "-"), toByteOffset: 13, as: UInt8.self)
            memory.storeBytes(of: UInt8(ascii: "-"), toByteOffset: 18, as: UInt8.self)
            memory.storeBytes(of: UInt8(ascii: "-"), toByteOffset: 23, as: UInt8.self)
        }
        self.endValue()
    }

    /// Completes the value being built, which may be empty.
    public mutating func endValue() { self.ends.append(UInt32(truncatingIfNeeded: self.used)) }

    /// Makes room for `byteCount` bytes and lets `body` write them.
    @inline(__always)
    private mutating func write(_ byteCount: Int, _ body: (UnsafeMutableRawPointer) -> Void) {
        let end = self.used + byteCount
        if end > self.bytes.count {
            self.bytes.append(contentsOf: repeatElement(0, count: max(end, 2 * self.bytes.count) - self.bytes.count))
        }
        self.bytes.withUnsafeMutableBytes { body($0.baseAddress! + self.used) }
        self.used = end
    }

    /// Returns the number as eight lower-case hex digits, the first in the highest byte. Each half byte is spread to a
    /// byte of its own; then all are changed to ASCII together.
    @inline(__always)
    private static func hex(_ number: UInt32) -> UInt64 {
        var digits = UInt64(number)
        digits = (digits << 16 | digits) & 0x0000_ffff_0000_ffff
        digits = (digits << 8 | digits) & 0x00ff_00ff_00ff_00ff
        digits = (digits << 4 | digits) & 0x0f0f_0f0f_0f0f_0f0f
        // `letters` has 1 in each byte that holds 10 to 15. The distance from "9" + 1 to "a" is 39.
        let letters = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return digits &+ 0x3030_3030_3030_3030 &+ letters &* 39
    }

    /// Passes the ends of the values, and their bytes, to `body`.
    @inline(__always)
    borrowing func withMemory(_ body: (_ ends: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) -> Void) {
        self.ends.withUnsafeBytes { ends in
            self.bytes.withUnsafeBytes { bytes in body(ends, UnsafeRawBufferPointer(rebasing: bytes[..<self.used])) }
        }
    }
}
