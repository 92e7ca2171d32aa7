/// At most one deadline per slot, or per crowd, earliest first: a heap that knows the place of each slot.
///
/// A heap with stale entries would grow with every rescheduling. Here the entry itself moves, so memory is bounded by
/// slots. An entry moves at once when its deadline gets nearer. One that moves away (with each push it does, mostly by
/// an hour) waits until it is the first. It moves then, once for all its changes.
///
/// An entry has eight children rather than two. Each level that an entry moves by writes another slot's place somewhere
/// in memory. The eight children are stored side by side.
struct DeadlineQueue<ID: Identifier> {
    private struct Entry {
        /// The heap's key. It is never later than the slot's deadline, and equal to it in the first entry.
        var orderMillis: Int64
        var slot: ID
    }
    private struct Place {
        /// Index into `entries`; `-1`: not queued.
        var position: Int32 = -1
        var deadlineMillis: Int64 = 0
    }
    private static var childCount: Int { 8 }
    private var entries: [Entry] = []
    /// The place of each slot, by number.
    private var places = NumberedArray<ID, Place>()

    var count: Int { self.entries.count }
    var earliestMillis: Int64? { self.entries.first?.orderMillis }

    func deadline(of slot: ID) -> Int64? {
        guard slot.index < self.places.count, self.places[slot].position >= 0 else { return nil }
        return self.places[slot].deadlineMillis
    }

    /// Sets or moves the slot's deadline.
    mutating func set(_ deadlineMillis: Int64, for slot: ID) {
        while self.places.count <= slot.index { self.places.append(Place()) }
        self.places[slot].deadlineMillis = deadlineMillis
        let position = Int(self.places[slot].position)
        if position < 0 {
            self.entries.append(Entry(orderMillis: deadlineMillis, slot: slot))
            self.moveUp(self.entries.count - 1)
        } else if deadlineMillis < self.entries[position].orderMillis {
            self.entries[position].orderMillis = deadlineMillis
            self.moveUp(position)
        } else if position == 0 {
            self.settleFirst()
        }
    }

    mutating func remove(_ slot: ID) {
        guard slot.index < self.places.count, self.places[slot].position >= 0 else { return }
        let position = Int(self.places[slot].position)
        self.places[slot].position = -1
        let last = self.entries.removeLast()
        guard position < self.entries.count else { return }
        self.entries[position] = last
        self.moveUp(position)
        self.moveDown(Int(self.places[last.slot].position))
        if position == 0 { self.settleFirst() }
    }

    /// Moves entries whose deadlines have moved away, until the first entry is one whose deadline has not.
    private mutating func settleFirst() {
        while let first = self.entries.first {
            let deadlineMillis = self.places[first.slot].deadlineMillis
            guard deadlineMillis > first.orderMillis else { return }
            self.entries[0].orderMillis = deadlineMillis
            self.moveDown(0)
        }
    }

    /// Takes the earliest slot that is due.
    mutating func popDue(nowMillis: Int64) -> ID? {
        guard let first = self.entries.first, first.orderMillis <= nowMillis else { return nil }
        self.remove(first.slot)
        return first.slot
    }

    private mutating func moveUp(_ start: Int) {
        var position = start
        let entry = self.entries[position]
        while position > 0 {
            let parent = (position - 1) / Self.childCount
            guard entry.orderMillis < self.entries[parent].orderMillis else { break }
            self.entries[position] = self.entries[parent]
            self.places[self.entries[position].slot].position = Int32(position)
            position = parent
        }
        self.entries[position] = entry
        self.places[entry.slot].position = Int32(position)
    }

    private mutating func moveDown(_ start: Int) {
        var position = start
        let entry = self.entries[position]
        while true {
            let firstChild = position * Self.childCount + 1
            guard firstChild < self.entries.count else { break }
            var child = firstChild
            for other in firstChild + 1..<min(firstChild + Self.childCount, self.entries.count)
            where self.entries[other].orderMillis < self.entries[child].orderMillis {
                child = other
            }
            guard self.entries[child].orderMillis < entry.orderMillis else { break }
            self.entries[position] = self.entries[child]
            self.places[self.entries[position].slot].position = Int32(position)
            position = child
        }
        self.entries[position] = entry
        self.places[entry.slot].position = Int32(position)
    }
}
