import DequeModule
import PushModel

/// The slots of one lane that could be sent now: high before low priority, the oldest first within each. A slot of low
/// priority counts as if it had become ready `agingMillis` later. It therefore waits behind newer slots of high
/// priority for only that long.
///
/// An entry is a hint. The slot says whether it is in this queue, and by which entry (`Slot.queuedTicket`), so leaving
/// the queue costs nothing.
struct ReadyQueue {
    struct Entry {
        var slot: SlotID
        /// The entry's ticket. The entry is valid while the slot has the same ticket.
        var ticket: UInt32
        var readyMillis: Int64
    }
    private var high: Deque<Entry> = []
    private var low: Deque<Entry> = []

    /// Number of entries, valid or not.
    var entryCount: Int { self.high.count + self.low.count }

    mutating func append(_ entry: Entry, priority: PushPriority) {
        switch priority {
        case .high: self.high.append(entry)
        case .low, .lowest: self.low.append(entry)
        }
    }

    /// Takes the next valid entry. Invalid entries before it are dropped.
    mutating func popFirst(agingMillis: Int64, slots: borrowing SlotTable) -> Entry? {
        while let entry = self.high.first, !Self.stands(entry, slots) { self.high.removeFirst() }
        while let entry = self.low.first, !Self.stands(entry, slots) { self.low.removeFirst() }
        switch (self.high.first, self.low.first) {
        case (nil, nil): return nil
        case (.some, nil): return self.high.popFirst()
        case (nil, .some): return self.low.popFirst()
        case (.some(let first), .some(let second)):
            return second.readyMillis + agingMillis < first.readyMillis ? self.low.popFirst() : self.high.popFirst()
        }
    }

    /// Drops invalid entries when they outnumber the valid ones, so that the queue is bounded by the number of slots.
    mutating func compact(standing: Int, slots: borrowing SlotTable) {
        guard self.entryCount > 2 * standing + 64 else { return }
        self.high.removeAll { !Self.stands($0, slots) }
        self.low.removeAll { !Self.stands($0, slots) }
    }

    private static func stands(_ entry: Entry, _ slots: borrowing SlotTable) -> Bool {
        slots[entry.slot].queuedTicket == entry.ticket
    }
}
