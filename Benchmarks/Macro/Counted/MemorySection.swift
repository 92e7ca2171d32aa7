import ShardLoop

/// A record of `state` as it is in a log.
struct StateRecord {
    var key: [UInt8]
    var value: [UInt8]
}

/// A partition of `state` in memory, read from its beginning.
final class MemorySection: StateSection {
    /// How much of the sections can be read. The end is a separate stage, so that a restore can be counted without the
    /// work that follows it.
    enum Stage { case nothing, records, end }

    private let log: MemoryLog
    private let records: [StateRecord]
    private var next = 0
    private var seen = Stage.nothing

    init(_ log: MemoryLog, _ records: [StateRecord]) {
        self.log = log
        self.records = records
    }

    func takeReadable() -> Bool {
        defer { self.seen = self.log.sectionStage }
        return self.seen != self.log.sectionStage
    }

    func read(max: Int, _ body: StateRecordBody) -> SectionRead {
        guard self.log.sectionStage != .nothing else {
            return SectionRead(recordCount: 0, mayHaveMore: false, isFinished: false)
        }
        let (first, end) = (self.next, min(self.records.count, self.next + max))
        for place in first..<end {
            let record = self.records[place]
            body(record.key.span, record.value.span, false, nil, Int64(place))
        }
        self.next = end
        let isAtEnd = end == self.records.count
        return SectionRead(
            recordCount: end - first, mayHaveMore: !isAtEnd, isFinished: isAtEnd && self.log.sectionStage == .end)
    }

    func close() {}
}
