extension Array where Element == UInt8 {
    /// Appends a copy of the bytes of `span`, as one block.
    @inlinable public mutating func append(copying span: Span<UInt8>) {
        guard !span.isEmpty else { return }
        unsafe span.withUnsafeBufferPointer { unsafe self.append(contentsOf: $0) }
    }

    /// Appends the UTF-8 bytes of a literal, as one block.
    @inlinable public mutating func append(utf8 text: StaticString) {
        // A literal exists until the program ends, and `utf8CodeUnitCount` is its length.
        unsafe self.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}

extension Span where Element == UInt8 {
    /// Whether this span and `other` hold the same bytes.
    @inlinable public func holdsSameBytes(as other: Span<UInt8>) -> Bool {
        guard self.count == other.count else { return false }
        var index = 0
        while self.count - index >= 8 {
            // Both spans have eight bytes at `index`.
            guard unsafe self.word(uncheckedAt: index) == other.word(uncheckedAt: index) else { return false }
            index &+= 8
        }
        if index > 0, index < self.count {
            // The last eight bytes overlap bytes that were compared already.
            let last = self.count &- 8
            return unsafe self.word(uncheckedAt: last) == other.word(uncheckedAt: last)
        }
        while index < self.count {
            guard self[index] == other[index] else { return false }
            index += 1
        }
        return true
    }
}
