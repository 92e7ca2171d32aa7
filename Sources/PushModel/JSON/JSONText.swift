extension Span where Element == UInt8 {
    /// The byte at `index`, which must not be negative; 0 at the end and after it. JSON has no 0 outside strings.
    @inline(__always) func byte(orZeroAt index: Int) -> UInt8 {
        // The comparison keeps the index in bounds.
        index < self.count ? unsafe self[unchecked: index] : 0
    }

    /// The eight bytes from `index` on, as a word with the first byte lowest. The caller has checked that `index` is
    /// not negative, and that there are eight bytes.
    @inlinable @inline(__always) @unsafe public func word(uncheckedAt index: Int) -> UInt64 {
        unsafe UInt64(littleEndian: self.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self))
    }

    /// Whether the bytes from `index` on begin with `text`. `index` must not be negative.
    ///
    /// It is always inlined, because the compiler then knows the bytes of the literal. A name costs one or two
    /// comparisons of whole words.
    @inline(__always) func spells(_ text: StaticString, at index: Int) -> Bool {
        let byteCount = text.utf8CodeUnitCount
        guard self.count &- index >= byteCount else { return false }
        // A literal exists until the program ends. Every word that is loaded ends at or before `byteCount` on both
        // sides. If `byteCount` is not a multiple of a word's size, the last word overlaps the word before.
        let literal = unsafe UnsafeRawPointer(text.utf8Start)
        let bytes = unsafe self.bytes
        switch byteCount {
        case 8...:
            var offset = 0
            while offset < byteCount - 8 {
                let left = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index + offset, as: UInt64.self)
                if unsafe left != literal.loadUnaligned(fromByteOffset: offset, as: UInt64.self) { return false }
                offset += 8
            }
            let last = byteCount - 8
            let left = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index + last, as: UInt64.self)
            return unsafe left == literal.loadUnaligned(fromByteOffset: last, as: UInt64.self)
        case 4...:
            let last = byteCount - 4
            let left = unsafe (
                bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt32.self),
                bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index + last, as: UInt32.self)
            )
            return unsafe left.0 == literal.loadUnaligned(as: UInt32.self)
                && left.1 == literal.loadUnaligned(fromByteOffset: last, as: UInt32.self)
        case 2...:
            let last = byteCount - 2
            let left = unsafe (
                bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt16.self),
                bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index + last, as: UInt16.self)
            )
            return unsafe left.0 == literal.loadUnaligned(as: UInt16.self)
                && left.1 == literal.loadUnaligned(fromByteOffset: last, as: UInt16.self)
        case 1: return unsafe self[unchecked: index] == literal.load(as: UInt8.self)
        default: return true
        }
    }

    /// Whether the bytes in `range` are exactly `text`.
    @inline(__always) func spells(_ text: StaticString, in range: ByteRange) -> Bool {
        Int(range.count) == text.utf8CodeUnitCount && self.spells(text, at: Int(range.start))
    }

    /// The index of the first byte, at or after `index`, that is not plain: a quote, a backslash, a control character,
    /// or a byte beyond ASCII. The result is `count` if there is none. `index` must not be negative.
    @inline(__always) func endOfPlainRun(from index: Int) -> Int {
        var index = index
        while self.count &- index >= 8 {
            // There are eight more bytes.
            let stops = Self.stops(in: unsafe self.word(uncheckedAt: index))
            if stops != 0 { return index &+ stops.trailingZeroBitCount / 8 }
            index &+= 8
        }
        return self.endOfShortPlainRun(from: index)
    }

    /// The end of a run of plain characters, found byte by byte. It is used when fewer than eight bytes are left.
    @inline(never) private func endOfShortPlainRun(from index: Int) -> Int {
        for index in index..<Swift.max(index, self.count) {
            let byte = self[index]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 || byte >= 0x80 { return index }
        }
        return self.count
    }

    /// Sets the top bit of bytes that are not plain. Only the lowest of these bits is exact.
    ///
    /// The first XOR moves the quote to just above the control characters, so that one subtraction finds both. The
    /// second subtraction finds the backslash, which an XOR has made zero. A subtraction borrows, and sets a top bit,
    /// where a byte is less than the number subtracted. Borrows spread only to higher bytes, so the lowest bit is
    /// exact. Bytes that had their top bit before are stops, too.
    @inlinable @inline(__always) static func stops(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let low = (word ^ (ones &* 0x02)) &- (ones &* 0x21)
        let backslash = (word ^ (ones &* 0x5C)) &- ones
        return (low | backslash | word) & (ones &* 0x80)
    }

    /// Sets the top bit of bytes that are not decimal digits. Only the lowest of these bits is exact.
    ///
    /// Digits become 0...9. Adding 0x76 sets the top bit of values from 10 on. A byte carries into the next only if it
    /// had its top bit before, so it is a stop itself.
    @inline(__always) static func stopsAmongDigits(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let values = word ^ (ones &* 0x30)
        return ((values &+ ones &* 0x76) | values) & (ones &* 0x80)
    }

    /// The index of the first byte, at or after `index`, that is not a decimal digit; `count` if there is none. `index`
    /// must not be negative.
    @inline(__always) func endOfDigits(from index: Int) -> Int {
        var index = index
        while self.count &- index >= 8 {
            // There are eight more bytes.
            let stops = Self.stopsAmongDigits(in: unsafe self.word(uncheckedAt: index))
            if stops != 0 { return index &+ stops.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while self.byte(orZeroAt: index) &- UInt8(ascii: "0") < 10 { index &+= 1 }
        return index
    }
}
