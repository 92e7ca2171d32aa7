import APNSProtocol
import PushModel

/// What a crowd counts and tells of its versions: `CrowdReports` decides, and hears here what it needs to know of rounds, versions and the alert.
///
/// What changes it is lent the crowd where it lies. What asks it for each answer is inlined.
extension Crowd {
    // MARK: Versions
    /// - Parameter members: of the crowd's partition.
    mutating func beginReport(of version: Version, members: borrowing MemberTable) -> CrowdReports.Effects {
        self.reports.versionCame(version, listeners: self.listeners(in: members))
    }
    /// The newest version has expired, and has left the versions.
    mutating func returnToFormerReport(members: borrowing MemberTable) -> CrowdReports.Effects {
        self.reports.newestExpired(
            leaving: self.versions.newest?.stampSeconds, listeners: self.listeners(in: members))
    }
    /// Members that a version which expires leaves to the one before.
    mutating func revived(_ count: Int) { self.reports.revived(count) }
    /// The audience is over here.
    /// - Returns: what was not written yet.
    mutating func endReports(members: borrowing MemberTable) -> (untold: [CrowdReport], effects: CrowdReports.Effects) {
        self.reports.ended(listeners: self.versions.isEmpty ? nil : self.listeners(in: members))
    }
    /// After a takeover counting goes on where the last record of progress says.
    mutating func resumeReports(from progress: PassesRecord, now: EngineTime) -> CrowdReports.Effects {
        guard let newest = self.versions.newest else { return CrowdReports.Effects() }
        return self.reports.resumed(
            [progress.report, progress.alertReport ?? CrowdReport()], stampSeconds: newest.stampSeconds,
            isYoung: now.wallMillis - newest.layer.recordMillis < CrowdReports.toldAnewMillis,
            alertStampSeconds: self.versions.alert?.stampSeconds)
    }
    /// What a record of progress says of reports.
    func report(into progress: inout PassesRecord) {
        progress.report = self.reports.newest
        progress.alertReport = self.reports.formerCounts(progress.alertStampSeconds)
    }

    // MARK: Counting
    /// Members are owed more than before.
    /// - Parameter alertStampSeconds: of the alert that some of them wait for alone.
    @inline(__always) mutating func becameDue(_ due: Pass.Owed, alertStampSeconds: Int64) -> CrowdReports.Effects {
        self.reports.becameDue(due.all - due.alone)
        return self.reports.aloneSettled(stampSeconds: alertStampSeconds, count: -due.alone, into: .superseded)
    }
    /// Members are owed something no longer, for this reason.
    /// - Parameters:
    ///   - due: members that the newest version is due to from here on.
    ///   - alertStampSeconds: of the alert that some of them waited for alone.
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
    /// Members that were owed the newest version are owed it no longer, as it has expired.
    mutating func expired(_ count: Int) {
        self.reports.settled(due: 0, count: count, isNewerThere: false, into: .expired)
    }
    /// A member that had left the newest version to a newer push is owed it beside that.
    mutating func returned() { self.reports.returned() }
    /// Members no longer wait for the alert that goes alone, as the version beside it has expired.
    /// - Parameter count: less than 0: they do once more.
    mutating func aloneSuperseded(_ count: Int) -> CrowdReports.Effects {
        self.reports.aloneSettled(stampSeconds: self.alertStampSeconds, count: count, into: .superseded)
    }
    /// After a takeover, members that the round comes to with an alert that goes alone.
    mutating func aloneRestored(pass: Int) {
        self.reports.aloneRestored(stampSeconds: self.alertStampSeconds, count: self.passes[pass].course.aloneCount)
    }
    /// A member that the round met with an alert that goes alone waits.
    mutating func aloneDeferred() -> CrowdReports.Effects {
        self.reports.aloneDeferred(stampSeconds: self.alertStampSeconds)
    }
    /// A member that waited gets an alert alone.
    mutating func aloneReturned() -> CrowdReports.Effects {
        self.reports.aloneReturned(stampSeconds: self.alertStampSeconds)
    }
    /// A push of its was answered.
    @inline(__always) mutating func answered(
        _ answer: PushAnswer, end: MemberEnd, stampSeconds: Int64, wallMillis: Int64
    ) -> CrowdReports.Effects {
        self.reports.answered(answer, end: end, stampSeconds: stampSeconds, wallMillis: wallMillis)
    }
    /// A member failed for good.
    /// - Returns: the version that an outcome record of its own names; `nil`: it is counted, and has none.
    mutating func failed(_ response: PushResponse, isOfMessage: Bool, stampSeconds: Int64) -> Version? {
        guard self.reports.failed(response, isOfMessage: isOfMessage, stampSeconds: stampSeconds) else { return nil }
        return self.versions.kept.last { $0.stampSeconds == stampSeconds }
    }
    /// What is counted of a version.
    func counts(of stampSeconds: Int64) -> CrowdReport {
        guard self.reports.newest.stampSeconds != stampSeconds else { return self.reports.newest }
        return self.reports.former.last { $0.counts.stampSeconds == stampSeconds }?.counts ?? CrowdReport()
    }
    /// Members that are refused the newest version.
    var refusedCount: Int { self.reports.refusedCount }
    /// Who gets the newest version by broadcast, as it stands.
    func listeners(in members: borrowing MemberTable) -> ListenerCounts {
        var counts = ListenerCounts()
        for pass in self.passes.indices where self.passes[pass].isServedByChannel {
            let count = members.count(of: self.passes[pass].ring) - self.passes[pass].lateListenerCount
            counts[self.passes[pass].environment] += UInt64(max(0, count))
        }
        return counts
    }

    // MARK: Telling
    /// When what has been counted is told, steady; `Int64.max`: nothing is to be told, or the next progress record tells it as well.
    @inline(__always) func reportDueMillis(nowMillis: Int64) -> Int64 {
        self.reports.isOpen && self.isFinished ? self.reports.dueMillis(nowMillis: nowMillis) : .max
    }
    /// - Returns: what the owner is told of the newest version; `nil`: it knows all.
    mutating func tellReport(members: borrowing MemberTable, nowMillis: Int64) -> BusRecord.Report? {
        let isFinished = self.isFinished
        guard self.reports.isToBeTold(isFinished: isFinished) else { return nil }
        let counts = self.reports.tell(
            isFinished: isFinished, listeners: self.listeners(in: members), nowMillis: nowMillis)
        return self.told(counts, isFinished: isFinished)
    }
    /// - Returns: what the `pass` record that is due now says; `nil`: none is.
    mutating func recordReport(nowMillis: Int64) -> CrowdReport? {
        self.isFinished ? self.reports.record(nowMillis: nowMillis) : nil
    }
    /// - Returns: what is told, and written, of versions that a newer one has taken over from.
    mutating func tellFormerReports() -> [BusRecord.Report] {
        guard !self.reports.former.isEmpty else { return [] }
        // When the newest expires its members may be owed one of these again. One that waits may be owed its alert, which then goes alone.
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
    /// Whether a version may bring priority 10 still. Once the audience's owner knows that nobody is sent it now, its unit may be coming back already.
    func mayBeHigh(stampSeconds: Int64) -> Bool { stampSeconds > self.reports.toldDoneStampSeconds }
    /// The owner, a new one perhaps, tells of versions that are known here.
    /// - Returns: whether it is to be told of the newest anew.
    mutating func askedAgain(_ versions: [Version]) -> Bool {
        guard let newest = versions.last, newest.life == self.versions.life else { return false }
        return self.reports.askedAgain(stampSeconds: newest.stampSeconds)
    }
}
