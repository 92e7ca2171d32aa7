import PushModel

/// What a crowd has counted of the start that goes round, and of that one until the next begins. It decides what is told when; its owner tells it.
struct StartReports {
    /// Outcome records about single members of one start and partition; the others are counted.
    static let membersToldMax = 1_024

    private(set) var report = StartReport()
    private(set) var telling = ReportTelling()
    /// Outcome records of single members that were told of this start; a former owner's may be counted too high.
    private var membersToldCount = 0

    init() {}
    /// The start begins.
    init(of order: borrowing StartOrder) { self.report = StartReport(of: order) }

    // MARK: Counting
    /// Start members are owed it beside those that were.
    mutating func becameDue(_ count: Int) { self.count(UInt64(max(0, count)), as: \.due) }
    /// Start members are owed it no longer, for this reason.
    mutating func settled(_ count: Int, into reason: WritableKeyPath<MemberCounters, UInt64>) {
        self.count(UInt64(max(0, count)), as: reason)
    }
    /// A start member is owed a start no longer, for this reason.
    /// - Parameter start: which; another than this is not counted.
    mutating func settled(of start: StartStamp, into reason: WritableKeyPath<MemberCounters, UInt64>) {
        guard self.report.start == start else { return }
        self.count(1, as: reason)
    }
    /// A former owner announced it to as many, and nobody knows whether they were sent it.
    mutating func unknown(_ count: UInt64) {
        self.count(count, as: \.due)
        self.count(count, as: \.unknown)
    }
    /// A request is sent again.
    mutating func repeated() { self.count(1, as: \.repeated) }
    /// An update token has joined that was no member.
    mutating func returned() {
        self.report.returnedCount += 1
        self.telling.counted()
    }
    /// APNs has taken a push of a start.
    mutating func accepted(_ start: StartStamp, wallMillis: Int64) {
        guard self.report.start == start else { return }
        self.report.noteAccepted(wallMillis: wallMillis)
    }
    /// APNs has refused a push of a start for good.
    mutating func refused(_ start: StartStamp, status: UInt16, reason: String, isOfMessage: Bool) {
        guard self.report.start == start else { return }
        self.report.note(status: status, reason: reason, isOfMessage: isOfMessage)
        self.telling.counted()
    }
    private mutating func count(_ count: UInt64, as field: WritableKeyPath<MemberCounters, UInt64>) {
        guard count > 0 else { return }
        self.report.add(count, to: field)
        self.telling.counted()
    }
    /// After a takeover counting goes on where the last record says.
    /// - Parameter known: what that says, if it is of this start.
    mutating func resumed(_ known: StartReport?) {
        if let known, known.start == self.report.start {
            self.membersToldCount = known.failedCount
            self.report = known
            self.report.resume()
        }
        // What was told last may have been lost with the owner before.
        self.telling.counted()
    }

    // MARK: Single members
    /// Members that may have an outcome record of their own beside those that have one.
    var untoldMembersMax: Int { Self.membersToldMax - self.membersToldCount }
    /// A single member was not started, or nobody knows.
    /// - Returns: whether an outcome record tells it.
    mutating func tellsMember() -> Bool {
        guard self.untoldMembersMax > 0 else { return false }
        self.membersToldCount += 1
        return true
    }

    // MARK: Telling
    /// When what has been counted is told, steady; `Int64.max`: there is nothing to tell.
    @inline(__always) func dueMillis(nowMillis: Int64) -> Int64 {
        guard self.report.stampSeconds > 0, self.telling.isOpen else { return .max }
        return min(
            self.telling.dueMillis(nowMillis: nowMillis),
            self.report.waitingCount == 0 ? self.telling.recordDueMillis(nowMillis: nowMillis) : .max)
    }
    /// - Returns: what the audience's owner is told of the start; `nil`: it knows all.
    mutating func tell(nowMillis: Int64) -> StartReport? {
        guard self.report.stampSeconds > 0, self.telling.owner != .told else { return nil }
        self.telling.told(isEnd: true, isWritten: true, nowMillis: nowMillis)
        return self.report
    }
    /// - Parameter isOver: if a push of a start that is over is under way, nothing would follow its answer: that is written without waiting for the minute to pass.
    /// - Returns: what the `start-pass` record that is due now says; `nil`: none is, as some wait, or the last one says all.
    mutating func record(isOver: Bool, nowMillis: Int64) -> StartReport? {
        let isEnd = self.report.waitingCount == 0
        guard self.telling.record == .toWrite,
            isOver || isEnd && self.telling.recordDueMillis(nowMillis: nowMillis) <= nowMillis
        else { return nil }
        self.telling.written(isEnd: isEnd, nowMillis: nowMillis)
        return self.report
    }
}
