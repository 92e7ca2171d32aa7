/// Copies and compares runs of bytes between a borrowed span and an array.
enum Bytes {
    static func replace(_ target: inout [UInt8], _ source: Span<UInt8>, _ range: Range<Int>) {
        target.removeAll(keepingCapacity: true)
        // Safe: the pointer is used within the closure only, and `extracting` has checked the range.
        unsafe source.extracting(range).withUnsafeBufferPointer { unsafe target.append(contentsOf: $0) }
    }

    static func copy(_ source: Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
        var target: [UInt8] = []
        target.reserveCapacity(range.count)
        Self.replace(&target, source, range)
        return target
    }

    static func equal(_ bytes: [UInt8], _ source: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard bytes.count == range.count else { return false }
        for index in bytes.indices where bytes[index] != source[range.lowerBound + index] { return false }
        return true
    }
}
