/// At most one deadline per slot or crowd, earliest first. It is a heap that knows the position of each slot.
///
/// A heap with stale entries would grow with every rescheduling. Here the entry itself moves, so memory is bounded by
/// slots. An entry moves at once when its deadline gets nearer. If the deadline moves away, the entry stays until it is
/// the first, and moves then, once for all changes. Deadlines move away with each push, mostly by an hour.
///
/// An entry has eight children, stored side by side, so the heap has few levels. For each level that an entry moves by,
/// another slot's position is written somewhere in memory.
struct DeadlineQueue<ID: Identifier> {
    private struct Entry {
        /// The heap's key. It is never later than the slot's deadline, and equal to it in the first entry.
        var orderMillis: Int64
        var slot: ID
    }
    private struct Node {
        /// Index into `entries`; `-1`: not queued.
        var position: Int32 = -1
        var deadlineMillis: Int64 = 0
    }
    private static var childCount: Int { 8 }
    private var entries: [Entry] = []
    /// The node of each slot, by the slot's number.
    private var nodes = NumberedArray<ID, Node>()

    var count: Int { self.entries.count }
    var earliestMillis: Int64? { self.entries.first?.orderMillis }

    func deadline(of slot: ID) -> Int64? {
        guard slot.index < self.nodes.count, self.nodes[slot].position >= 0 else { return nil }
        return self.nodes[slot].deadlineMillis
    }

    /// Sets or moves the slot's deadline.
    mutating func set(_ deadlineMillis: Int64, for slot: ID) {
        while self.nodes.count <= slot.index { self.nodes.append(Node()) }
        self.nodes[slot].deadlineMillis = deadlineMillis
        let position = Int(self.nodes[slot].position)
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
        guard slot.index < self.nodes.count, self.nodes[slot].position >= 0 else { return }
        let position = Int(self.nodes[slot].position)
        self.nodes[slot].position = -1
        let last = self.entries.removeLast()
        guard position < self.entries.count else { return }
        self.entries[position] = last
        self.moveUp(position)
        self.moveDown(Int(self.nodes[last.slot].position))
        if position == 0 { self.settleFirst() }
    }

    /// Moves entries whose deadlines have moved away, until the first entry is at its deadline.
    private mutating func settleFirst() {
        while let first = self.entries.first {
            let deadlineMillis = self.nodes[first.slot].deadlineMillis
            guard deadlineMillis > first.orderMillis else { return }
            self.entries[0].orderMillis = deadlineMillis
            self.moveDown(0)
        }
    }

    /// Takes out the earliest slot that is due.
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
            self.nodes[self.entries[position].slot].position = Int32(position)
            position = parent
        }
        self.entries[position] = entry
        self.nodes[entry.slot].position = Int32(position)
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
            self.nodes[self.entries[position].slot].position = Int32(position)
            position = child
        }
        self.entries[position] = entry
        self.nodes[entry.slot].position = Int32(position)
    }
}
