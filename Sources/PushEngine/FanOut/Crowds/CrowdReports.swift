import APNSProtocol
import PushModel

/// The counts of a crowd's versions: the newest, and former ones that are still counted. This type decides what is
/// reported and when; the engine sends the reports.
struct CrowdReports {
    /// What the engine has to do after a change.
    struct Effects: Equatable {
        /// Growth of the number of members whose push of the newest version was refused; below 0: the number has
        /// shrunk.
        var refusedStep = 0
        /// Whether former versions have to be reported: see `makeFormerReports`.
        var reportsFormer = false
    }
    /// A version that is no longer the newest: it has expired, or a newer one has arrived.
    struct Former: Equatable {
        fileprivate(set) var counts: CrowdReport
        fileprivate(set) var owner: ReportSchedule.Owner
    }
    /// Maximum number of former versions that are counted until their last push is answered. Beyond it the first in
    /// `former` are dropped, except for versions that members may be owed again.
    static let formerMax = 4
    /// Number of members that are gone or have failed for the newest version, beyond which failures are only counted.
    /// Failures before that get outcome records of their own.
    static let failureRecordsMax: UInt64 = 1_024
    /// Age below which a version is reported again after a takeover, milliseconds. Its last report may have been lost
    /// with the former owner of the partition.
    static let sentAnewMillis: Int64 = 120_000

    private(set) var newest = CrowdReport()
    /// The former versions, in the order in which they ceased to be the newest.
    private(set) var former: [Former] = []
    private(set) var schedule = ReportSchedule()
    /// The stamp in the last report to the audience's owner: versions up to this stamp give nobody priority 10 now.
    private(set) var reportedDoneStampSeconds: Int64 = 0
    /// The stamp of the newest version with priority 10.
    private var highStampSeconds: Int64 = 0
    /// Number of members that an expired version leaves to the previous version. They are added to the previous
    /// version's counts when counting returns to it.
    private var revivedCount = 0

    /// Number of members whose push of the newest version was refused.
    var refusedCount: Int { Int(clamping: self.newest.counts.failed) }
    /// The counts of a former version; `nil`: that version is not counted.
    func formerCounts(_ stampSeconds: Int64) -> CrowdReport? {
        self.former.first { $0.counts.stampSeconds == stampSeconds }?.counts
    }
    private func formerIndex(_ stampSeconds: Int64) -> Int? {
        self.former.firstIndex { $0.counts.stampSeconds == stampSeconds }
    }

