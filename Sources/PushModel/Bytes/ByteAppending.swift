extension Array where Element == UInt8 {
    /// Appends a copy of the bytes of `span`, as one block.
    @inlinable public mutating func append(copying span: Span<UInt8>) {
        guard !span.isEmpty else { return }
        unsafe span.withUnsafeBufferPointer { unsafe self.append(contentsOf: $0) }
    }

    /// Appends the UTF-8 bytes of a literal, as one block.
    @inlinable public mutating func append(utf8 text: StaticString) {
        // A literal lives as long as the program, and `utf8CodeUnitCount` is its length.
        unsafe self.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}

extension Span where Element == UInt8 {
    /// Whether both hold the same bytes.
    @inlinable public func holdsSameBytes(as other: Span<UInt8>) -> Bool {
        guard self.count == other.count else { return false }
        for index in self.indices where self[index] != other[index] { return false }
        return true
    }
}
