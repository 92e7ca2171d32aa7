/// Writes pieces one after the other into memory that nothing else uses. For each of the thirty small pieces of a
/// record, it only compares two addresses. An array would also check thirty times whether its storage is shared.
///
/// `Array.append(using:_:)` makes a cursor. When a piece does not fit, the cursor moves what was written to memory of
/// its own, at least twice as large.
@safe public struct ByteCursor: ~Copyable {
    @usableFromInline var start: UnsafeMutablePointer<UInt8>
    @usableFromInline var next: UnsafeMutablePointer<UInt8>
    @usableFromInline var end: UnsafeMutablePointer<UInt8>
    /// Whether the memory is the cursor's own.
    @usableFromInline var isGrown = false

    @inlinable init(_ memory: UnsafeMutableBufferPointer<UInt8>) {
        // A buffer of at least one byte has an address.
        unsafe self.start = memory.baseAddress!
        unsafe self.next = self.start
        unsafe self.end = self.start + memory.count
    }
    @inlinable deinit {
        if self.isGrown { unsafe self.start.deallocate() }
    }

    /// Bytes written so far.
    @inlinable public var count: Int { unsafe self.next - self.start }

    /// The address for the next `byteCount` bytes. They are counted as written.
    @inlinable mutating func room(_ byteCount: Int) -> UnsafeMutablePointer<UInt8> {
        if unsafe byteCount > self.end - self.next { self.grow(byteCount) }
        let start = unsafe self.next
        unsafe self.next = start + byteCount
        return unsafe start
    }

    /// Makes room for `byteCount` more bytes.
    @inline(never) @usableFromInline mutating func grow(_ byteCount: Int) {
        let count = self.count
        let capacity = 2 * max(unsafe self.end - self.start, count + byteCount)
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        // `count` bytes have been written, and the new memory has room for them.
        unsafe memory.initialize(from: self.start, count: count)
        if self.isGrown { unsafe self.start.deallocate() }
        unsafe self.start = memory
        unsafe self.next = memory + count
        unsafe self.end = memory + capacity
        self.isGrown = true
    }

    /// Appends one byte.
    @inlinable public mutating func append(_ byte: UInt8) {
        unsafe self.room(1).initialize(to: byte)
    }

