import APNSProtocol
import PushModel

/// What a crowd counts and reports of its versions. `CrowdReports` decides. These functions give it what it needs to
/// know about rounds, versions and the alert.
///
/// These functions change the crowd in place. Those that every answer calls are inlined.
extension Crowd {
    // MARK: Versions
    /// Begins to count a new version.
    /// - Parameter members: members of the crowd's partition.
    mutating func beginReport(of version: Version, members: borrowing MemberTable) -> CrowdReports.Effects {
        self.reports.versionCame(version, listeners: self.listeners(in: members))
    }
    /// Returns to the previous version's report, because the newest version has expired and was dropped.
    mutating func returnToFormerReport(members: borrowing MemberTable) -> CrowdReports.Effects {
        self.reports.newestExpired(
            leaving: self.versions.newest?.stampSeconds, listeners: self.listeners(in: members))
    }
    /// Ends the reports, because the audience is over in this partition.
    /// - Returns: the counts that were not reported or recorded yet.
    mutating func endReports(members: borrowing MemberTable)
        -> (unreported: [CrowdReport], effects: CrowdReports.Effects)
    {
        self.reports.ended(listeners: self.versions.isEmpty ? nil : self.listeners(in: members))
    }
    /// Resumes counting after a takeover, from the last record of progress.
    mutating func resumeReports(from progress: PassesRecord, now: EngineTime) -> CrowdReports.Effects {
        guard let newest = self.versions.newest else { return CrowdReports.Effects() }
        return self.reports.resumed(
            [progress.report, progress.alertReport ?? CrowdReport()], stampSeconds: newest.stampSeconds,
            isYoung: now.wallMillis - newest.layer.recordMillis < CrowdReports.sentAnewMillis,
            alertStampSeconds: self.versions.alert?.stampSeconds)
    }
    /// Puts the counts of the newest version, and of the version whose alert is owed, into a progress record.
    func report(into progress: inout PassesRecord) {
        progress.report = self.reports.newest
        progress.alertReport = self.reports.formerCounts(progress.alertStampSeconds)
    }

    // MARK: Counting
    /// Counts members that are owed more than before.
    /// - Parameter alertStampSeconds: stamp of the alert that the members in `due.alone` wait for.
    @inline(__always) mutating func becameDue(_ due: Pass.Owed, alertStampSeconds: Int64) -> CrowdReports.Effects {
        self.reports.becameDue(due.all - due.alone)
        return self.reports.aloneSettled(stampSeconds: alertStampSeconds, count: -due.alone, into: .superseded)
    }
    /// Counts members that are no longer owed something, and why.
    @inline(__always) mutating func settled(
        _ settled: Settled, into settlement: MemberSettlement
    ) -> CrowdReports.Effects {
        self.reports.settled(
            due: settled.due, count: settled.members.all - settled.members.alone, isNewerThere: settled.isNewerThere,
            into: settlement)
        return self.reports.aloneSettled(
            stampSeconds: settled.alertStampSeconds, count: settled.members.alone, into: settlement)
    }
    /// Counts a member that is owed the newest version after an alert that goes alone.
    mutating func returned() { self.reports.returned() }
    /// After a takeover, counts the members to which the round has yet to bring an alert that goes without the newest
    /// content.
    mutating func aloneRestored(pass: Int) {
        self.reports.aloneRestored(stampSeconds: self.alertStampSeconds, count: self.passes[pass].course.aloneCount)
    }
    /// Counts a member that the round has met, and that has to wait for an alert that goes alone.
    mutating func aloneDeferred() -> CrowdReports.Effects {
        self.reports.aloneDeferred(stampSeconds: self.alertStampSeconds)
    }
    /// Counts a member that waited for an alert and now gets it alone.
    mutating func aloneReturned() -> CrowdReports.Effects {
        self.reports.aloneReturned(stampSeconds: self.alertStampSeconds)
    }
    /// Counts the answer to a push to a member.
    @inline(__always) mutating func answered(
        _ answer: PushAnswer, end: MemberEnd, stampSeconds: Int64, wallMillis: Int64
    ) -> CrowdReports.Effects {
        self.reports.answered(answer, end: end, stampSeconds: stampSeconds, wallMillis: wallMillis)
    }
    /// Counts a member whose push failed for good.
    /// - Returns: the version, if the failure gets its own outcome record; `nil`: the failure is only counted, or the
    ///   version is no longer kept.
    mutating func failed(_ response: PushResponse, isOfMessage: Bool, stampSeconds: Int64) -> Version? {
        guard self.reports.failed(response, isOfMessage: isOfMessage, stampSeconds: stampSeconds) else { return nil }
        return self.versions.kept.last { $0.stampSeconds == stampSeconds }
    }
    /// The counts of a version; empty if the version is not counted.
    func counts(of stampSeconds: Int64) -> CrowdReport {
        guard self.reports.newest.stampSeconds != stampSeconds else { return self.reports.newest }
        return self.reports.former.last { $0.counts.stampSeconds == stampSeconds }?.counts ?? CrowdReport()
    }
    /// Number of members whose push of the newest version was refused.
    var refusedCount: Int { self.reports.refusedCount }
    /// Number of members that get the newest version by broadcast at present, by environment.
    func listeners(in members: borrowing MemberTable) -> ListenerCounts {
        var counts = ListenerCounts()
        for pass in self.passes.indices where self.passes[pass].isServedByChannel {
            let count = members.count(of: self.passes[pass].ring) - self.passes[pass].lateListenerCount
            counts[self.passes[pass].environment] += UInt64(max(0, count))
        }
        return counts
    }

