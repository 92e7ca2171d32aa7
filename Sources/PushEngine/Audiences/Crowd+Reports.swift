import APNSProtocol
import PushModel

/// What a crowd counts and reports of its versions. `CrowdReports` decides, and learns here what it needs to know of
/// rounds, versions and the alert.
///
/// Functions that change the crowd get it in place. What every answer calls is inlined.
extension Crowd {
    // MARK: Versions
    /// - Parameter members: members of the crowd's partition.
    mutating func beginReport(of version: Version, members: borrowing MemberTable) -> CrowdReports.Effects {
        self.reports.versionCame(version, listeners: self.listeners(in: members))
    }
    /// Returns to the report before: the newest version has expired, and has left the versions.
    mutating func returnToFormerReport(members: borrowing MemberTable) -> CrowdReports.Effects {
        self.reports.newestExpired(
            leaving: self.versions.newest?.stampSeconds, listeners: self.listeners(in: members))
    }
    /// Notes members that an expiring version leaves to the one before.
    mutating func revived(_ count: Int) { self.reports.revived(count) }
    /// Ends the reports, as the audience is over here.
    /// - Returns: reports that were not written yet.
    mutating func endReports(members: borrowing MemberTable) -> (untold: [CrowdReport], effects: CrowdReports.Effects) {
        self.reports.ended(listeners: self.versions.isEmpty ? nil : self.listeners(in: members))
    }
    /// Resumes counting after a takeover, from the last record of progress.
    mutating func resumeReports(from progress: PassesRecord, now: EngineTime) -> CrowdReports.Effects {
        guard let newest = self.versions.newest else { return CrowdReports.Effects() }
        return self.reports.resumed(
            [progress.report, progress.alertReport ?? CrowdReport()], stampSeconds: newest.stampSeconds,
            isYoung: now.wallMillis - newest.layer.recordMillis < CrowdReports.toldAnewMillis,
            alertStampSeconds: self.versions.alert?.stampSeconds)
    }
    /// Writes the reports into a record of progress.
    func report(into progress: inout PassesRecord) {
        progress.report = self.reports.newest
        progress.alertReport = self.reports.formerCounts(progress.alertStampSeconds)
    }

    // MARK: Counting
    /// Notes that members are owed more than before.
    /// - Parameter alertStampSeconds: stamp of the alert that some of them wait for alone.
    @inline(__always) mutating func becameDue(_ due: Pass.Owed, alertStampSeconds: Int64) -> CrowdReports.Effects {
        self.reports.becameDue(due.all - due.alone)
        return self.reports.aloneSettled(stampSeconds: alertStampSeconds, count: -due.alone, into: .superseded)
    }
    /// Notes that members are no longer owed something, for this reason.
    /// - Parameters:
    ///   - due: members that the newest version is due to from now on.
    ///   - alertStampSeconds: stamp of the alert that some of them waited for alone.
    ///   - isNewerThere: see `CrowdReports.settled`.
    @inline(__always) mutating func settled(
        _ settled: Pass.Owed, due: Int, alertStampSeconds: Int64, isNewerThere: Bool,
        into settlement: MemberSettlement
    ) -> CrowdReports.Effects {
        self.reports.settled(
            due: due, count: settled.all - settled.alone, isNewerThere: isNewerThere, into: settlement)
        return self.reports.aloneSettled(
            stampSeconds: alertStampSeconds, count: settled.alone, into: settlement)
    }
    /// Notes that members are no longer owed the newest version, as it has expired.
    mutating func expired(_ count: Int) {
        self.reports.settled(due: 0, count: count, isNewerThere: false, into: .expired)
    }
    /// Notes that a member is owed the newest version besides a newer push that it had waited for instead.
    mutating func returned() { self.reports.returned() }
    /// Notes that members no longer wait for an alert that goes alone, as the version beside it has expired.
    /// - Parameter count: if below 0, members that wait for it again.
    mutating func aloneSuperseded(_ count: Int) -> CrowdReports.Effects {
        self.reports.aloneSettled(stampSeconds: self.alertStampSeconds, count: count, into: .superseded)
    }
    /// Notes, after a takeover, the members that the round reaches with an alert that goes alone.
    mutating func aloneRestored(pass: Int) {
        self.reports.aloneRestored(stampSeconds: self.alertStampSeconds, count: self.passes[pass].course.aloneCount)
    }
    /// Notes that a member that the round met with an alert that goes alone waits.
    mutating func aloneDeferred() -> CrowdReports.Effects {
        self.reports.aloneDeferred(stampSeconds: self.alertStampSeconds)
    }
    /// Notes that a member that waited gets an alert alone.
    mutating func aloneReturned() -> CrowdReports.Effects {
        self.reports.aloneReturned(stampSeconds: self.alertStampSeconds)
    }
    /// Notes that a push to a member was answered.
    @inline(__always) mutating func answered(
        _ answer: PushAnswer, end: MemberEnd, stampSeconds: Int64, wallMillis: Int64
    ) -> CrowdReports.Effects {
        self.reports.answered(answer, end: end, stampSeconds: stampSeconds, wallMillis: wallMillis)
    }
    /// Notes that a member failed for good.
    /// - Returns: the version that an outcome record of its own names; `nil`: it is counted only.
    mutating func failed(_ response: PushResponse, isOfMessage: Bool, stampSeconds: Int64) -> Version? {
        guard self.reports.failed(response, isOfMessage: isOfMessage, stampSeconds: stampSeconds) else { return nil }
        return self.versions.kept.last { $0.stampSeconds == stampSeconds }
    }
    /// The counts of a version.
    func counts(of stampSeconds: Int64) -> CrowdReport {
        guard self.reports.newest.stampSeconds != stampSeconds else { return self.reports.newest }
        return self.reports.former.last { $0.counts.stampSeconds == stampSeconds }?.counts ?? CrowdReport()
    }
    /// Number of members for whom the newest version was refused.
    var refusedCount: Int { self.reports.refusedCount }
    /// Members that get the newest version by broadcast, as of now.
    func listeners(in members: borrowing MemberTable) -> ListenerCounts {
        var counts = ListenerCounts()
        for pass in self.passes.indices where self.passes[pass].isServedByChannel {
            let count = members.count(of: self.passes[pass].ring) - self.passes[pass].lateListenerCount
            counts[self.passes[pass].environment] += UInt64(max(0, count))
        }
        return counts
    }

