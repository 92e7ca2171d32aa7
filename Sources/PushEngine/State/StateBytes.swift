import PushModel

/// The primitive parts of a state record. Integers are LEB128, signed ones zigzag first; byte runs carry their count. A number takes at
/// most `ByteCursor.leb128ByteCountMax` bytes.
extension ByteCursor {
    mutating func byte(_ value: UInt8) { self.append(value) }

    mutating func unsigned(_ value: UInt64) { self.append(leb128: value) }

    mutating func signed(_ value: Int64) { self.unsigned(UInt64(bitPattern: (value << 1) ^ (value >> 63))) }

    /// `nil` is one zero byte; a value is shifted up by one.
    mutating func optional(_ value: Int64?) {
        guard let value else { return self.byte(0) }
        self.byte(1)
        self.signed(value)
    }

    mutating func run(_ span: Span<UInt8>) {
        self.unsigned(UInt64(span.count))
        self.append(span)
    }
}

/// Reads what was written so. A record cut short or with an impossible count throws; nothing traps.
struct StateReader {
    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { self.index == self.bytes.count }

    mutating func byte() throws(StateError) -> UInt8 {
        guard self.index < self.bytes.count else { throw .truncated }
        defer { self.index += 1 }
        return self.bytes[self.index]
    }

    mutating func unsigned() throws(StateError) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            let next = try self.byte()
            guard shift < 63 || next <= 1 else { throw .malformed("a number has more than 64 bits") }
            value |= UInt64(next & 0x7f) << shift
            if next < 0x80 { return value }
        }
        throw .malformed("a number has more than 64 bits")
    }

    mutating func signed() throws(StateError) -> Int64 {
        let value = try self.unsigned()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    mutating func optional() throws(StateError) -> Int64? {
        switch try self.byte() {
        case 0: return nil
        case 1: return try self.signed()
        default: throw .malformed("an optional is neither absent nor present")
        }
    }

    /// A byte run of at most `byteCountMax` bytes.
    mutating func run(byteCountMax: Int) throws(StateError) -> [UInt8] {
        let count = try self.unsigned()
        guard count <= UInt64(byteCountMax) else { throw .malformed("a run of \(count) bytes is over \(byteCountMax)") }
        guard Int(count) <= self.bytes.count - self.index else { throw .truncated }
        defer { self.index += Int(count) }
        return Array(self.bytes[self.index..<(self.index + Int(count))])
    }
}

/// Why a state record could not be read.
enum StateError: Error, Equatable {
    case truncated
    case malformed(String)
    /// Written by a release that this one does not know.
    case unknownVersion(UInt8)
}
