import APNSProtocol
import PushModel

/// What a crowd has counted of its versions: the newest, and earlier ones whose pushes have no answer yet. It decides
/// what is reported when; its owner sends the reports.
struct CrowdReports {
    /// What a change asks of the engine.
    struct Effects: Equatable {
        /// By how much the number of members that are refused the newest version has grown.
        var refusedStep = 0
        /// Whether former versions have to be reported: see `tellFormer`.
        var tellsFormer = false
    }
    /// A version that a newer one has taken over from.
    struct Former: Equatable {
        fileprivate(set) var counts: CrowdReport
        fileprivate(set) var owner: ReportTelling.Owner
    }
    /// Number of former versions that are counted until their last push is answered.
    static let formerMax = 4
    /// Number of records about single members that failed in one pass of a partition. Further failures are only
    /// counted.
    static let failuresToldMax: UInt64 = 1_024
    /// Age up to which a next owner of the partition cannot know what was reported of a version, milliseconds.
    static let toldAnewMillis: Int64 = 120_000

    private(set) var newest = CrowdReport()
    /// The former versions, the oldest first.
    private(set) var former: [Former] = []
    private(set) var telling = ReportTelling()
    /// The newest stamp up to which the audience's owner knows that nobody is sent priority 10 now.
    private(set) var toldDoneStampSeconds: Int64 = 0
    /// The stamp of the newest version with priority 10.
    private var highStampSeconds: Int64 = 0
    /// Members that an expired version has left to the previous one, until the reports change places.
    private var revivedCount = 0

    /// Number of members that are refused the newest version.
    var refusedCount: Int { Int(clamping: self.newest.counts.failed) }
    /// What is counted of a former version; `nil`: it is counted no longer.
    func formerCounts(_ stampSeconds: Int64) -> CrowdReport? {
        self.former.first { $0.counts.stampSeconds == stampSeconds }?.counts
    }
    private func formerIndex(_ stampSeconds: Int64) -> Int? {
        self.former.firstIndex { $0.counts.stampSeconds == stampSeconds }
    }

