import PushModel

/// The counts of the start that goes round in a crowd. They stay after the start's end until the next start begins. The
/// type decides what is reported and when; the engine sends the reports.
struct StartReports {
    /// Maximum number of outcome records about single members of one start and partition. Further members are only
    /// counted.
    static let memberRecordsMax = 1_024

    private(set) var report = StartReport()
    private(set) var schedule = ReportSchedule()
    /// Number of outcome records about single members of this start. After a takeover it may be too high.
    private var memberRecordCount = 0

    init() {}
    /// Begins to count a start.
    init(of order: borrowing StartOrder) { self.report = StartReport(of: order) }

    // MARK: Counting
    /// Counts more start members that are owed the start.
    mutating func becameDue(_ count: Int) { self.count(UInt64(max(0, count)), as: \.due) }
    /// Counts start members that are no longer owed the start, and why.
    mutating func settled(_ count: Int, into reason: WritableKeyPath<MemberCounters, UInt64>) {
        self.count(UInt64(max(0, count)), as: reason)
    }
    /// Counts a start member that is no longer owed a start, and why.
    /// - Parameter start: the start that the member was owed. If the counts are of another start, nothing is counted.
    mutating func settled(of start: StartStamp, into reason: WritableKeyPath<MemberCounters, UInt64>) {
        guard self.report.start == start else { return }
        self.count(1, as: reason)
    }
    /// Counts members that a former owner announced. No record says whether they were sent the start.
    mutating func unknown(_ count: UInt64) {
        self.count(count, as: \.due)
        self.count(count, as: \.unknown)
    }
    /// Counts a request that is sent again.
    mutating func repeated() { self.count(1, as: \.repeated) }
    /// Counts an update token that has joined and was not a member before.
    mutating func returned() {
        self.report.returnedCount += 1
        self.schedule.counted()
    }
    /// Remembers when APNs accepted a push, if the counts are of the push's start.
    mutating func accepted(_ start: StartStamp, wallMillis: Int64) {
        guard self.report.start == start else { return }
        self.report.countAccepted(wallMillis: wallMillis)
    }
    /// Counts a push that APNs has refused for good, if the counts are of the push's start.
    mutating func refused(_ start: StartStamp, status: UInt16, reason: String, isOfMessage: Bool) {
        guard self.report.start == start else { return }
        self.report.count(status: status, reason: reason, isOfMessage: isOfMessage)
        self.schedule.counted()
    }
    private mutating func count(_ count: UInt64, as field: WritableKeyPath<MemberCounters, UInt64>) {
        guard count > 0 else { return }
        self.report.add(count, to: field)
        self.schedule.counted()
    }
    /// Resumes counting after a takeover.
    /// - Parameter known: the counts in the last record; `nil`: no record. Counts of another start are ignored.
    mutating func resumed(_ known: StartReport?) {
        if let known, known.start == self.report.start {
            self.memberRecordCount = known.failedCount
            self.report = known
            self.report.resume()
        }
        // The last report may have been lost with the former owner.
        self.schedule.counted()
    }

    // MARK: Single members
    /// Number of further members that may get an outcome record of their own.
    var memberRecordRoom: Int { Self.memberRecordsMax - self.memberRecordCount }
    /// Takes room for an outcome record about one member whose push has failed, or has an unknown result.
    /// - Returns: whether there was room, so that the record has to be written.
    mutating func recordsMember() -> Bool {
        guard self.memberRecordRoom > 0 else { return false }
        self.memberRecordCount += 1
        return true
    }

    // MARK: Reporting
    /// When the counts must be reported or recorded (steady clock); `Int64.max`: there is nothing new.
    @inline(__always) func dueMillis(nowMillis: Int64) -> Int64 {
        guard self.report.stampSeconds > 0, self.schedule.isOpen else { return .max }
        return min(
            self.schedule.dueMillis(nowMillis: nowMillis),
            self.report.waitingCount == 0 ? self.schedule.recordDueMillis(nowMillis: nowMillis) : .max)
    }
    /// Makes the report on the start for the audience's owner.
    /// - Returns: the report; `nil`: the owner knows all.
    mutating func makeReport(nowMillis: Int64) -> StartReport? {
        guard self.report.stampSeconds > 0, self.schedule.owner != .reported else { return nil }
        self.schedule.reported(isEnd: true, isWritten: true, nowMillis: nowMillis)
        return self.report
    }
    /// Makes the `start-pass` record that is due.
    /// - Parameter isOver: whether the start is over. New counts are then recorded at once, even if a push is
    ///   unanswered. Once another start begins, nothing more is recorded about this one.
    /// - Returns: the record's content; `nil`: the last record is complete, or it is too early for the next one.
    mutating func record(isOver: Bool, nowMillis: Int64) -> StartReport? {
        let isEnd = self.report.waitingCount == 0
        guard self.schedule.record == .toWrite,
            isOver || isEnd && self.schedule.recordDueMillis(nowMillis: nowMillis) <= nowMillis
        else { return nil }
        self.schedule.written(isEnd: isEnd, nowMillis: nowMillis)
        return self.report
    }
}
