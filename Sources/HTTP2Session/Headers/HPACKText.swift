import CNGHTTP2

/// Writes numbers and strings as HPACK does (RFC 7541 §5).
enum HPACKText {
    /// Maximum length of a coded number, bytes. Sessions write sizes and indexes below 2^28.
    static let integerByteCountMax = 6

    /// Appends a coded number. The number begins in the lower `prefixBits` bits of a byte. `first` has the other bits
    /// of that byte.
    static func appendInteger(_ value: Int, prefixBits: Int, first: UInt8, to output: inout [UInt8]) {
        withUnsafeTemporaryAllocation(byteCount: Self.integerByteCountMax, alignment: 1) { buffer in
            let count = Self.writeInteger(value, prefixBits: prefixBits, first: first, to: buffer.baseAddress!)
            output.append(contentsOf: buffer[..<count])
        }
    }

    /// Writes a coded number to `memory`, and returns the number of bytes. For the parameters see `appendInteger`.
    @inline(__always)
    static func writeInteger(_ value: Int, prefixBits: Int, first: UInt8, to memory: UnsafeMutableRawPointer) -> Int {
        let prefixMax = (1 << prefixBits) - 1
        guard value >= prefixMax else {
            memory.storeBytes(of: first | UInt8(truncatingIfNeeded: value), as: UInt8.self)
            return 1
        }
        memory.storeBytes(of: first | UInt8(truncatingIfNeeded: prefixMax), as: UInt8.self)
        var rest = value - prefixMax
        var count = 1
        while rest >= 128 {
            memory.storeBytes(of: UInt8(truncatingIfNeeded: rest & 127) | 128, toByteOffset: count, as: UInt8.self)
            rest >>= 7
            count += 1
        }
        memory.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: count, as: UInt8.self)
        return count + 1
    }

    /// Encodes a text as an HPACK string literal, with Huffman coding if that is shorter. It is meant for texts that
    /// are sent many times.
    ///
    /// Values that change with each message are written without Huffman coding. Huffman coding of a push's path, id and
    /// authorization took 30 % of the push's instructions. It saved only a quarter of the bytes of path and id.
    static func literal(_ text: [UInt8]) -> [UInt8] {
        Self.huffmanLiteral(text) ?? Self.plainLiteral(text)
    }

    static func plainLiteral(_ text: [UInt8]) -> [UInt8] {
        var literal: [UInt8] = []
        Self.appendInteger(text.count, prefixBits: 7, first: 0, to: &literal)
        return literal + text
    }

    /// Encodes a text with Huffman coding. nghttp2's compressor writes the field `authorization: text`. The first two
    /// bytes, which name the field, are dropped.
    private static func huffmanLiteral(_ text: [UInt8]) -> [UInt8]? {
        var made: OpaquePointer?
        guard nghttp2_hd_deflate_new(&made, 4_096) == 0, let deflater = made else { return nil }
        defer { nghttp2_hd_deflate_del(deflater) }
        var name = Array("authorization".utf8)
        var text = text
        return name.withUnsafeMutableBufferPointer { name in
            text.withUnsafeMutableBufferPointer { text in
                var field = nghttp2_nv(
                    name: name.baseAddress, value: text.baseAddress, namelen: name.count, valuelen: text.count,
                    flags: UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue))
                let bound = nghttp2_hd_deflate_bound(deflater, &field, 1)
                let block = [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
                    count = max(0, nghttp2_hd_deflate_hd(deflater, buffer.baseAddress, bound, &field, 1))
                }
                // The first two bytes say: never indexed, name 23 of the static table (15 in the first byte, 8 in the
                // second).
                guard block.count > 2, block[0] == 0x1f, block[1] == 23 - 15 else { return nil }
                return Array(block[2...])
            }
        }
    }
}
