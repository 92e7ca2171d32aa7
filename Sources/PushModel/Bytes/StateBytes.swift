/// Writes the basic parts of records in `state`, and of messages between workers in `routed`. Integers are LEB128;
/// signed ones are zigzag encoded first. A byte run is preceded by its number of bytes.
extension ByteCursor {
    /// Writes one byte.
    @inlinable public mutating func byte(_ value: UInt8) { self.append(value) }

    /// Writes an unsigned integer as LEB128.
    @inlinable public mutating func unsigned(_ value: UInt64) { self.append(leb128: value) }

    /// Writes a signed integer as zigzag, then LEB128.
    @inlinable public mutating func signed(_ value: Int64) {
        self.unsigned(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    /// Writes `nil` as one zero byte, and any value as a byte of one followed by the value.
    @inlinable public mutating func optional(_ value: Int64?) {
        guard let value else { return self.byte(0) }
        self.byte(1)
        self.signed(value)
    }

    /// Writes the number of bytes, then the bytes.
    @inlinable public mutating func run(_ span: Span<UInt8>) {
        self.unsigned(UInt64(span.count))
        self.append(span)
    }

    /// Writes what `body` writes, as a byte run: the number of bytes, then the bytes.
    public mutating func run(_ body: (inout ByteCursor) -> Void) {
        let begin = self.count
        body(&self)
        let end = self.count
        self.unsigned(UInt64(end - begin))
        self.moveLast(self.count - end, to: begin)
    }

    /// Appends eight bytes, the lowest first.
    @inlinable public mutating func word(_ value: UInt64) {
        // There is room for eight bytes.
        unsafe UnsafeMutableRawPointer(self.room(8)).storeBytes(of: value.littleEndian, as: UInt64.self)
    }
}

/// Reads what the functions above have written. It throws if a record is cut short or has an impossible count, and
/// never traps. Only `run` and `bytes` copy anything, because a restore reads millions of records.
public struct StateReader: ~Escapable {
    @usableFromInline let bytes: Span<UInt8>
    @usableFromInline var index = 0

    /// - Parameter bytes: read from their beginning, and borrowed while the reader exists.
    @_lifetime(copy bytes)
    @inlinable public init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    /// Whether all bytes have been read.
    @inlinable public var isAtEnd: Bool { self.index == self.bytes.count }

    /// Throws if the record has bytes after `what`.
    @inlinable public func checkEnd(behind what: StaticString) throws(StateError) {
        guard self.isAtEnd else { throw .bytes(behind: what) }
    }

    /// Reads one byte.
    @inlinable @inline(__always) public mutating func byte() throws(StateError) -> UInt8 {
        guard self.index < self.bytes.count else { throw .truncated }
        let byte = unsafe self.bytes[unchecked: self.index]
        self.index &+= 1
        return byte
    }

    /// Reads LEB128 of at most 64 bits.
    @inlinable @inline(__always) public mutating func unsigned() throws(StateError) -> UInt64 {
        // Most numbers of a record take one byte.
        guard self.index < self.bytes.count else { throw .truncated }
        let first = unsafe self.bytes[unchecked: self.index]
        guard first >= 0x80 else {
            self.index &+= 1
            return UInt64(first)
        }
        return try self.longUnsigned()
    }

    @usableFromInline mutating func longUnsigned() throws(StateError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        var index = self.index
        while index < self.bytes.count {
            let next = unsafe self.bytes[unchecked: index]
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

    /// Reads a signed integer: LEB128, then zigzag.
    @inlinable public mutating func signed() throws(StateError) -> Int64 {
        let value = try self.unsigned()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// Reads a count.
    /// - Parameters:
    ///   - max: a larger count is refused.
    ///   - what: the name of what is counted, for the refusal.
    @inlinable public mutating func count(atMost max: Int, _ what: StaticString) throws(StateError) -> Int {
        let count = try self.unsigned()
        guard count <= UInt64(max) else { throw .tooMany(count, what) }
        return Int(count)
    }

    /// Reads what `ByteCursor.word` has written.
    @inlinable public mutating func word() throws(StateError) -> UInt64 {
        guard self.bytes.count - self.index >= 8 else { throw .truncated }
        var word: UInt64 = 0
        for offset in 0..<8 {
            // There are eight more bytes.
            word |= UInt64(unsafe self.bytes[unchecked: self.index &+ offset]) &<< UInt64(8 &* offset)
        }
        self.index &+= 8
        return word
    }

    /// Reads what `ByteCursor.optional` has written.
    @inlinable public mutating func optional() throws(StateError) -> Int64? {
        switch try self.byte() {
        case 0: return nil
        case 1: return try self.signed()
        default: throw .malformed("an optional is neither absent nor present")
        }
    }

    /// Reads a byte run of at most `byteCountMax` bytes.
    @inlinable public mutating func run(byteCountMax: Int) throws(StateError) -> [UInt8] {
        self.bytes(try self.runRange(byteCountMax: byteCountMax))
    }

    /// A copy of the bytes in a range that `runRange` has returned.
    public func bytes(_ range: Range<Int>) -> [UInt8] {
        var copy: [UInt8] = []
        copy.append(copying: self.bytes.extracting(range))
        return copy
    }

    /// Reads a byte run, and returns its range in `bytes`.
    /// - Parameter byteCountMax: a longer run is refused.
    @inlinable public mutating func runRange(byteCountMax: Int) throws(StateError) -> Range<Int> {
        let count = try self.unsigned()
        guard count <= UInt64(byteCountMax) else { throw .malformed("a run of \(count) bytes is over \(byteCountMax)") }
        guard Int(count) <= self.bytes.count - self.index else { throw .truncated }
        defer { self.index += Int(count) }
        return self.index..<(self.index + Int(count))
    }
}

/// Why a record could not be read.
public enum StateError: Error, Equatable, Sendable {
    /// The record ends too early.
    case truncated
    /// No release writes such bytes. The text says what is wrong.
    case malformed(String)
    /// The record was written in a format that this release does not know.
    case unknownVersion(UInt8)
}

/// Errors made in functions of their own, so that the code for good records stays small.
extension StateError {
    @inline(never) @usableFromInline static func tooMany(_ count: UInt64, _ what: StaticString) -> StateError {
        .malformed("\(count) \(what)")
    }
    @inline(never) @usableFromInline static func bytes(behind what: StaticString) -> StateError {
        .malformed("bytes behind \(what)")
    }
}
