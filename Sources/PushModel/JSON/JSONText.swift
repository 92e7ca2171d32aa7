extension Span where Element == UInt8 {
    /// The byte at `index`, which is not negative; 0 at the end and past it. JSON has no 0 outside strings.
    @inline(__always) func byte(orZeroAt index: Int) -> UInt8 {
        // The comparison keeps the index in bounds.
        index < self.count ? unsafe self[unchecked: index] : 0
    }

    /// The eight bytes from `index` on, the first of them lowest. The caller has checked that `index` is not negative
    /// and eight bytes are present.
    @inlinable @inline(__always) @unsafe public func word(uncheckedAt index: Int) -> UInt64 {
        unsafe UInt64(littleEndian: self.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self))
    }

    /// Whether the bytes from `index` on begin with `text`. `index` is not negative.
    ///
    /// It is always inlined: the compiler knows the bytes of a literal, so that a name costs one or two comparisons of
    /// whole words.
    @inline(__always) func spells(_ text: StaticString, at index: Int) -> Bool {
        let byteCount = text.utf8CodeUnitCount
        guard self.count &- index >= byteCount else { return false }
        // A literal lives as long as the program. Every word loaded ends at or before `byteCount` on both sides. If the
        // length is no multiple of a word's, the last word overlaps the one before it.
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

    /// Whether `range` holds exactly `text`.
    @inline(__always) func spells(_ text: StaticString, in range: ByteRange) -> Bool {
        Int(range.count) == text.utf8CodeUnitCount && self.spells(text, at: Int(range.start))
    }

    /// The index of the first byte at or after `index` in a string that is not plain: a quote, a backslash, a control
    /// character or beyond ASCII. `count` when there is none. `index` is not negative.
    @inline(__always) func endOfPlainRun(from index: Int) -> Int {
        var index = index
        while self.count &- index >= 8 {
            // Eight bytes are present.
            let stops = Self.stops(in: unsafe self.word(uncheckedAt: index))
            if stops != 0 { return index &+ stops.trailingZeroBitCount / 8 }
            index &+= 8
        }
        return self.endOfShortPlainRun(from: index)
    }

    /// The end of a run of plain characters, found byte by byte: for the last seven bytes of the record.
    @inline(never) private func endOfShortPlainRun(from index: Int) -> Int {
        for index in index..<Swift.max(index, self.count) {
            let byte = self[index]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 || byte >= 0x80 { return index }
        }
        return self.count
    }

    /// The top bits of the bytes that are not plain, exact for the lowest of them.
    ///
    /// Swapping 0x20 with 0x22 puts the quote right above the control characters, so that one subtraction finds both. A
    /// second finds the byte that was a backslash and is now zero. A subtraction borrows, and sets a top bit, where a
    /// byte is less than the number subtracted. Borrows spread only upwards, so the lowest bit is exact. Bytes that
    /// already had their top bit are stops, too.
    @inlinable @inline(__always) static func stops(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let low = (word ^ (ones &* 0x02)) &- (ones &* 0x21)
        let backslash = (word ^ (ones &* 0x5C)) &- ones
        return (low | backslash | word) & (ones &* 0x80)
    }

    /// The top bits of the bytes that are no decimal digits, exact for the lowest of them.
    ///
    /// Digits become 0...9. Adding 0x76 sets the top bit of 10 and more. A carry leaves a byte only if the byte already
    /// has its top bit.
    @inline(__always) static func stopsAmongDigits(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let values = word ^ (ones &* 0x30)
        return ((values &+ ones &* 0x76) | values) & (ones &* 0x80)
    }

    /// The index of the first byte at or after `index` that is no decimal digit; `count` when there is none. `index` is
    /// not negative.
    @inline(__always) func endOfDigits(from index: Int) -> Int {
        var index = index
        while self.count &- index >= 8 {
            // Eight bytes are present.
            let stops = Self.stopsAmongDigits(in: unsafe self.word(uncheckedAt: index))
            if stops != 0 { return index &+ stops.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while self.byte(orZeroAt: index) &- UInt8(ascii: "0") < 10 { index &+= 1 }
        return index
    }
}
