/// Writes pieces one behind the other into memory whose size was settled before: a record of thirty small pieces then asks for room
/// once, where an array would ask, and look for a shared copy, thirty times.
///
/// Made by `Array.append(atMost:using:_:)` alone. Writing past the end is a mistake of the caller's bound, and stops the process before the
/// write.
@safe public struct ByteCursor: ~Copyable {
    @usableFromInline let start: UnsafeMutablePointer<UInt8>
    @usableFromInline var next: UnsafeMutablePointer<UInt8>
    @usableFromInline let end: UnsafeMutablePointer<UInt8>

    @inlinable init(_ memory: UnsafeMutableBufferPointer<UInt8>) {
        // Memory of at least a byte has an address.
        unsafe self.start = memory.baseAddress!
        unsafe self.next = self.start
        unsafe self.end = self.start + memory.count
    }

    /// Bytes written so far.
    @inlinable public var count: Int { unsafe self.next - self.start }

    /// Where the next `byteCount` bytes go.
    @inlinable mutating func room(_ byteCount: Int) -> UnsafeMutablePointer<UInt8> {
        precondition(unsafe byteCount <= self.end - self.next, "more bytes than the caller made room for")
        let place = unsafe self.next
        unsafe self.next = place + byteCount
        return unsafe place
    }

    @inlinable public mutating func append(_ byte: UInt8) {
        unsafe self.room(1).initialize(to: byte)
    }

