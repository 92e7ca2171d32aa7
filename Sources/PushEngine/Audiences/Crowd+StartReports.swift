import PushModel

/// What a crowd counts and tells of its starts: see `StartReports`.
extension Crowd {
    // MARK: Counting
    /// Start members are owed more than before.
    mutating func startsBecameDue(_ count: Int) { self.starts.reports.becameDue(count) }
    /// Fewer are owed something than before, for this reason.
    mutating func startsSettled(_ count: Int, into reason: WritableKeyPath<MemberCounters, UInt64>) {
        self.starts.reports.settled(count, into: reason)
    }
    /// A start member is owed a start no longer, for this reason.
    mutating func startSettled(of start: StartStamp, into reason: WritableKeyPath<MemberCounters, UInt64>) {
        self.starts.reports.settled(of: start, into: reason)
    }
    /// A former owner announced it to as many, and nobody knows whether they were sent it.
    mutating func startsUnknown(_ count: UInt64) { self.starts.reports.unknown(count) }
    /// A push of the start leaves again.
    mutating func startRepeated() { self.starts.reports.repeated() }
    /// An update token has joined that was no member.
    /// - Returns: whether its card may be of the start that goes round.
    mutating func startReturned() -> Bool {
        guard self.starts.hasOrder else { return false }
        self.starts.reports.returned()
        return true
    }
    /// APNs has taken a push of a start.
    mutating func startAccepted(_ start: StartStamp, wallMillis: Int64) {
        self.starts.reports.accepted(start, wallMillis: wallMillis)
    }
    /// APNs has refused a push of a start for good.
    mutating func startRefused(_ start: StartStamp, status: UInt16, reason: String, isOfMessage: Bool) {
        self.starts.reports.refused(start, status: status, reason: reason, isOfMessage: isOfMessage)
    }

    // MARK: Telling
    /// What is counted of the start.
    @inline(__always) var startCounts: StartReport { self.starts.reports.report }
    /// A single start member was not started, or nobody knows.
    /// - Returns: whether an outcome record tells it.
    mutating func tellsStartMember() -> Bool { self.starts.reports.tellsMember() }
    /// When what has been counted is told, steady; `Int64.max`: there is nothing to tell.
    @inline(__always) func startReportDueMillis(nowMillis: Int64) -> Int64 {
        self.starts.reports.dueMillis(nowMillis: nowMillis)
    }
    /// - Returns: what the audience's owner is told of the start; `nil`: it knows all.
    mutating func tellStarts(nowMillis: Int64) -> BusRecord.Report? {
        guard let starts = self.starts.reports.tell(nowMillis: nowMillis) else { return nil }
        var report = BusRecord.Report()
        report.life = starts.life
        report.starts = starts
        return report
    }
    /// - Returns: what the `start-pass` record that is due now says; `nil`: none is.
    mutating func recordStarts(isOver: Bool, nowMillis: Int64) -> StartReport? {
        self.starts.reports.record(isOver: isOver, nowMillis: nowMillis)
    }
}
