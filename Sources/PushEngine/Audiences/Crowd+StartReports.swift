import PushModel

/// What a crowd counts and reports of its starts: see `StartReports`.
extension Crowd {
    // MARK: Counting
    /// Notes that start members are owed more than before.
    mutating func startsBecameDue(_ count: Int) { self.starts.reports.becameDue(count) }
    /// Notes that fewer start members are owed something, for this reason.
    mutating func startsSettled(_ count: Int, into reason: WritableKeyPath<MemberCounters, UInt64>) {
        self.starts.reports.settled(count, into: reason)
    }
    /// Notes that a start member is no longer owed a start, for this reason.
    mutating func startSettled(of start: StartStamp, into reason: WritableKeyPath<MemberCounters, UInt64>) {
        self.starts.reports.settled(of: start, into: reason)
    }
    /// Notes that a former owner announced the start to that many members, and nobody knows whether it was sent.
    mutating func startsUnknown(_ count: UInt64) { self.starts.reports.unknown(count) }
    /// Notes that a push of the start leaves again.
    mutating func startRepeated() { self.starts.reports.repeated() }
    /// Notes that an update token has joined that was no member.
    /// - Returns: whether its card may be from the start that goes round.
    mutating func startReturned() -> Bool {
        guard self.starts.hasOrder else { return false }
        self.starts.reports.returned()
        return true
    }
    /// Notes that APNs has accepted a push of a start.
    mutating func startAccepted(_ start: StartStamp, wallMillis: Int64) {
        self.starts.reports.accepted(start, wallMillis: wallMillis)
    }
    /// Notes that APNs has refused a push of a start for good.
    mutating func startRefused(_ start: StartStamp, status: UInt16, reason: String, isOfMessage: Bool) {
        self.starts.reports.refused(start, status: status, reason: reason, isOfMessage: isOfMessage)
    }

    // MARK: Telling
    /// The counts of the start.
    @inline(__always) var startCounts: StartReport { self.starts.reports.report }
    /// Notes a single start member that was not started, or whose start is unknown.
    /// - Returns: whether an outcome record is written for it.
    mutating func tellsStartMember() -> Bool { self.starts.reports.tellsMember() }
    /// When the counts are reported, steady; `Int64.max`: nothing is to be reported.
    @inline(__always) mutating func startReportDueMillis(nowMillis: Int64) -> Int64 {
        self.starts.reports.dueMillis(nowMillis: nowMillis)
    }
    /// - Returns: the report to the audience's owner on the start; `nil`: the owner knows all.
    mutating func tellStarts(nowMillis: Int64) -> BusRecord.Report? {
        guard let starts = self.starts.reports.tell(nowMillis: nowMillis) else { return nil }
        var report = BusRecord.Report()
        report.life = starts.life
        report.starts = starts
        return report
    }
    /// - Returns: the content of the `start-pass` record that is due now; `nil`: none is.
    mutating func recordStarts(isOver: Bool, nowMillis: Int64) -> StartReport? {
        self.starts.reports.record(isOver: isOver, nowMillis: nowMillis)
    }
}