    // MARK: Versions
    /// Begins to count a new version.
    /// - Parameter listeners: number of members that got the previous version by broadcast.
    mutating func versionCame(_ version: Version, listeners: ListenerCounts) -> Effects {
        if version.isHigh || version.isFrequentHigh { self.highStampSeconds = version.stampSeconds }
        let effects = self.setAside(listeners: listeners)
        self.newest.stampSeconds = version.stampSeconds
        self.schedule.counted()
        return effects
    }
    /// Returns to the counts of the previous version, because the newest has expired.
    /// - Parameter stampSeconds: stamp of the previous version; `nil`: there is none.
    mutating func newestExpired(leaving stampSeconds: Int64?, listeners: ListenerCounts) -> Effects {
        let revived = UInt64(max(0, self.revivedCount))
        self.revivedCount = 0
        guard let stampSeconds else { return Effects() }
        var effects = self.setAside(listeners: listeners)
        if let index = self.formerIndex(stampSeconds) {
            self.newest = self.former.remove(at: index).counts
            effects.refusedStep += self.refusedCount
        } else {
            self.newest.isOfOthers = true
        }
        self.newest.stampSeconds = stampSeconds
        let superseded = min(revived, self.newest.counts.superseded)
        self.newest.counts.superseded -= superseded
        self.newest.counts.due += revived - superseded
        self.schedule.counted()
        effects.reportsFormer = true
        return effects
    }
    /// Counts members that an expiring version leaves to the previous one.
    mutating func revived(_ count: Int) { self.revivedCount += count }
    /// Ends the counts, because the audience is over in this partition.
    /// - Parameter listeners: number of members served by broadcast; `nil`: there is no version.
    /// - Returns: counts of versions that have not been reported yet.
    mutating func ended(listeners: ListenerCounts?) -> (unreported: [CrowdReport], effects: Effects) {
        let effects = self.setAside(listeners: listeners)
        let unreported = self.former.filter { $0.owner == .toReport }.map(\.counts)
        self.former = []
        return (unreported, effects)
    }
    private mutating func setAside(listeners: ListenerCounts?) -> Effects {
        let effects = Effects(refusedStep: -self.refusedCount)
        if self.newest.stampSeconds > 0 {
            let isUnreported = self.schedule.owner == .toReport || self.schedule.record == .toWrite
            var former = Former(counts: self.newest, owner: isUnreported ? .toReport : .reported)
            if let listeners { former.counts.listeners = listeners }
            self.former.append(former)
        }
        self.newest = CrowdReport()
        self.schedule.begin()
        return effects
    }
    /// Continues counting after a takeover from the last record of progress.
    /// - Parameters:
    ///   - known: what that record says of versions.
    ///   - stampSeconds: stamp of the newest version.
    ///   - isYoung: whether the last report of the newest version may have been lost with the previous owner.
    ///   - alertStampSeconds: stamp of the version whose alert is owed; `nil`: none is.
    mutating func resumed(
        _ known: [CrowdReport], stampSeconds: Int64, isYoung: Bool, alertStampSeconds: Int64?
    ) -> Effects {
        func resumed(_ stampSeconds: Int64) -> Former? {
            guard var report = known.first(where: { $0.stampSeconds == stampSeconds }) else { return nil }
            let owner = report.waitingCount > 0 ? ReportSchedule.Owner.toReport : .reported
            report.resume()
            return Former(counts: report, owner: owner)
        }
        let before = self.refusedCount
        let newest = resumed(stampSeconds)
        self.schedule.begin()
        self.newest = newest?.counts ?? CrowdReport()
        self.newest.stampSeconds = stampSeconds
        if let alertStampSeconds, alertStampSeconds != stampSeconds, let alert = resumed(alertStampSeconds) {
            self.former = [alert]
        }
        if isYoung || newest?.owner == .toReport { self.schedule.counted() }
        return Effects(refusedStep: self.refusedCount - before)
    }

