extension [UInt8] {
    /// Without white space at both ends: a file that holds one word mostly ends with a line's end.
    package var withoutBlanksAround: [UInt8] {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
        guard let first = self.firstIndex(where: { !isBlank($0) }), let last = self.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return Array(self[first...last])
    }
}
