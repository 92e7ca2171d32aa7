import PushModel

/// What a crowd counts and reports about its starts: see `StartReports`.
extension Crowd {
    // MARK: Counting
    /// Counts a start member that is no longer owed a start, and why.
    mutating func startSettled(of start: StartStamp, into reason: WritableKeyPath<MemberCounters, UInt64>) {
        self.starts.reports.settled(of: start, into: reason)
    }
    /// Counts an update token that has joined and was not a member before, if a start goes round.
    /// - Returns: whether a start goes round. The token's card may be from that start.
    mutating func startReturned() -> Bool {
        guard self.starts.hasOrder else { return false }
        self.starts.reports.returned()
        return true
    }
    /// Remembers when APNs accepted a push of a start.
    mutating func startAccepted(_ start: StartStamp, wallMillis: Int64) {
        self.starts.reports.accepted(start, wallMillis: wallMillis)
    }

    // MARK: Reporting
    /// The counts of the start.
    @inline(__always) var startCounts: StartReport { self.starts.reports.report }
    /// Takes room for an outcome record about one member whose push has failed, or has an unknown result.
    /// - Returns: the start that the record names; `nil`: no record is written, because there is no room or
    ///   no start goes round.
    mutating func recordsStartMember() -> StartOrder? {
        guard let order = self.starts.order, self.starts.reports.recordsMember() else { return nil }
        return order
    }
    /// When the counts must be reported (steady clock); `Int64.max`: nothing must be reported.
    @inline(__always) func startReportDueMillis(nowMillis: Int64) -> Int64 {
        self.starts.reports.dueMillis(nowMillis: nowMillis)
    }
    /// Makes the report on the start for the audience's owner.
    /// - Returns: the report; `nil`: the owner knows all.
    mutating func makeStartReport(nowMillis: Int64) -> BusRecord.Report? {
        guard let starts = self.starts.reports.makeReport(nowMillis: nowMillis) else { return nil }
        var report = BusRecord.Report()
        report.life = starts.life
        report.starts = starts
        return report
    }
    /// Makes the `start-pass` record that is due.
    /// - Returns: its content; `nil`: none is due.
    mutating func recordStarts(isOver: Bool, nowMillis: Int64) -> StartReport? {
        self.starts.reports.record(isOver: isOver, nowMillis: nowMillis)
    }
}
