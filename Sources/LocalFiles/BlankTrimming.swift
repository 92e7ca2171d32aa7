extension [UInt8] {
    /// The bytes without white space at both ends. A file that holds a single word usually ends with a line break.
    package var withoutBlanksAround: [UInt8] {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
        guard let first = self.firstIndex(where: { !isBlank($0) }), let last = self.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return Array(self[first...last])
    }
}
