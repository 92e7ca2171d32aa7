/// Copies and compares runs of bytes between a borrowed span and an array.
enum Bytes {
    static func copy(_ source: Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
        // Safe: the pointer is used within the closure only, and `extracting` has checked the range.
        unsafe source.extracting(range).withUnsafeBufferPointer { unsafe Array($0) }
    }

    static func equal(_ bytes: [UInt8], _ source: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard bytes.count == range.count else { return false }
        // Safe: both pointers are used within the closures only, and both runs have `range.count` bytes.
        return unsafe source.extracting(range).withUnsafeBytes { left in
            unsafe bytes.withUnsafeBytes { right in
                var at = 0
                while at + 8 <= left.count {
                    guard
                        unsafe left.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                            == right.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                    else { return false }
                    at += 8
                }
                while at < left.count {
                    guard unsafe left[at] == right[at] else { return false }
                    at += 1
                }
                return true
            }
        }
    }
}