    // MARK: Reporting
    /// When the counts must be reported (steady clock); `Int64.max`: nothing must be reported, or passes continue and
    /// the report is sent with the next progress record.
    @inline(__always) func reportDueMillis(nowMillis: Int64) -> Int64 {
        self.reports.isOpen && self.isFinished ? self.reports.dueMillis(nowMillis: nowMillis) : .max
    }
    /// Makes the report on the newest version for the owner.
    /// - Returns: the report; `nil`: nothing new is counted, and the passes have not ended since the last report.
    mutating func makeReport(members: borrowing MemberTable, nowMillis: Int64) -> BusRecord.Report? {
        let isFinished = self.isFinished
        guard self.reports.isToBeReported(isFinished: isFinished) else { return nil }
        let counts = self.reports.makeReport(
            isFinished: isFinished, listeners: self.listeners(in: members), nowMillis: nowMillis)
        return self.busReport(counts, isFinished: isFinished)
    }
    /// Makes the `pass` record that is due.
    /// - Returns: the record's content; `nil`: none is due, or passes continue.
    mutating func recordReport(nowMillis: Int64) -> CrowdReport? {
        self.isFinished ? self.reports.record(nowMillis: nowMillis) : nil
    }
    /// Makes the reports on former versions, if they were counted since their last report.
    /// - Returns: the reports to the owner. Their counts are also written as `pass` records.
    mutating func makeFormerReports() -> [BusRecord.Report] {
        guard !self.reports.former.isEmpty else { return [] }
        // When the newest version expires, members may be owed one of the kept versions again. A waiting member may
        // also be owed an older version's alert alone.
        let returning = self.versions.kept.map(\.stampSeconds) + [self.alertStampSeconds]
        return self.reports.makeFormerReports { returning.contains($0) }
            .map { self.busReport($0, isFinished: $0.waitingCount == 0) }
    }
    private mutating func busReport(_ counts: CrowdReport, isFinished: Bool) -> BusRecord.Report {
        var report = BusRecord.Report()
        report.life = self.versions.life
        report.doneStampSeconds = self.reports.reportDone(
            isHigh: self.passes.contains { $0.course.isHigh || $0.apart.retries.mayBeHigh },
            stampSeconds: self.versions.stampSeconds)
        report.isFinished = isFinished
        report.counts = counts
        return report
    }
    /// Whether a push of the version may still have priority 10. Once the owner has been told that the version gives
    /// nobody priority 10, no push of it may have that priority: the version's unit in the owner's ledger may already
    /// be returning.
    func mayBeHigh(stampSeconds: Int64) -> Bool { stampSeconds > self.reports.reportedDoneStampSeconds }
    /// Takes versions that are already known here. The owner, perhaps a new one, sends them to ask for reports.
    /// - Returns: whether the newest version must be reported to that owner again.
    mutating func askedAgain(_ versions: [Version]) -> Bool {
        guard let newest = versions.last, newest.life == self.versions.life else { return false }
        return self.reports.askedAgain(stampSeconds: newest.stampSeconds)
    }
}