    // MARK: Counting
    /// Counts more members that are owed the newest version.
    /// - Parameter count: number of members; below 0: number of members that are no longer owed the version.
    @inline(__always) mutating func becameDue(_ count: Int) {
        self.newest.counts.due &+= UInt64(truncatingIfNeeded: count)
    }
    /// Counts a member that is owed the newest version after an alert that goes alone. If the version was already
    /// counted as superseded for some member, one such count is taken back.
    mutating func returned() {
        self.newest.count(-1, into: .superseded)
        self.schedule.counted()
    }
    /// Counts members that are no longer owed something, and why.
    /// - Parameters:
    ///   - due: number of members that are owed the newest version from now on.
    ///   - isNewerThere: whether the newest version has just been taken. The settlement is then counted with the
    ///     previous version, which the members were owed.
    @inline(__always) mutating func settled(
        due: Int, count: Int, isNewerThere: Bool, into settlement: MemberSettlement
    ) {
        guard due != 0 || count != 0 else { return }
        let count = UInt64(truncatingIfNeeded: count)
        self.newest.counts.due &+= UInt64(due)
        if isNewerThere, let last = self.former.indices.last {
            // If no member still waited for the previous version, its report has nothing new.
            guard count > 0 else { return }
            self.former[last].counts.counts.count(settlement, count)
            self.former[last].owner = .toReport
        } else {
            self.newest.counts.count(settlement, count)
            self.schedule.counted()
        }
    }
    /// Counts members that are no longer owed an alert that goes alone. Their settlement is counted in the report of
    /// the version that brought the alert.
    /// - Parameters:
    ///   - stampSeconds: stamp of the version that brought the alert.
    ///   - count: number of members; if it is negative, that many more members are owed the alert.
    @inline(__always) mutating func aloneSettled(
        stampSeconds: Int64, count: Int, into settlement: MemberSettlement
    ) -> Effects {
        count == 0
            ? Effects() : self.aloneChanged(stampSeconds: stampSeconds, count: count, into: settlement)
    }
    @inline(never) private mutating func aloneChanged(
        stampSeconds: Int64, count: Int, into settlement: MemberSettlement
    ) -> Effects {
        if self.newest.stampSeconds == stampSeconds {
            self.newest.count(count, into: settlement)
            self.schedule.counted()
            return Effects()
        }
        guard let index = self.formerIndex(stampSeconds) else { return Effects() }
        self.former[index].counts.count(count, into: settlement)
        self.former[index].owner = .toReport
        return Effects(reportsFormer: self.former[index].counts.waitingCount == 0)
    }
    /// After a takeover, counts the members to which the round has yet to bring an alert that goes without the newest
    /// content. They count with the alert's version.
    mutating func aloneRestored(stampSeconds: Int64, count: Int) {
        guard count > 0, let index = self.formerIndex(stampSeconds) else { return }
        self.former[index].counts.counts.due += UInt64(count)
        self.former[index].owner = .toReport
    }
    /// Counts a member that now waits for an alert that goes alone: as superseded for the alert's version, and as due
    /// for the newest version.
    mutating func aloneDeferred(stampSeconds: Int64) -> Effects {
        self.newest.counts.due += 1
        return self.aloneSettled(stampSeconds: stampSeconds, count: 1, into: .superseded)
    }
    /// Reverses `aloneDeferred` for a member, which now gets the alert alone.
    mutating func aloneReturned(stampSeconds: Int64) -> Effects {
        let effects = self.aloneSettled(stampSeconds: stampSeconds, count: -1, into: .superseded)
        self.newest.counts.due -= min(1, self.newest.counts.due)
        return effects
    }
    /// Counts the answer to a push that brought the version with that stamp.
    @inline(__always) mutating func answered(
        _ answer: PushAnswer, end: MemberEnd, stampSeconds: Int64, wallMillis: Int64
    ) -> Effects {
        guard stampSeconds == self.newest.stampSeconds else {
            return self.formerAnswered(answer, end: end, stampSeconds: stampSeconds, wallMillis: wallMillis)
        }
        self.newest.count(end, answer, wallMillis: wallMillis)
        self.schedule.counted()
        if case .ended(.failed) = end { return Effects(refusedStep: 1) }
        return Effects()
    }
    @inline(never) private mutating func formerAnswered(
        _ answer: PushAnswer, end: MemberEnd, stampSeconds: Int64, wallMillis: Int64
    ) -> Effects {
        let index = self.formerIndex(stampSeconds)
        if case .waits = end {
            // From here on the member waits for the newest version.
            self.newest.counts.due += 1
            if let index { self.former[index].counts.counts.superseded += 1 }
        }
        guard let index else { return Effects() }
        self.former[index].counts.count(end, answer, wallMillis: wallMillis)
        self.former[index].owner = .toReport
        return Effects(reportsFormer: self.former[index].counts.waitingCount == 0)
    }
    /// Counts why a member failed for good.
    /// - Returns: whether the failure gets an outcome record of its own. It gets none once `failureRecordsMax` members
    ///   are gone or have failed for the newest version.
    mutating func failed(_ response: PushResponse, isOfMessage: Bool, stampSeconds: Int64) -> Bool {
        if self.newest.stampSeconds == stampSeconds {
            self.newest.count(response, isOfMessage: isOfMessage)
        } else if let index = self.formerIndex(stampSeconds) {
            self.former[index].counts.count(response, isOfMessage: isOfMessage)
        }
        return self.newest.counts.gone + self.newest.counts.failed < Self.failureRecordsMax
    }

