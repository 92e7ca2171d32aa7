/// Unresolved offsets of one shard's input logs (contract: Outcome and offset).
///
/// The ledger keeps one entry for a group of events. An entry is the lowest unresolved offset of a slot; what the slot
/// takes later from the same log has higher offsets. Entries of a log are opened in the order of offsets, so a doubly
/// linked list is always sorted. Opening and settling an entry, and finding the lowest, are O(1). Memory grows with
/// slots, unacknowledged records and wishes to keepers, not with events.
struct OffsetLedger {
    private struct Entry {
        var log: LogID
        var offset: Int64
        var previous: EntryID
        var next: EntryID
        /// Number of records about events of this group that Kafka has not acknowledged.
        var acknowledgementsOutstanding: UInt32
        /// Whether everything in this group is durable or done.
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
        /// Whether the log's watermark may have moved since the last call of `takeAdvanced`.
        var isTouched = false
        /// When the loop took `committedOffset` for a commit (steady clock); `Int64.min`: not since the log was opened.
        var committedMillis = Int64.min
        /// An offset that counts as committed, because the loop took it at least `commitMillisMax` ago.
        var passedOffset: Int64
        var sampledOffset: Int64
        /// When `sampledOffset` counts as committed (steady clock).
        var sampleDueMillis = Int64.min

        mutating func sample(nowMillis: Int64) {
            guard self.sampleDueMillis <= nowMillis else { return }
            self.passedOffset = self.sampledOffset
            self.sampledOffset = self.committedOffset
            self.sampleDueMillis = nowMillis + OffsetLedger.commitMillisMax
        }
    }

    private var entries = NumberedArray<EntryID, Entry>()
    private var free: [EntryID] = []
    private var logs = NumberedArray<LogID, Log>()
    /// Logs whose watermark may have moved. The loop takes commits in every busy turn, but only a few of many
    /// watermarks have moved.
    private var touchedLogs: [LogID] = []
    private(set) var openCount = 0

    /// Begins to follow a log whose next record is `startOffset`. Returns the log's number.
    mutating func openLog(topic: UInt16, partition: Int32, startOffset: Int64) -> LogID {
        let log = Log(
            topic: topic, partition: partition, nextOffset: startOffset, committedOffset: startOffset, head: .none,
            tail: .none, isOpen: true, passedOffset: startOffset, sampledOffset: startOffset)
        if let free = self.logs.firstIdentifier(where: { !$0.isOpen && $0.head.isNone }) {
            self.logs[free] = log
            return free
        }
        return self.logs.append(log)
    }

    /// Stops following the log. Its open entries are dropped without a commit.
    mutating func closeLog(_ log: LogID) {
        var entry = self.logs[log].head
        while entry.isSome {
            let next = self.entries[entry].next
            self.release(entry)
            entry = next
        }
        self.logs[log].head = EntryID.none
        self.logs[log].tail = EntryID.none
        self.logs[log].isOpen = false
    }

    /// Counts the record at `offset` as taken. Offsets only grow. Gaps in them (compaction, control records) count as
    /// resolved.
    mutating func consumed(log: LogID, offset: Int64) {
        guard offset >= self.logs[log].nextOffset else { return }
        self.logs[log].nextOffset = offset + 1
        if self.logs[log].head.isNone { self.touch(log) }
    }

    /// Opens an entry at the offset just consumed.
    mutating func open(log: LogID, offset: Int64, settled: Bool = false) -> EntryID {
        let tail = self.logs[log].tail
        precondition(
            tail.isNone || self.entries[tail].offset <= offset, "offset \(offset) opened after a later one")
        let entry = Entry(
            log: log, offset: offset, previous: tail, next: EntryID.none, acknowledgementsOutstanding: 0,
            settled: settled)
        let id: EntryID
        if let reused = self.free.popLast() {
            id = reused
            self.entries[id] = entry
        } else {
            id = self.entries.append(entry)
        }
        if tail.isNone { self.logs[log].head = id } else { self.entries[tail].next = id }
        self.logs[log].tail = id
        self.openCount += 1
        return id
    }

