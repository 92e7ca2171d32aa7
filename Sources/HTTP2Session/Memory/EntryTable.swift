/// The requirements of an entry in an `EntryTable`.
protocol StreamEntry {
    /// An entry not in use. Its buffers may hold memory to be reused.
    static var unused: Self { get }
    var isInUse: Bool { get }
    /// Frees all memory.
    mutating func free()
}

/// The open streams of one session: entries by index, reused with their buffers. nghttp2 carries the index as the
/// stream's user data.
///
/// An entry may move when the table grows; its buffers do not.
struct EntryTable<Entry: StreamEntry> {
    private(set) var entries: UnsafeMutablePointer<Entry>?
    /// Number of entries that were ever used: those after them have no memory.
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

    /// Returns an entry that is no longer used. Its buffers stay.
    mutating func giveBack(_ index: Int) {
        self.inUseCount -= 1
        self.unused.append(Int32(truncatingIfNeeded: index))
    }

    /// The index of the first used entry that `matches`, searched among all.
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

/// An entry's index as nghttp2 carries it: one more, so that 0 is "none".
@inline(__always)
func streamUserData(_ index: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: index + 1)! }

@inline(__always)
func entryIndex(_ userData: UnsafeMutableRawPointer?) -> Int? { userData.map { Int(bitPattern: $0) - 1 } }
