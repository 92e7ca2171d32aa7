/// At most one deadline per slot, earliest first: a binary heap that knows where each slot lies.
///
/// A heap with stale entries would grow with every rescheduling; here the entry itself moves, so memory is bounded by slots.
struct DeadlineQueue {
    struct Entry {
        var deadlineMillis: Int64
        var slot: Int32
    }
    private var entries: [Entry] = []
    /// By slot number; `-1`: not queued.
    private var positions: [Int32] = []

    var count: Int { self.entries.count }
    var earliestMillis: Int64? { self.entries.first?.deadlineMillis }

    func deadline(of slot: Int32) -> Int64? {
        guard Int(slot) < self.positions.count, self.positions[Int(slot)] >= 0 else { return nil }
        return self.entries[Int(self.positions[Int(slot)])].deadlineMillis
    }

    /// Sets or moves the slot's deadline.
    mutating func set(_ deadlineMillis: Int64, for slot: Int32) {
        while self.positions.count <= Int(slot) { self.positions.append(-1) }
        let position = Int(self.positions[Int(slot)])
        guard position >= 0 else {
            self.entries.append(Entry(deadlineMillis: deadlineMillis, slot: slot))
            self.positions[Int(slot)] = Int32(self.entries.count - 1)
            self.moveUp(self.entries.count - 1)
            return
        }
        let old = self.entries[position].deadlineMillis
        guard old != deadlineMillis else { return }
        self.entries[position].deadlineMillis = deadlineMillis
        if deadlineMillis < old { self.moveUp(position) } else { self.moveDown(position) }
    }

    mutating func remove(_ slot: Int32) {
        guard Int(slot) < self.positions.count, self.positions[Int(slot)] >= 0 else { return }
        let position = Int(self.positions[Int(slot)])
        self.positions[Int(slot)] = -1
        let last = self.entries.removeLast()
        guard position < self.entries.count else { return }
        self.entries[position] = last
        self.positions[Int(last.slot)] = Int32(position)
        self.moveUp(position)
        self.moveDown(Int(self.positions[Int(last.slot)]))
    }

    /// Takes the earliest slot that is due.
    mutating func popDue(nowMillis: Int64) -> Int32? {
        guard let first = self.entries.first, first.deadlineMillis <= nowMillis else { return nil }
        self.remove(first.slot)
        return first.slot
    }

    private mutating func moveUp(_ start: Int) {
        var position = start
        let entry = self.entries[position]
        while position > 0 {
            let parent = (position - 1) / 2
            guard entry.deadlineMillis < self.entries[parent].deadlineMillis else { break }
            self.entries[position] = self.entries[parent]
            self.positions[Int(self.entries[position].slot)] = Int32(position)
            position = parent
        }
        self.entries[position] = entry
        self.positions[Int(entry.slot)] = Int32(position)
    }

    private mutating func moveDown(_ start: Int) {
        var position = start
        let entry = self.entries[position]
        while true {
            var child = position * 2 + 1
            guard child < self.entries.count else { break }
            if child + 1 < self.entries.count,
                self.entries[child + 1].deadlineMillis < self.entries[child].deadlineMillis
            {
                child += 1
            }
            guard self.entries[child].deadlineMillis < entry.deadlineMillis else { break }
            self.entries[position] = self.entries[child]
            self.positions[Int(self.entries[position].slot)] = Int32(position)
            position = child
        }
        self.entries[position] = entry
        self.positions[Int(entry.slot)] = Int32(position)
    }
}
