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
@safe struct StateReader {
    /// Holds the bytes, where the reader has to: it is never changed, so they stay where they are.
    private let owner: [UInt8]
    private let bytes: UnsafeBufferPointer<UInt8>
    private let count: Int
    private var index = 0

    init(_ bytes: [UInt8]) {
        self.owner = bytes
        unsafe self.bytes = self.owner.withUnsafeBufferPointer { unsafe $0 }
        self.count = bytes.count
    }

    /// Copies nothing: a restore reads millions of records. The bytes must stay where they are as long as the reader is used.
    @unsafe init(borrowing bytes: Span<UInt8>) {
        self.owner = []
        unsafe self.bytes = bytes.withUnsafeBufferPointer { unsafe $0 }
        self.count = bytes.count
    }

    var isAtEnd: Bool { self.index == self.count }

    @inline(__always) mutating func byte() throws(StateError) -> UInt8 {
        guard self.index < self.count else { throw .truncated }
        let byte = unsafe self.at(self.index)
        self.index &+= 1
        return byte
    }

    /// `index` is from 0 up and below `count`.
    @inline(__always) @unsafe private func at(_ index: Int) -> UInt8 {
        // There are bytes then, and so a first one.
        unsafe self.bytes.baseAddress.unsafelyUnwrapped[index]
    }

    @inline(__always) mutating func unsigned() throws(StateError) -> UInt64 {
        // Most numbers of a record are one byte.
        guard self.index < self.count else { throw .truncated }
        let first = unsafe self.at(self.index)
        guard first >= 0x80 else {
            self.index &+= 1
            return UInt64(first)
        }
        return try self.longUnsigned()
    }

    private mutating func longUnsigned() throws(StateError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        var index = self.index
        while index < self.count {
            let next = unsafe self.at(index)
            index &+= 1
            guard shift < 63 || next <= 1 else { throw .malformed("a number has more than 64 bits") }
            value |= UInt64(next & 0x7f) &<< shift
            if next < 0x80 {
                self.index = index
                return value
            }
            shift &+= 7
            guard shift < 70 else { throw .malformed("a number has more than 64 bits") }
        }
        throw .truncated
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
        self.bytes(try self.runRange(byteCountMax: byteCountMax))
    }

    /// A copy of what `runRange` has found.
    func bytes(_ range: Range<Int>) -> [UInt8] { unsafe Array(UnsafeBufferPointer(rebasing: self.bytes[range])) }

    /// Where it lies in the bytes that are read.
    mutating func runRange(byteCountMax: Int) throws(StateError) -> Range<Int> {
        let count = try self.unsigned()
        guard count <= UInt64(byteCountMax) else { throw .malformed("a run of \(count) bytes is over \(byteCountMax)") }
        guard Int(count) <= self.count - self.index else { throw .truncated }
        defer { self.index += Int(count) }
        return self.index..<(self.index + Int(count))
    }
}

/// Why a state record could not be read.
enum StateError: Error, Equatable {
    case truncated
    case malformed(String)
    /// Written by a release that this one does not know.
    case unknownVersion(UInt8)
}