    /// The UTF-8 bytes of a literal.
    @inlinable public mutating func append(_ text: StaticString) {
        // A literal lives as long as the program, and `utf8CodeUnitCount` is its length.
        unsafe self.room(text.utf8CodeUnitCount).initialize(from: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    @inlinable public mutating func append(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let first = source.baseAddress else { return }
            unsafe self.room(source.count).initialize(from: first, count: source.count)
        }
    }

    /// An integer in decimal.
    @inlinable public mutating func append(decimal value: Int64) {
        if value < 0 { self.append(UInt8(ascii: "-")) }
        self.append(decimal: value.magnitude)
    }

    @inlinable public mutating func append(decimal value: UInt64) {
        var count = 1
        var bound: UInt64 = 10
        while value >= bound, count < 20 {
            count += 1
            bound = count == 20 ? .max : bound &* 10
        }
        let place = unsafe self.room(count)
        var index = count
        var rest = value
        repeat {
            index -= 1
            let quotient = rest / 10
            // At most `count` digits are written.
            unsafe place[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest &- quotient &* 10)
            rest = quotient
        } while index > 0
    }

    /// Sixteen lower-case hexadecimal digits.
    @inlinable public mutating func append(hex value: UInt64) {
        let place = unsafe self.room(16)
        // Both halves are eight bytes of the sixteen there is room for; digits are the bytes of a word, lowest first.
        let high = Hex.digits(ofBigEndian: UInt32(truncatingIfNeeded: value >> 32))
        let low = Hex.digits(ofBigEndian: UInt32(truncatingIfNeeded: value))
        unsafe UnsafeMutableRawPointer(place).storeBytes(of: high.littleEndian, as: UInt64.self)
        unsafe UnsafeMutableRawPointer(place + 8).storeBytes(of: low.littleEndian, as: UInt64.self)
    }

    /// A UUID from its two halves, big-endian order, as RFC 9562 §4 writes it.
    @inlinable public mutating func append(uuid: (UInt64, UInt64)) {
        let place = unsafe UnsafeMutableRawPointer(self.room(36))
        let words = (
            Hex.digits(ofBigEndian: UInt32(truncatingIfNeeded: uuid.0 >> 32)),
            Hex.digits(ofBigEndian: UInt32(truncatingIfNeeded: uuid.0)),
            Hex.digits(ofBigEndian: UInt32(truncatingIfNeeded: uuid.1 >> 32)),
            Hex.digits(ofBigEndian: UInt32(truncatingIfNeeded: uuid.1))
        )
        let hyphen = UInt8(ascii: "-")
        // 8-4-4-4-12: all of it within the 36 bytes.
        unsafe place.storeBytes(of: words.0.littleEndian, as: UInt64.self)
        unsafe place.storeBytes(of: hyphen, toByteOffset: 8, as: UInt8.self)
        unsafe place.storeBytes(of: UInt32(truncatingIfNeeded: words.1).littleEndian, toByteOffset: 9, as: UInt32.self)
        unsafe place.storeBytes(of: hyphen, toByteOffset: 13, as: UInt8.self)
        unsafe place.storeBytes(
            of: UInt32(truncatingIfNeeded: words.1 >> 32).littleEndian, toByteOffset: 14, as: UInt32.self)
        unsafe place.storeBytes(of: hyphen, toByteOffset: 18, as: UInt8.self)
        unsafe place.storeBytes(of: UInt32(truncatingIfNeeded: words.2).littleEndian, toByteOffset: 19, as: UInt32.self)
        unsafe place.storeBytes(of: hyphen, toByteOffset: 23, as: UInt8.self)
        unsafe place.storeBytes(
            of: UInt32(truncatingIfNeeded: words.2 >> 32).littleEndian, toByteOffset: 24, as: UInt32.self)
        unsafe place.storeBytes(of: words.3.littleEndian, toByteOffset: 28, as: UInt64.self)
    }

    /// An unsigned integer as LEB128: seven bits a byte, the lowest first. At most `leb128ByteCountMax` bytes.
    @inlinable public mutating func append(leb128 value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            self.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.append(UInt8(truncatingIfNeeded: rest))
    }

    public static var leb128ByteCountMax: Int { 10 }

    /// A JSON string (RFC 8259 §7), quotes included, of at most `jsonByteCountMax(of: text.count)` bytes. What is not UTF-8 becomes
    /// U+FFFD, one per byte.
    @inlinable public mutating func append(jsonString text: Span<UInt8>) {
        guard text.isPlainASCII else { return self.appendEscaped(text) }
        self.append(UInt8(ascii: "\""))
        self.append(text)
        self.append(UInt8(ascii: "\""))
    }

    /// Every byte may become six, as `\u001f` does.
    @inlinable public static func jsonByteCountMax(of byteCount: Int) -> Int { 6 * byteCount + 2 }

    @usableFromInline mutating func appendEscaped(_ text: Span<UInt8>) {
        var escaped: [UInt8] = []
        JSONBytes.appendString(text, to: &escaped)
        self.append(escaped.span)
    }
}

extension Array where Element == UInt8 {
    /// Appends what `body` writes: at most `byteCountMax` bytes. They are composed in `scratch`, which the caller keeps from record to
    /// record: it grows to the largest, and what it holds means nothing between two calls.
    @inlinable public mutating func append(
        atMost byteCountMax: Int, using scratch: inout [UInt8], _ body: (inout ByteCursor) -> Void
    ) {
        if scratch.count < byteCountMax {
            scratch.append(contentsOf: repeatElement(0, count: Swift.max(256, byteCountMax) - scratch.count))
        }
        unsafe scratch.withUnsafeMutableBufferPointer { memory in
            var cursor = unsafe ByteCursor(memory)
            body(&cursor)
            // So many bytes have been written, from the start on.
            unsafe self.append(contentsOf: UnsafeBufferPointer(start: cursor.start, count: cursor.count))
        }
    }
}

extension Span where Element == UInt8 {
    /// Nothing that JSON escapes and nothing beyond ASCII. Eight bytes at a time.
    @inlinable public var isPlainASCII: Bool {
        let each: UInt64 = 0x0101_0101_0101_0101
        var index = 0
        while self.count - index >= 8 {
            // Eight bytes are there.
            let word = unsafe self.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            let quotes = word ^ (each &* 0x22)
            let backslashes = word ^ (each &* 0x5c)
            // A byte below 32, or equal to one of the two, borrows into its top bit; a byte of 128 or more has it set already.
            let suspects =
                (word &- each &* 0x20) | (quotes &- each) | (backslashes &- each) | word
            guard suspects & (each &* 0x80) == 0 else { return self.isPlainASCII(from: index) }
            index += 8
        }
        return self.isPlainASCII(from: index)
    }

    @inlinable func isPlainASCII(from start: Int) -> Bool {
        for index in start..<self.count {
            let byte = self[index]
            guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else {
                return false
            }
        }
        return true
    }
}
