/// Reads the parts of a record in their order. A record that is cut short or has an impossible number throws with the field's name; nothing
/// traps.
struct KeptReader {
    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var remainingCount: Int { self.bytes.count - self.index }

    mutating func byte(_ field: String) throws(KeptChannelFault) -> UInt8 {
        guard self.index < self.bytes.count else {
            throw .malformed(field: field, value: "missing", expected: "a byte at \(self.index)")
        }
        defer { self.index += 1 }
        return self.bytes[self.index]
    }

    /// LEB128.
    mutating func unsigned(_ field: String) throws(KeptChannelFault) -> UInt64 {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while true {
            let next = try self.byte(field)
            guard shift < 63 || (shift == 63 && next <= 1) else {
                throw .malformed(field: field, value: "a longer number", expected: "at most 64 bits")
            }
            value |= UInt64(next & 0x7f) << shift
            if next < 0x80 { return value }
            shift += 7
        }
    }

    /// Zigzag, then LEB128.
    mutating func signed(_ field: String) throws(KeptChannelFault) -> Int64 {
        let value = try self.unsigned(field)
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// A number of at most `max`.
    mutating func count(_ field: String, max: Int) throws(KeptChannelFault) -> Int {
        let value = try self.unsigned(field)
        guard value <= UInt64(max) else {
            throw .malformed(field: field, value: "\(value)", expected: "at most \(max)")
        }
        return Int(value)
    }

    /// Wall milliseconds, no further from 1970 than any time in `state`.
    mutating func millis(_ field: String) throws(KeptChannelFault) -> Int64 {
        let value = try self.signed(field)
        guard value.magnitude <= KeptChannelCodec.timeMillisMax.magnitude else {
            throw .malformed(
                field: field, value: "\(value)", expected: "at most \(KeptChannelCodec.timeMillisMax) from 1970")
        }
        return value
    }

    /// A run of bytes behind its count.
    mutating func run(_ field: String, max: Int) throws(KeptChannelFault) -> [UInt8] {
        let count = try self.count("\(field)'s length", max: max)
        guard count <= self.remainingCount else {
            throw .malformed(field: field, value: "\(self.remainingCount) bytes", expected: "\(count)")
        }
        defer { self.index += count }
        return Array(self.bytes[self.index..<self.index + count])
    }

    /// Eight bytes, the lowest first.
    mutating func word(_ field: String) throws(KeptChannelFault) -> UInt64 {
        var word: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 8) { word |= UInt64(try self.byte(field)) << shift }
        return word
    }
}
