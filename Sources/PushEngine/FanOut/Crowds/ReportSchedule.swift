/// When the counts of a version or a start have to be reported to the audience's owner, and written in an outcome
/// record.
struct ReportSchedule {
    /// What the audience's owner knows.
    enum Owner: UInt8 {
        /// The owner knows all that is counted. Becomes `toReport` when something is counted.
        case reported
        /// The owner knows all that is counted, but not the end: members still waited at the last report. Becomes
        /// `reported` once the end is reported, or `toReport` when something is counted.
        case toReportEnd
        /// Something has been counted since the last report. Becomes `reported` with the next report, or `toReportEnd`
        /// if members still wait then.
        case toReport
    }
    /// What the outcome record says.
    enum Record: UInt8 {
        /// The record says all that the owner knows. Becomes `toWrite` with the next report.
        case written
        /// The record says less than the owner knows. Becomes `written` with the next record.
        case toWrite
    }
    /// The least time between two reports to the owner, milliseconds.
    static let everyMillis: Int64 = 1_000
    /// The least time between two records about late members once the round has ended, milliseconds.
    static let recordEveryMillis: Int64 = 60_000

    private(set) var owner = Owner.reported
    private(set) var record = Record.written
    private var lastMillis: Int64 = .min
    private var lastRecordMillis: Int64 = .min

    /// Whether something has to be reported or written.
    @inline(__always) var isOpen: Bool { self.owner != .reported || self.record != .written }
    /// When the next report is due (steady clock); `Int64.max`: the owner knows all.
    func dueMillis(nowMillis: Int64) -> Int64 {
        switch self.owner {
        case .reported: .max
        case .toReportEnd, .toReport: self.lastMillis == .min ? nowMillis : self.lastMillis + Self.everyMillis
        }
    }
    /// When the next record must be written (steady clock); `Int64.max`: the last one is complete.
    func recordDueMillis(nowMillis: Int64) -> Int64 {
        switch self.record {
        case .written: .max
        case .toWrite:
            self.lastRecordMillis == .min ? nowMillis : self.lastRecordMillis + Self.recordEveryMillis
        }
    }

    // MARK: What happens
    /// Makes a report due, because something was counted.
    @inline(__always) mutating func counted() { self.owner = .toReport }
    /// Remembers a report that was sent to the owner.
    /// - Parameters:
    ///   - isEnd: whether no member is owed the version or start now.
    ///   - isWritten: whether an outcome record with these counts has to be written, too.
    mutating func reported(isEnd: Bool, isWritten: Bool, nowMillis: Int64) {
        self.lastMillis = nowMillis
        self.record = isWritten ? .toWrite : .written
        self.owner = isEnd ? .reported : .toReportEnd
    }
    /// Remembers when an outcome record is written.
    /// - Parameter isEnd: whether no member is owed the version or start now. If some members still are, the next
    ///   record may be written before `recordEveryMillis` have passed.
    mutating func written(isEnd: Bool, nowMillis: Int64) {
        self.lastRecordMillis = isEnd ? nowMillis : .min
        self.record = .written
    }
    /// Begins to count another version.
    mutating func begin() {
        self.lastRecordMillis = .min
        self.record = .written
        self.owner = .reported
    }
}
