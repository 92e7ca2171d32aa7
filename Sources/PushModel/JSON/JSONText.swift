extension Span where Element == UInt8 {
    /// Whether the bytes from `index` on begin with `text`.
    @inlinable func spells(_ text: StaticString, at index: Int) -> Bool {
        let byteCount = text.utf8CodeUnitCount
        guard self.count - index >= byteCount else { return false }
        // A literal lives as long as the program. Every word loaded ends at or before `byteCount` on both sides; the last one of a long
        // name overlaps the one before it.
        let literal = unsafe UnsafeRawPointer(text.utf8Start)
        let bytes = unsafe self.bytes
        guard byteCount >= 8 else {
            for offset in 0..<byteCount
            where self[index + offset] != (unsafe literal.load(fromByteOffset: offset, as: UInt8.self)) {
                return false
            }
            return true
        }
        var offset = 0
        while true {
            let left = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: index + offset, as: UInt64.self)
            let right = unsafe literal.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if left != right { return false }
            if offset == byteCount - 8 { return true }
            offset = Swift.min(offset + 8, byteCount - 8)
        }
    }

    /// Whether `range` holds `text` and nothing else.
    @inlinable func spells(_ text: StaticString, in range: ByteRange) -> Bool {
        Int(range.count) == text.utf8CodeUnitCount && self.spells(text, at: Int(range.start))
    }

    /// The index, at or after `index`, of the first byte of a string's inside that is not plain: a quote, a backslash, a control character or
    /// a byte of more than ASCII. `count` when there is none.
    @inlinable func endOfPlainRun(from index: Int) -> Int {
        var index = index
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        while self.count - index >= 8 {
            // Eight bytes are there, and every bit pattern is a UInt64.
            let word = unsafe UInt64(
                littleEndian: self.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
            let quote = word ^ (ones &* 0x22)
            let backslash = word ^ (ones &* 0x5C)
            // A byte's top bit is set where `x - n` borrows, that is where x < n (n = 1: where x is zero). Borrows spread only upwards,
            // so the lowest bit set is exact; bytes with the top bit set themselves are wanted as well.
            let stops =
                ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) | word) & tops
            if stops != 0 { return index + stops.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < self.count {
            let byte = self[index]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 || byte >= 0x80 { return index }
            index += 1
        }
        return index
    }
}