    /// Appends the UTF-8 bytes of a literal.
    @inlinable public mutating func append(_ text: StaticString) {
        // A literal exists until the program ends, and `utf8CodeUnitCount` is its length.
        unsafe self.room(text.utf8CodeUnitCount).initialize(from: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    /// Appends a copy of `bytes`.
    @inlinable public mutating func append(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let first = source.baseAddress else { return }
            unsafe self.room(source.count).initialize(from: first, count: source.count)
        }
    }

    /// Appends an integer in decimal.
    @inlinable public mutating func append(decimal value: Int64) {
        if value < 0 { self.append(UInt8(ascii: "-")) }
        self.append(decimal: value.magnitude)
    }

    /// Appends an integer in decimal: 1 to 20 digits.
    @inlinable public mutating func append(decimal value: UInt64) {
        if unsafe self.end - self.next < DecimalDigits.byteCountMax { self.grow(DecimalDigits.byteCountMax) }
        // There is room for the longest number. `write` returns how many bytes it wrote.
        unsafe self.next += DecimalDigits.write(value, to: UnsafeMutableRawPointer(self.next))
    }

    /// Appends sixteen lower-case hexadecimal digits.
    @inlinable public mutating func append(hex value: UInt64) {
        let start = unsafe self.room(16)
        // Each half is eight of the sixteen bytes reserved. The lowest byte of a word is its first digit.
        let high = Hex.digits(ofBigEndian: UInt32(truncatingIfNeeded: value >> 32))
        let low = Hex.digits(ofBigEndian: UInt32(truncatingIfNeeded: value))
        unsafe UnsafeMutableRawPointer(start).storeBytes(of: high.littleEndian, as: UInt64.self)
        unsafe UnsafeMutableRawPointer(start + 8).storeBytes(of: low.littleEndian, as: UInt64.self)
    }

    /// Appends a UUID from its two halves, in big-endian order, as RFC 9562 §4 writes it.
    @inlinable public mutating func append(uuid: (UInt64, UInt64)) {
        let start = unsafe UnsafeMutableRawPointer(self.room(36))
        let words = (
            Hex.digits(ofBigEndian: UInt32(truncatingIfNeeded: uuid.0 >> 32)),
            Hex.digits(ofBigEndian: UInt32(truncatingIfNeeded: uuid.0)),
            Hex.digits(ofBigEndian: UInt32(truncatingIfNeeded: uuid.1 >> 32)),
            Hex.digits(ofBigEndian: UInt32(truncatingIfNeeded: uuid.1))
        )
        let hyphen = UInt8(ascii: "-")
        // The form 8-4-4-4-12 fills exactly 36 bytes.
        unsafe start.storeBytes(of: words.0.littleEndian, as: UInt64.self)
        unsafe start.storeBytes(of: hyphen, toByteOffset: 8, as: UInt8.self)
        unsafe start.storeBytes(of: UInt32(truncatingIfNeeded: words.1).littleEndian, toByteOffset: 9, as: UInt32.self)
        unsafe start.storeBytes(of: hyphen, toByteOffset: 13, as: UInt8.self)
        unsafe start.storeBytes(
            of: UInt32(truncatingIfNeeded: words.1 >> 32).littleEndian, toByteOffset: 14, as: UInt32.self)
        unsafe start.storeBytes(of: hyphen, toByteOffset: 18, as: UInt8.self)
        unsafe start.storeBytes(of: UInt32(truncatingIfNeeded: words.2).littleEndian, toByteOffset: 19, as: UInt32.self)
        unsafe start.storeBytes(of: hyphen, toByteOffset: 23, as: UInt8.self)
        unsafe start.storeBytes(
            of: UInt32(truncatingIfNeeded: words.2 >> 32).littleEndian, toByteOffset: 24, as: UInt32.self)
        unsafe start.storeBytes(of: words.3.littleEndian, toByteOffset: 28, as: UInt64.self)
    }

    /// Appends an unsigned integer as LEB128: seven bits a byte, the lowest first.
    @inlinable public mutating func append(leb128 value: UInt64) {
        if unsafe self.end - self.next < Self.leb128ByteCountMax { self.grow(Self.leb128ByteCountMax) }
        // There is room for the longest number.
        var next = unsafe self.next
        var rest = value
        while rest >= 0x80 {
            unsafe next.initialize(to: UInt8(truncatingIfNeeded: rest) | 0x80)
            unsafe next += 1
            rest >>= 7
        }
        unsafe next.initialize(to: UInt8(truncatingIfNeeded: rest))
        unsafe self.next = next + 1
    }

    /// Maximum number of bytes of a LEB128 number: 64 bits, seven in each byte.
    @usableFromInline static var leb128ByteCountMax: Int { 10 }

    /// Appends a JSON string (RFC 8259 §7), quotes included. A byte that is not UTF-8 becomes U+FFFD.
    @inlinable public mutating func append(jsonString text: Span<UInt8>) {
        guard text.isPlainASCII else { return self.appendEscaped(text) }
        self.append(UInt8(ascii: "\""))
        self.append(text)
        self.append(UInt8(ascii: "\""))
    }

    @usableFromInline mutating func appendEscaped(_ text: Span<UInt8>) {
        self.append(UInt8(ascii: "\""))
        var (runStart, index) = (0, 0)
        while true {
            index = text.endOfPlainRun(from: index)
            guard index < text.count else { break }
            let byteCount = UTF8Validation.sequenceByteCount(in: text, at: index)
            if byteCount > 1 {
                index += byteCount
                continue
            }
            self.append(text.extracting(runStart..<index))
            if byteCount == 1 { self.appendEscape(text[index]) } else { self.append("\u{FFFD}") }
            index += 1
            runStart = index
        }
        self.append(text.extracting(runStart..<text.count))
        self.append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): self.append("\\\"")
        case UInt8(ascii: "\\"): self.append("\\\\")
        case 0x0A: self.append("\\n")
        case 0x0D: self.append("\\r")
        case 0x09: self.append("\\t")
        default:
            self.append("\\u00")
            self.append(Hex.digit(byte >> 4))
            self.append(Hex.digit(byte & 15))
        }
    }

    /// Moves the last `byteCount` bytes to `index`. The other bytes from `index` on make room for them.
    mutating func moveLast(_ byteCount: Int, to index: Int) {
        for _ in 0..<byteCount {
            let last = self.count - 1
            // Both indexes are within the bytes that have been written.
            let byte = unsafe self.start[last]
            unsafe (self.start + index + 1).update(from: self.start + index, count: last - index)
            unsafe self.start[index] = byte
        }
    }

    // MARK: On the stack

    /// Number of bytes that still fit.
    var roomCount: Int { unsafe self.end - self.next }

    /// Appends what was written to `target`, and starts again with empty memory.
    mutating func flush(to target: inout [UInt8]) {
        // `count` bytes have been written from the start on.
        unsafe target.append(contentsOf: UnsafeBufferPointer(start: self.start, count: self.count))
        unsafe self.next = self.start
    }

    /// Calls `body` with a cursor over memory on the stack. The size must be a constant of at most 1,024 bytes, because
    /// Swift would otherwise use the heap.
    @inline(__always) static func onStack(_ body: (inout ByteCursor) -> Void) {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.stackByteCount) { memory in
            var cursor = unsafe ByteCursor(memory)
            body(&cursor)
        }
    }

    @inline(__always) static var stackByteCount: Int { 1_024 }
}

extension Array where Element == UInt8 {
    /// Appends what `body` writes. It is written to `scratch` first, which the caller keeps for the next record.
    /// `scratch` grows to the size of the largest record. Its content has no meaning between two calls.
    @inlinable public mutating func append(using scratch: inout [UInt8], _ body: (inout ByteCursor) -> Void) {
        if scratch.isEmpty { scratch.append(contentsOf: repeatElement(0, count: 4_096)) }
        let byteCount = unsafe scratch.withUnsafeMutableBufferPointer { memory in
            var cursor = unsafe ByteCursor(memory)
            body(&cursor)
            // `count` bytes have been written from the start on.
            unsafe self.append(contentsOf: UnsafeBufferPointer(start: cursor.start, count: cursor.count))
            return cursor.count
        }
        if byteCount > scratch.count {
            scratch.append(contentsOf: repeatElement(0, count: 2 * byteCount - scratch.count))
        }
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes are all ASCII and none needs a JSON escape. Reads eight bytes at a time. If the count is not a
    /// multiple of eight, the last eight overlap bytes that were read already.
    @inlinable public var isPlainASCII: Bool {
        guard self.count >= 8 else {
            for index in 0..<self.count {
                let byte = self[index]
                guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else {
                    return false
                }
            }
            return true
        }
        // There are eight bytes at each index up to `last`.
        let last = self.count &- 8
        var stops = unsafe Self.stops(in: self.word(uncheckedAt: last))
        var index = 0
        while index < last {
            stops |= unsafe Self.stops(in: self.word(uncheckedAt: index))
            index &+= 8
        }
        return stops == 0
    }
}
