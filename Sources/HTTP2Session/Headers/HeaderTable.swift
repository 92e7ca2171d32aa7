/// A copy of the peer's dynamic table (RFC 7541 §2.3.2), as our header blocks have built it.
///
/// Entries are never evicted: what does not fit is not inserted, as the RFC allows. A dozen names and values that
/// seldom change need only a part of the 4,096 bytes.
struct HeaderTable {
    /// Maximum size of the table, bytes, even if the peer allows more.
    static let byteCountMax = 4_096
    /// Number of bytes that an entry takes in addition to its text (RFC 7541 §4.1).
    private static let entryOverhead = 32
    private static let firstIndex = 62

    private struct Entry {
        var name: [UInt8]
        var value: [UInt8]
    }

    /// The entries, oldest first.
    private var entries: [Entry] = []
    private var byteCount = 0
    private var limit = Self.byteCountMax
    /// Whether the next header block must begin with size updates.
    private(set) var updatePending = false
    /// A number that grows whenever the indexes of entries change.
    private(set) var generation: UInt64 = 1

    /// Uses the peer's SETTINGS_HEADER_TABLE_SIZE. If the limit changes, the table is emptied.
    mutating func peerAllows(_ byteCount: UInt32) {
        let limit = min(Int(byteCount), Self.byteCountMax)
        guard limit != self.limit else { return }
        self.limit = limit
        self.entries = []
        self.byteCount = 0
        self.updatePending = true
        self.generation += 1
    }

    /// Appends the pending size updates: first to 0, which empties the peer's table, then to the allowed size (RFC 7541
    /// §4.2).
    mutating func takeUpdates(into block: inout [UInt8]) {
        guard self.updatePending else { return }
        self.updatePending = false
        block.append(0x20)
        if self.limit > 0 { HPACKText.appendInteger(self.limit, prefixBits: 5, first: 0x20, to: &block) }
    }

    private func index(_ entry: Int) -> Int { Self.firstIndex + self.entries.count - 1 - entry }

    /// The index of the entry with this name and value.
    func index(name: [UInt8], value: UnsafeRawBufferPointer) -> Int? {
        self.entries.firstIndex { $0.name == name && $0.value.elementsEqual(value) }.map(self.index)
    }

    /// The index of an entry with this name.
    func index(name: [UInt8]) -> Int? { self.entries.firstIndex { $0.name == name }.map(self.index) }

    func hasRoom(name: [UInt8], valueByteCount: Int) -> Bool {
        self.byteCount + name.count + valueByteCount + Self.entryOverhead <= self.limit
    }

    /// Inserts an entry. The peer inserts it too when it reads the block that is being written.
    mutating func insert(name: [UInt8], value: UnsafeRawBufferPointer) {
        self.entries.append(Entry(name: name, value: Array(value)))
        self.byteCount += name.count + value.count + Self.entryOverhead
        self.generation += 1
    }
}
