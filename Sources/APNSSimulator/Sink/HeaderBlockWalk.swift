/// Steps over an HPACK header block (RFC 7541 §6) without decoding names, values or the dynamic table.
enum HeaderBlockWalk {
    /// Number of header fields in the block; `nil` if it is not HPACK.
    static func fieldCount(_ block: Span<UInt8>) -> Int? {
        var at = 0
        var count = 0
        while at < block.count {
            let byte = block[at]
            if byte & 0x80 != 0 {
                guard self.integer(block, &at, prefix: 7) != nil else { return nil }
                count += 1
            } else if byte & 0xE0 == 0x20 {
                // A change of the table's size is not a header field.
                guard self.integer(block, &at, prefix: 5) != nil else { return nil }
            } else {
                guard let name = self.integer(block, &at, prefix: byte & 0x40 != 0 ? 6 : 4),
                    name != 0 || self.string(block, &at),
                    self.string(block, &at)
                else { return nil }
                count += 1
            }
        }
        return count
    }

    private static func string(_ block: Span<UInt8>, _ at: inout Int) -> Bool {
        guard at < block.count, let count = self.integer(block, &at, prefix: 7), count <= block.count - at else {
            return false
        }
        at += count
        return true
    }

    /// Reads an integer whose prefix has this many bits (RFC 7541 §5.1); `nil` if it is cut off or has too many bytes.
    private static func integer(_ block: Span<UInt8>, _ at: inout Int, prefix: UInt8) -> Int? {
        let mask = UInt8(truncatingIfNeeded: (1 << Int(prefix)) - 1)
        let first = block[at] & mask
        at += 1
        guard first == mask else { return Int(first) }
        var value = Int(mask)
        for shift in [0, 7, 14, 21] {
            guard at < block.count else { return nil }
            let byte = block[at]
            at += 1
            value += Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }
}