    // MARK: Versions
    /// Begins to count a new version.
    /// - Parameter listeners: who gets the previous version by broadcast.
    mutating func versionCame(_ version: Version, listeners: ListenerCounts) -> Effects {
        if version.isHigh || version.isFrequentHigh { self.highStampSeconds = version.stampSeconds }
        let effects = self.setAside(listeners: listeners)
        self.newest.stampSeconds = version.stampSeconds
        self.telling.counted()
        return effects
    }
    /// Counts what is owed now with the previous version: the newest has expired.
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
        self.telling.counted()
        effects.tellsFormer = true
        return effects
    }
    /// Counts members that an expiring version leaves to the previous one.
    mutating func revived(_ count: Int) { self.revivedCount += count }
    /// Ends the counts: the audience is over here.
    /// - Parameter listeners: `nil`: no version is there.
    /// - Returns: what was not written yet.
    mutating func ended(listeners: ListenerCounts?) -> (untold: [CrowdReport], effects: Effects) {
        let effects = self.setAside(listeners: listeners)
        let untold = self.former.filter { $0.owner == .toTell }.map(\.counts)
        self.former = []
        return (untold, effects)
    }
    private mutating func setAside(listeners: ListenerCounts?) -> Effects {
        let effects = Effects(refusedStep: -self.refusedCount)
        if self.newest.stampSeconds > 0 {
            let isUntold = self.telling.owner == .toTell || self.telling.record == .toWrite
            var former = Former(counts: self.newest, owner: isUntold ? .toTell : .told)
            if let listeners { former.counts.listeners = listeners }
            self.former.append(former)
        }
        self.newest = CrowdReport()
        self.telling.begin()
        return effects
    }
    /// Continues counting after a takeover from the last record of progress.
    /// - Parameters:
    ///   - known: what that record says of versions.
    ///   - isYoung: whether the last report of the newest version may have been lost with the previous owner.
    ///   - alertStampSeconds: stamp of the version whose alert is owed; `nil`: none is.
    mutating func resumed(
        _ known: [CrowdReport], stampSeconds: Int64, isYoung: Bool, alertStampSeconds: Int64?
    ) -> Effects {
        func resumed(_ stampSeconds: Int64) -> Former? {
            guard var report = known.first(where: { $0.stampSeconds == stampSeconds }) else { return nil }
            let owner = report.waitingCount > 0 ? ReportTelling.Owner.toTell : .told
            report.resume()
            return Former(counts: report, owner: owner)
        }
        let before = self.refusedCount
        let newest = resumed(stampSeconds)
        self.telling.begin()
        self.newest = newest?.counts ?? CrowdReport()
        self.newest.stampSeconds = stampSeconds
        if let alertStampSeconds, alertStampSeconds != stampSeconds, let alert = resumed(alertStampSeconds) {
            self.former = [alert]
        }
        if isYoung || newest?.owner == .toTell { self.telling.counted() }
        return Effects(refusedStep: self.refusedCount - before)
    }

    // MARK: Counting
    /// Counts more members that are owed the newest version.
    /// - Parameter count: negative: members that are not owed it.
    @inline(__always) mutating func becameDue(_ count: Int) {
        self.newest.counts.due &+= UInt64(truncatingIfNeeded: count)
    }
    /// Counts a member that had left its version to a newer one, and is owed it again.
    mutating func returned() {
        self.newest.note(-1, into: .superseded)
        self.telling.counted()
    }
    /// Counts members that are no longer owed something, for this reason.
    /// - Parameters:
    ///   - due: number of members that the newest version is due to from here on.
    ///   - isNewerThere: whether it has just been taken, and what gives way to it was due to the previous version.
    @inline(__always) mutating func settled(
        due: Int, count: Int, isNewerThere: Bool, into settlement: MemberSettlement
    ) {
        guard due != 0 || count != 0 else { return }
        let count = UInt64(truncatingIfNeeded: count)
        self.newest.counts.due &+= UInt64(due)
        if isNewerThere, let last = self.former.indices.last {
            // If all members had the previous version, it has nothing new.
            guard count > 0 else { return }
            self.former[last].counts.counts.count(settlement, count)
            self.former[last].owner = .toTell
        } else {
            self.newest.counts.count(settlement, count)
            self.telling.counted()
        }
    }
    /// Counts members that are no longer owed an alert alone, or are again. The version that brought it has counted
    /// them.
    /// - Parameter count: negative: they wait once more.
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
            self.newest.note(count, into: settlement)
            self.telling.counted()
            return Effects()
        }
        guard let index = self.formerIndex(stampSeconds) else { return Effects() }
        self.former[index].counts.note(count, into: settlement)
        self.former[index].owner = .toTell
        return Effects(tellsFormer: self.former[index].counts.waitingCount == 0)
    }
    /// Counts members with their alert's version again after a takeover: the round reaches them with an alert that goes
    /// alone.
    mutating func aloneRestored(stampSeconds: Int64, count: Int) {
        guard count > 0, let index = self.formerIndex(stampSeconds) else { return }
        self.former[index].counts.counts.due += UInt64(count)
        self.former[index].owner = .toTell
    }
    /// Counts a waiting member with the newest version, as all waiting members. The round met it with an alert that
    /// goes alone.
    mutating func aloneDeferred(stampSeconds: Int64) -> Effects {
        self.newest.counts.due += 1
        return self.aloneSettled(stampSeconds: stampSeconds, count: 1, into: .superseded)
    }
    /// Counts a member that waited with its alert's version again: it gets an alert alone.
    mutating func aloneReturned(stampSeconds: Int64) -> Effects {
        let effects = self.aloneSettled(stampSeconds: stampSeconds, count: -1, into: .superseded)
        self.newest.counts.due -= min(1, self.newest.counts.due)
        return effects
    }
    /// Takes the answer to a push that brought this version.
    @inline(__always) mutating func answered(
        _ answer: PushAnswer, end: MemberEnd, stampSeconds: Int64, wallMillis: Int64
    ) -> Effects {
        guard stampSeconds == self.newest.stampSeconds else {
            return self.formerAnswered(answer, end: end, stampSeconds: stampSeconds, wallMillis: wallMillis)
        }
        self.newest.note(end, answer, wallMillis: wallMillis)
        self.telling.counted()
        if case .ended(.failed) = end { return Effects(refusedStep: 1) }
        return Effects()
    }
    @inline(never) private mutating func formerAnswered(
        _ answer: PushAnswer, end: MemberEnd, stampSeconds: Int64, wallMillis: Int64
    ) -> Effects {
        let index = self.formerIndex(stampSeconds)
        if case .waits = end {
            // The member waits for the newest version from here on.
            self.newest.counts.due += 1
            if let index { self.former[index].counts.counts.superseded += 1 }
        }
        guard let index else { return Effects() }
        self.former[index].counts.note(end, answer, wallMillis: wallMillis)
        self.former[index].owner = .toTell
        return Effects(tellsFormer: self.former[index].counts.waitingCount == 0)
    }
    /// Counts the reason of a member that failed for good.
    /// - Returns: whether the failure gets an outcome record of its own. When very many fail in one pass, the last are
    ///   only counted.
    mutating func failed(_ response: PushResponse, isOfMessage: Bool, stampSeconds: Int64) -> Bool {
        if self.newest.stampSeconds == stampSeconds {
            self.newest.note(response, isOfMessage: isOfMessage)
        } else if let index = self.formerIndex(stampSeconds) {
            self.former[index].counts.note(response, isOfMessage: isOfMessage)
        }
        return self.newest.counts.gone + self.newest.counts.failed < Self.failuresToldMax
    }

    // MARK: Telling
    /// Whether something of the newest version has to be reported once its passes have ended.
    @inline(__always) var isOpen: Bool { self.telling.isOpen }
    /// When the counts are reported, steady, now that the passes have ended; `Int64.max`: nothing has to be reported.
    /// While passes go on, the next progress record has the counts as well.
    func dueMillis(nowMillis: Int64) -> Int64 {
        let told = self.newest.stampSeconds > 0 ? self.telling.dueMillis(nowMillis: nowMillis) : .max
        return min(told, self.telling.recordDueMillis(nowMillis: nowMillis))
    }
    /// Whether the newest version has to be reported to the owner.
    /// - Parameter isFinished: whether its passes have ended.
    func isToBeTold(isFinished: Bool) -> Bool {
        guard self.newest.stampSeconds > 0 else { return false }
        switch self.telling.owner {
        case .told: return false
        case .toTellEnd: return isFinished
        case .toTell: return true
        }
    }
    /// Makes the report of the newest version for the owner.
    /// - Returns: the report.
    mutating func tell(isFinished: Bool, listeners: ListenerCounts, nowMillis: Int64) -> CrowdReport {
        self.newest.listeners = listeners
        // The former owner's counts are valid until there is more to report. A report without a version replaces
        // nothing.
        let hasCounts = !self.newest.isOfOthers || self.newest.counts.due > 0
        self.telling.told(isEnd: isFinished, isWritten: hasCounts, nowMillis: nowMillis)
        return hasCounts ? self.newest : CrowdReport()
    }
    /// Makes the `pass` record that is due now, as the passes have ended.
    /// - Returns: `nil`: none is due.
    mutating func record(nowMillis: Int64) -> CrowdReport? {
        guard self.telling.recordDueMillis(nowMillis: nowMillis) <= nowMillis else { return nil }
        self.telling.written(isEnd: true, nowMillis: nowMillis)
        return self.newest
    }
    /// Makes the reports of versions that a newer one has taken over from. Each is reported then, and once more when
    /// its last push has been answered.
    /// - Parameter mayReturn: by its stamp, whether members may be owed a version again: when the newest expires, or as
    ///   its alert goes alone.
    /// - Returns: what is reported and written.
    mutating func tellFormer(mayReturn: (Int64) -> Bool) -> [CrowdReport] {
        var told: [CrowdReport] = []
        var index = 0
        while index < self.former.count {
            let counts = self.former[index].counts
            if self.former[index].owner == .toTell {
                self.former[index].owner = .told
                told.append(counts)
            }
            let isOneTooMany = self.former.count - index > Self.formerMax
            if !mayReturn(counts.stampSeconds), counts.waitingCount == 0 || isOneTooMany {
                self.former.remove(at: index)
            } else {
                index += 1
            }
        }
        return told
    }
    /// Reports the newest version again. Its owner, perhaps a new one, sends it again: it cannot know what was reported
    /// of it.
    /// - Returns: `false`: that is not the newest.
    mutating func askedAgain(stampSeconds: Int64) -> Bool {
        guard stampSeconds == self.newest.stampSeconds else { return false }
        self.telling.counted()
        return true
    }
    /// Notes the stamp up to which nobody is sent priority 10 now.
    /// - Parameters:
    ///   - isHigh: whether some may still get it.
    ///   - stampSeconds: stamp of the newest version.
    /// - Returns: that stamp.
    mutating func tellDone(isHigh: Bool, stampSeconds: Int64) -> Int64 {
        self.toldDoneStampSeconds = isHigh ? max(0, self.highStampSeconds - 1) : stampSeconds
        return self.toldDoneStampSeconds
    }
}