    func log(of id: EntryID) -> LogID { self.entries[id].log }

    /// Counts one more record about this group that has been handed to Kafka.
    mutating func expectAcknowledgement(_ id: EntryID) {
        self.entries[id].acknowledgementsOutstanding += 1
    }

    mutating func acknowledged(_ id: EntryID) {
        precondition(self.entries[id].acknowledgementsOutstanding > 0, "entry \(id) acknowledged once too often")
        self.entries[id].acknowledgementsOutstanding -= 1
        self.closeIfResolved(id)
    }

    /// Settles the group, because everything in it is durable or done. The group is resolved when its records are
    /// acknowledged, too.
    mutating func settle(_ id: EntryID) {
        precondition(!self.entries[id].settled, "entry \(id) settled twice")
        self.entries[id].settled = true
        self.closeIfResolved(id)
    }

    /// The offset after the last record taken.
    func nextOffset(log: LogID) -> Int64 { self.logs[log].nextOffset }

    /// The next offset to read after a restart: the lowest unresolved one, or if all are resolved, the one after the
    /// last record taken.
    func watermark(log: LogID) -> Int64 {
        let head = self.logs[log].head
        return head.isNone ? self.logs[log].nextOffset : self.entries[head].offset
    }

    /// Maximum time from when the loop takes a commit until the group has or refuses it, milliseconds.
    static var commitMillisMax: Int64 { 5_000 }

    /// The offset below which everything counts as committed. Nothing below it is read again.
    ///
    /// The answer is exact if the log's last commit is at least `commitMillisMax` old. If the log commits more often,
    /// the answer is a sample that an earlier call took, at least `commitMillisMax` ago. Samples are taken here and not
    /// at each commit, because commits are frequent.
    mutating func passedOffset(log: LogID, nowMillis: Int64) -> Int64 {
        self.logs[log].sample(nowMillis: nowMillis)
        let isOld = self.logs[log].committedMillis <= nowMillis - Self.commitMillisMax
        return isOld ? self.logs[log].committedOffset : self.logs[log].passedOffset
    }

    /// Calls `body` for each log whose watermark moved since the last call, in the order in which they first moved.
    /// - Parameter nowMillis: when the loop takes the offsets (steady clock).
    @inline(__always) mutating func takeAdvanced(nowMillis: Int64, _ body: (CommitPosition) -> Void) {
        for log in self.touchedLogs {
            self.logs[log].isTouched = false
            let next = self.watermark(log: log)
            guard self.logs[log].isOpen, next > self.logs[log].committedOffset else { continue }
            self.logs[log].committedOffset = next
            self.logs[log].committedMillis = nowMillis
            body(
                CommitPosition(topic: self.logs[log].topic, partition: self.logs[log].partition, nextOffset: next)
            )
        }
        self.touchedLogs.removeAll(keepingCapacity: true)
    }

    private mutating func touch(_ log: LogID) {
        guard !self.logs[log].isTouched else { return }
        self.logs[log].isTouched = true
        self.touchedLogs.append(log)
    }

    private mutating func closeIfResolved(_ id: EntryID) {
        let entry = self.entries[id]
        guard entry.settled, entry.acknowledgementsOutstanding == 0 else { return }
        let log = entry.log
        if entry.previous.isNone {
            self.logs[log].head = entry.next
            self.touch(log)
        } else {
            self.entries[entry.previous].next = entry.next
        }
        if entry.next.isNone {
            self.logs[log].tail = entry.previous
        } else {
            self.entries[entry.next].previous = entry.previous
        }
        self.release(id)
    }

    private mutating func release(_ id: EntryID) {
        self.free.append(id)
        self.openCount -= 1
    }
}
