/// When the counts of a version, or of a start, are reported: to the audience's owner, and in a record of outcomes.
struct ReportTelling {
    /// What the audience's owner knows.
    enum Owner: UInt8 {
        /// The owner knows all that is counted. To `toTell` when something is counted.
        case told
        /// The owner knows all but the end: members were still waiting at the last report. To `told` once the end is
        /// reported, to `toTell` when something is counted.
        case toTellEnd
        /// Something has been counted since the last report. To `told` with the next report, to `toTellEnd` if members
        /// still wait then.
        case toTell
    }
    /// What the record of outcomes says.
    enum Record: UInt8 {
        /// All that the owner knows. To `toWrite` with the next report.
        case written
        /// Less than the owner knows. To `written` with the next record.
        case toWrite
    }
    /// The least time between two reports to the owner, milliseconds.
    static let everyMillis: Int64 = 1_000
    /// The least time between two records for late members once the round has ended, milliseconds.
    static let recordEveryMillis: Int64 = 60_000

    private(set) var owner = Owner.told
    private(set) var record = Record.written
    private var lastMillis: Int64 = .min
    private var lastRecordMillis: Int64 = .min

    /// Whether something has to be reported or written.
    @inline(__always) var isOpen: Bool { self.owner != .told || self.record != .written }
    /// When the next report is due, steady; `Int64.max`: the owner knows all.
    func dueMillis(nowMillis: Int64) -> Int64 {
        switch self.owner {
        case .told: .max
        case .toTellEnd, .toTell: self.lastMillis == .min ? nowMillis : self.lastMillis + Self.everyMillis
        }
    }
    /// When the next record is written, steady; `Int64.max`: the last one says all.
    func recordDueMillis(nowMillis: Int64) -> Int64 {
        switch self.record {
        case .written: .max
        case .toWrite:
            self.lastRecordMillis == .min ? nowMillis : self.lastRecordMillis + Self.recordEveryMillis
        }
    }

    // MARK: What happens
    /// Notes that something is counted.
    @inline(__always) mutating func counted() { self.owner = .toTell }
    /// Notes a report to the owner.
    /// - Parameters:
    ///   - isEnd: whether no member is owed it.
    ///   - isWritten: whether a record says it, too.
    mutating func told(isEnd: Bool, isWritten: Bool, nowMillis: Int64) {
        self.lastMillis = nowMillis
        self.record = isWritten ? .toWrite : .written
        self.owner = isEnd ? .told : .toTellEnd
    }
    /// Notes that a record is written.
    /// - Parameter isEnd: whether no member is owed it. Otherwise the record of its end does not wait for the minute to
    ///   pass.
    mutating func written(isEnd: Bool, nowMillis: Int64) {
        self.lastRecordMillis = isEnd ? nowMillis : .min
        self.record = .written
    }
    /// Begins to count another version.
    mutating func begin() {
        self.lastRecordMillis = .min
        self.record = .written
        self.owner = .told
    }
}
