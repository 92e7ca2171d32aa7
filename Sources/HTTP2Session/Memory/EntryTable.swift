/// What a type needs to be an entry in an `EntryTable`.
protocol StreamEntry {
    /// An entry that is not in use.
    static var unused: Self { get }
    var isInUse: Bool { get }
    /// Frees all memory of the entry.
    mutating func free()
}

/// Entries that are found by index and reused with their buffers, such as the open streams of a session. nghttp2
/// carries a stream's index as its user data.
///
/// Entries move when the table grows. Their buffers do not move.
struct EntryTable<Entry: StreamEntry> {
    private(set) var entries: UnsafeMutablePointer<Entry>?
    /// Number of entries that were ever used. Later entries have no buffers.
    private(set) var count = 0
    private var capacity = 0
    private var unused: [Int32] = []
    private(set) var inUseCount = 0

    @inline(__always)
    subscript(index: Int) -> UnsafeMutablePointer<Entry> { self.entries! + index }

    /// Takes a free entry, which the caller must fill, and returns its index.
    mutating func take() -> Int {
        self.inUseCount += 1
        if let index = self.unused.popLast() { return Int(index) }
        if self.count == self.capacity { self.grow() }
        self.count += 1
        return self.count - 1
    }

    /// Returns an entry that is no longer used. It keeps its buffers.
    mutating func giveBack(_ index: Int) {
        self.inUseCount -= 1
        self.unused.append(Int32(truncatingIfNeeded: index))
    }

    /// The index of the first entry in use for which `matches` returns `true`. All entries are searched.
    func firstIndex(where matches: (Entry) -> Bool) -> Int? {
        (0..<self.count).first { self[$0].pointee.isInUse && matches(self[$0].pointee) }
    }

    private mutating func grow() {
        let capacity = max(16, self.capacity * 2)
        let entries = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
        if let old = self.entries {
            entries.moveInitialize(from: old, count: self.count)
            old.deallocate()
        }
        (entries + self.count).initialize(repeating: .unused, count: capacity - self.count)
        self.entries = entries
        self.capacity = capacity
        self.unused.reserveCapacity(capacity)
    }

    mutating func free() {
        for index in 0..<self.count { self[index].pointee.free() }
        self.entries?.deinitialize(count: self.capacity)
        self.entries?.deallocate()
        self.entries = nil
        self.count = 0
        self.capacity = 0
    }
}

/// The user data that nghttp2 stores for an entry: the entry's index plus one, so that 0 means no entry.
@inline(__always)
func streamUserData(_ index: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: index + 1)! }

@inline(__always)
func entryIndex(_ userData: UnsafeMutableRawPointer?) -> Int? { userData.map { Int(bitPattern: $0) - 1 } }
