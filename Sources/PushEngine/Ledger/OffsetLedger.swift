/// Which offsets of one shard's input logs are unresolved (contract §6).
///
/// It keeps groups, not events: an entry stands for the lowest unresolved offset of a slot, and whatever the slot takes later from the
/// same log lies above it. Entries of a log are opened in the order of offsets, so a doubly linked list is sorted by itself: open,
/// settle and the head are O(1), and memory is bounded by slots and unacknowledged records, not by events.
struct OffsetLedger {
    /// Names an open entry. -1: none.
    typealias EntryID = Int32
    static let none: EntryID = -1

    private struct Entry {
        var log: Int32
        var offset: Int64
        var previous: EntryID
        var next: EntryID
        /// Records about events of this group that Kafka has not acknowledged yet.
        var acknowledgementsOutstanding: UInt32
        /// Nothing of its events still has to be made durable.
        var settled: Bool
    }

    private struct Log {
        var topic: UInt16
        var partition: Int32
        var nextOffset: Int64
        var committedOffset: Int64
        var head: EntryID
        var tail: EntryID
        var isOpen: Bool
    }

    private var entries: [Entry] = []
    private var free: [EntryID] = []
    private var logs: [Log] = []
    private(set) var openCount = 0

    /// Begins to follow a log whose next record is `startOffset`. Returns the log's number.
    mutating func openLog(topic: UInt16, partition: Int32, startOffset: Int64) -> Int32 {
        let log = Log(
            topic: topic, partition: partition, nextOffset: startOffset, committedOffset: startOffset, head: Self.none,
            tail: Self.none,
            isOpen: true)
        if let place = self.logs.firstIndex(where: { !$0.isOpen && $0.head == Self.none }) {
            self.logs[place] = log
            return Int32(place)
        }
        self.logs.append(log)
        return Int32(self.logs.count - 1)
    }

    /// Stops following the log; its open entries are given up uncommitted.
    mutating func closeLog(_ number: Int32) {
        var entry = self.logs[Int(number)].head
        while entry != Self.none {
            let next = self.entries[Int(entry)].next
            self.release(entry)
            entry = next
        }
        self.logs[Int(number)].head = Self.none
        self.logs[Int(number)].tail = Self.none
        self.logs[Int(number)].isOpen = false
    }

    /// The record at `offset` was taken. Offsets only grow; gaps (compaction, control records) count as resolved.
    mutating func consumed(log: Int32, offset: Int64) {
        if offset >= self.logs[Int(log)].nextOffset { self.logs[Int(log)].nextOffset = offset + 1 }
    }

    /// Opens an entry at the offset just consumed.
    mutating func open(log: Int32, offset: Int64, settled: Bool = false) -> EntryID {
        let tail = self.logs[Int(log)].tail
        precondition(
            tail == Self.none || self.entries[Int(tail)].offset <= offset, "offset \(offset) opened after a later one")
        let entry = Entry(
            log: log, offset: offset, previous: tail, next: Self.none, acknowledgementsOutstanding: 0, settled: settled)
        let id: EntryID
        if let reused = self.free.popLast() {
            id = reused
            self.entries[Int(id)] = entry
        } else {
            id = EntryID(self.entries.count)
            self.entries.append(entry)
        }
        if tail == Self.none { self.logs[Int(log)].head = id } else { self.entries[Int(tail)].next = id }
        self.logs[Int(log)].tail = id
        self.openCount += 1
        return id
    }

    func log(of id: EntryID) -> Int32 { self.entries[Int(id)].log }

    /// One more record about this group has been handed to Kafka.
    mutating func expectAcknowledgement(_ id: EntryID) {
        self.entries[Int(id)].acknowledgementsOutstanding += 1
    }

    mutating func acknowledged(_ id: EntryID) {
        precondition(self.entries[Int(id)].acknowledgementsOutstanding > 0, "entry \(id) acknowledged once too often")
        self.entries[Int(id)].acknowledgementsOutstanding -= 1
        self.closeIfResolved(id)
    }

    /// Everything of the group is durable or done. Resolved once its records are acknowledged too.
    mutating func settle(_ id: EntryID) {
        precondition(!self.entries[Int(id)].settled, "entry \(id) settled twice")
        self.entries[Int(id)].settled = true
        self.closeIfResolved(id)
    }

    /// The offset after the last record taken.
    func nextOffset(log: Int32) -> Int64 { self.logs[Int(log)].nextOffset }

    /// The next offset to read after a restart: the lowest unresolved, else the one after the last taken.
    func watermark(log: Int32) -> Int64 {
        let head = self.logs[Int(log)].head
        return head == Self.none ? self.logs[Int(log)].nextOffset : self.entries[Int(head)].offset
    }

    /// Calls `body` for each log whose watermark moved since the last call.
    mutating func takeAdvanced(_ body: (CommitPosition) -> Void) {
        for number in self.logs.indices where self.logs[number].isOpen {
            let next = self.watermark(log: Int32(number))
            guard next > self.logs[number].committedOffset else { continue }
            self.logs[number].committedOffset = next
            body(
                CommitPosition(topic: self.logs[number].topic, partition: self.logs[number].partition, nextOffset: next)
            )
        }
    }

    private mutating func closeIfResolved(_ id: EntryID) {
        let entry = self.entries[Int(id)]
        guard entry.settled, entry.acknowledgementsOutstanding == 0 else { return }
        let log = Int(entry.log)
        if entry.previous == Self.none {
            self.logs[log].head = entry.next
        } else {
            self.entries[Int(entry.previous)].next = entry.next
        }
        if entry.next == Self.none {
            self.logs[log].tail = entry.previous
        } else {
            self.entries[Int(entry.next)].previous = entry.previous
        }
        self.release(id)
    }

    private mutating func release(_ id: EntryID) {
        self.free.append(id)
        self.openCount -= 1
    }
}