    // MARK: Telling
    /// When the counts are reported, steady; `Int64.max`: nothing is to be reported, or the next progress record covers
    /// it.
    @inline(__always) mutating func reportDueMillis(nowMillis: Int64) -> Int64 {
        self.reports.isOpen && self.isFinished ? self.reports.dueMillis(nowMillis: nowMillis) : .max
    }
    /// - Returns: the report to the owner on the newest version; `nil`: the owner knows all.
    mutating func tellReport(members: borrowing MemberTable, nowMillis: Int64) -> BusRecord.Report? {
        let isFinished = self.isFinished
        guard self.reports.isToBeTold(isFinished: isFinished) else { return nil }
        let counts = self.reports.tell(
            isFinished: isFinished, listeners: self.listeners(in: members), nowMillis: nowMillis)
        return self.told(counts, isFinished: isFinished)
    }
    /// - Returns: the content of the `pass` record that is due now; `nil`: none is.
    mutating func recordReport(nowMillis: Int64) -> CrowdReport? {
        self.isFinished ? self.reports.record(nowMillis: nowMillis) : nil
    }
    /// - Returns: what is reported and written of versions that a newer one has replaced.
    mutating func tellFormerReports() -> [BusRecord.Report] {
        guard !self.reports.former.isEmpty else { return [] }
        // When the newest expires, members may be owed one of these again. A member that waits may be owed its alert,
        // which then goes alone.
        let returning = self.versions.kept.map(\.stampSeconds) + [self.alertStampSeconds]
        return self.reports.tellFormer { returning.contains($0) }
            .map { self.told($0, isFinished: $0.waitingCount == 0) }
    }
    private mutating func told(_ counts: CrowdReport, isFinished: Bool) -> BusRecord.Report {
        var report = BusRecord.Report()
        report.life = self.versions.life
        report.doneStampSeconds = self.reports.tellDone(
            isHigh: self.passes.contains { $0.course.isHigh || $0.apart.retries.mayBeHigh },
            stampSeconds: self.versions.stampSeconds)
        report.isFinished = isFinished
        report.counts = counts
        return report
    }
    /// Whether a version may still bring priority 10. Once the audience's owner knows that nobody gets it now, the unit
    /// may already be returning.
    func mayBeHigh(stampSeconds: Int64) -> Bool { stampSeconds > self.reports.toldDoneStampSeconds }
    /// The owner, a new one perhaps, tells of versions that are known here.
    /// - Returns: whether it is to be told of the newest anew.
    mutating func askedAgain(_ versions: [Version]) -> Bool {
        guard let newest = versions.last, newest.life == self.versions.life else { return false }
        return self.reports.askedAgain(stampSeconds: newest.stampSeconds)
    }
}