    // MARK: Reporting
    /// Whether something about the newest version has to be reported, or written as a `pass` record, once its passes
    /// have ended.
    @inline(__always) var isOpen: Bool { self.schedule.isOpen }
    /// When the counts must be reported or recorded after the passes have ended (steady clock); `Int64.max`: nothing is
    /// due. While passes continue, a report is sent with each progress record.
    func dueMillis(nowMillis: Int64) -> Int64 {
        let reported = self.newest.stampSeconds > 0 ? self.schedule.dueMillis(nowMillis: nowMillis) : .max
        return min(reported, self.schedule.recordDueMillis(nowMillis: nowMillis))
    }
    /// Whether the newest version has to be reported to the owner.
    /// - Parameter isFinished: whether its passes have ended.
    func isToBeReported(isFinished: Bool) -> Bool {
        guard self.newest.stampSeconds > 0 else { return false }
        switch self.schedule.owner {
        case .reported: return false
        case .toReportEnd: return isFinished
        case .toReport: return true
        }
    }
    /// Makes the report on the newest version for the owner.
    /// - Returns: the report. It is empty if only a former owner has counted the version.
    mutating func makeReport(isFinished: Bool, listeners: ListenerCounts, nowMillis: Int64) -> CrowdReport {
        self.newest.listeners = listeners
        // The former owner's counts remain valid until there are new ones. A report without counts replaces nothing.
        let hasCounts = !self.newest.isOfOthers || self.newest.counts.due > 0
        self.schedule.reported(isEnd: isFinished, isWritten: hasCounts, nowMillis: nowMillis)
        return hasCounts ? self.newest : CrowdReport()
    }
    /// Makes the `pass` record that is due after the passes have ended.
    /// - Returns: the record's content; `nil`: none is due.
    mutating func record(nowMillis: Int64) -> CrowdReport? {
        guard self.schedule.recordDueMillis(nowMillis: nowMillis) <= nowMillis else { return nil }
        self.schedule.written(isEnd: true, nowMillis: nowMillis)
        return self.newest
    }
    /// Makes the reports on former versions, if they were counted since their last report. Forgets versions that need
    /// no more counting.
    /// - Parameter mayReturn: whether members may be owed the version with that stamp again. That happens when the
    ///   newest version expires, or when the version's alert goes alone.
    /// - Returns: the counts that are reported to the owner and written as `pass` records.
    mutating func makeFormerReports(mayReturn: (Int64) -> Bool) -> [CrowdReport] {
        var reported: [CrowdReport] = []
        var index = 0
        while index < self.former.count {
            let counts = self.former[index].counts
            if self.former[index].owner == .toReport {
                self.former[index].owner = .reported
                reported.append(counts)
            }
            let isOneTooMany = self.former.count - index > Self.formerMax
            if !mayReturn(counts.stampSeconds), counts.waitingCount == 0 || isOneTooMany {
                self.former.remove(at: index)
            } else {
                index += 1
            }
        }
        return reported
    }
    /// Lets the newest version be reported again. The owner has sent the version again, and may be a new owner that
    /// does not know the earlier reports.
    /// - Returns: `false`: that stamp is not the newest version's.
    mutating func askedAgain(stampSeconds: Int64) -> Bool {
        guard stampSeconds == self.newest.stampSeconds else { return false }
        self.schedule.counted()
        return true
    }
    /// Sets the stamp that the next report says: versions up to it give nobody priority 10 now.
    /// - Parameters:
    ///   - isHigh: whether some members may still get priority 10.
    ///   - stampSeconds: stamp of the newest version.
    /// - Returns: the stamp that the report says.
    mutating func reportDone(isHigh: Bool, stampSeconds: Int64) -> Int64 {
        self.reportedDoneStampSeconds = isHigh ? max(0, self.highStampSeconds - 1) : stampSeconds
        return self.reportedDoneStampSeconds
    }
}
