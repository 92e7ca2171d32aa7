/// The primitive parts of a record in `state`, and of one in `routed` that is no event. Integers are LEB128, signed ones zigzag first; byte
/// runs carry their count. A number takes at most `ByteCursor.leb128ByteCountMax` bytes.
extension ByteCursor {
    /// One byte.
    @inlinable public mutating func byte(_ value: UInt8) { self.append(value) }

    /// LEB128.
    @inlinable public mutating func unsigned(_ value: UInt64) { self.append(leb128: value) }

    /// Zigzag, then LEB128.
    @inlinable public mutating func signed(_ value: Int64) {
        self.unsigned(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    /// `nil` is one zero byte; a value has a one before it.
    @inlinable public mutating func optional(_ value: Int64?) {
        guard let value else { return self.byte(0) }
        self.byte(1)
        self.signed(value)
    }

    /// A byte run behind its count.
    @inlinable public mutating func run(_ span: Span<UInt8>) {
        self.unsigned(UInt64(span.count))
        self.append(span)
    }
}

/// Reads what was written so. A record cut short or with an impossible count throws; nothing traps. Copies nothing: a restore reads millions
/// of records.
public struct StateReader: ~Escapable {
    @usableFromInline let bytes: Span<UInt8>
    @usableFromInline var index = 0

    /// - Parameter bytes: read from their beginning, and borrowed as long as the reader lives.
    @_lifetime(copy bytes)
    @inlinable public init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    /// Nothing follows.
    @inlinable public var isAtEnd: Bool { self.index == self.bytes.count }

    /// One byte.
    @inlinable @inline(__always) public mutating func byte() throws(StateError) -> UInt8 {
        guard self.index < self.bytes.count else { throw .truncated }
        let byte = unsafe self.bytes[unchecked: self.index]
        self.index &+= 1
        return byte
    }

    /// LEB128, at most 64 bits.
    @inlinable @inline(__always) public mutating func unsigned() throws(StateError) -> UInt64 {
        // Most numbers of a record are one byte.
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

    /// Zigzag, then LEB128.
    @inlinable public mutating func signed() throws(StateError) -> Int64 {
        let value = try self.unsigned()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// What `ByteCursor.optional` has written.
    @inlinable public mutating func optional() throws(StateError) -> Int64? {
        switch try self.byte() {
        case 0: return nil
        case 1: return try self.signed()
        default: throw .malformed("an optional is neither absent nor present")
        }
    }

    /// A byte run of at most `byteCountMax` bytes.
    @inlinable public mutating func run(byteCountMax: Int) throws(StateError) -> [UInt8] {
        self.bytes(try self.runRange(byteCountMax: byteCountMax))
    }

    /// A copy of what `runRange` has found.
    public func bytes(_ range: Range<Int>) -> [UInt8] {
        var copy: [UInt8] = []
        copy.append(copying: self.bytes.extracting(range))
        return copy
    }

    /// Where it lies in the bytes that are read.
    /// - Parameter byteCountMax: a longer one is refused.
    @inlinable public mutating func runRange(byteCountMax: Int) throws(StateError) -> Range<Int> {
        let count = try self.unsigned()
        guard count <= UInt64(byteCountMax) else { throw .malformed("a run of \(count) bytes is over \(byteCountMax)") }
        guard Int(count) <= self.bytes.count - self.index else { throw .truncated }
        defer { self.index += Int(count) }
        return self.index..<(self.index + Int(count))
    }
}

/// Why such a record could not be read.
public enum StateError: Error, Equatable, Sendable {
    /// It ends too early.
    case truncated
    /// No release writes this; what is wrong, in words.
    case malformed(String)
    /// Written by a release that this one does not know.
    case unknownVersion(UInt8)
}
