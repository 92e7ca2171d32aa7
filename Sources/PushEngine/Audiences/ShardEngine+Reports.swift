import APNSProtocol
import PushModel

/// What a partition tells of its passes (fan-out contract: Member records): to the audience's owner, and in `pass` records.
extension ShardEngine {
    /// Records about single members that failed in one pass of a partition; the others are counted.
    static var failuresToldMax: UInt64 { 1_024 }
    /// A version is told of this often at most.
    static var reportEveryMillis: Int64 { 1_000 }
    /// Once its pass has ended, what late members change is written this often at most.
    static var passRecordEveryMillis: Int64 { 60_000 }
    /// Versions before the newest that are counted until their last push is answered.
    static var formerReportsMax: Int { 4 }
    /// Of a version younger than that a successor cannot know what was told.
    static var toldAnewMillis: Int64 { 120_000 }

    // MARK: Counting
    /// A new version: from here on members are counted with it.
    mutating func beginReport(_ crowd: CrowdID, of version: Version) {
        if version.isHigh || version.isFrequentHigh {
            self.audiences.crowds[crowd].highStampSeconds = version.stampSeconds
        }
        self.setReportAside(crowd)
        self.audiences.crowds[crowd].report.stampSeconds = version.stampSeconds
        self.audiences.crowds[crowd].report.isUntold = true
    }
    private mutating func setReportAside(_ crowd: CrowdID) {
        self.uncountRefused(crowd)
        var former = self.audiences.crowds[crowd].report
        if former.stampSeconds > 0 {
            if !self.audiences.crowds[crowd].versions.isEmpty { former.listeners = self.listeners(crowd) }
            if self.audiences.crowds[crowd].isRecordDue { former.isUntold = true }
            self.audiences.crowds[crowd].formerReports.append(former)
        }
        self.audiences.crowds[crowd].report = CrowdReport()
        self.audiences.crowds[crowd].wasToldUnfinished = false
        self.audiences.crowds[crowd].isRecordDue = false
        self.audiences.crowds[crowd].lastRecordMillis = .min
    }
    /// Some are owed something no more, for this reason.
    /// - Parameters:
    ///   - due: members that the newest version is due to from here on.
    ///   - isNewerThere: it has just been taken, and what gives way to it was due to the one before.
    mutating func noteSettled(
        _ crowd: CrowdID, due: Int, count: Int, isNewerThere: Bool, into settlement: MemberSettlement
    ) {
        guard due != 0 || count != 0 else { return }
        let count = UInt64(truncatingIfNeeded: count)
        self.audiences.crowds[crowd].report.counts.due &+= UInt64(due)
        if isNewerThere, let last = self.audiences.crowds[crowd].formerReports.indices.last {
            // Where all had the one before, nothing is new of it.
            guard count > 0 else { return }
            self.audiences.crowds[crowd].formerReports[last].counts.count(settlement, count)
            self.audiences.crowds[crowd].formerReports[last].isUntold = true
        } else {
            self.audiences.crowds[crowd].report.counts.count(settlement, count)
            self.audiences.crowds[crowd].report.isUntold = true
        }
    }
    /// Some are owed an alert alone no more, or again: the version that it is of has counted them.
    /// - Parameter count: less than 0: they wait once more.
    mutating func noteAlone(_ crowd: CrowdID, stampSeconds: Int64, count: Int, into settlement: MemberSettlement) {
        guard count != 0 else { return }
        if self.audiences.crowds[crowd].report.stampSeconds == stampSeconds {
            self.audiences.crowds[crowd].report.note(count, into: settlement)
        } else if let former = self.audiences.crowds[crowd].formerReports.firstIndex(where: {
            $0.stampSeconds == stampSeconds
        }) {
            self.audiences.crowds[crowd].formerReports[former].note(count, into: settlement)
            if self.audiences.crowds[crowd].formerReports[former].waitingCount == 0 { self.tellFormerReports(crowd) }
        }
    }
    /// After a takeover: whoever the round comes to with an alert that goes alone is counted with its version again.
    mutating func noteAloneRestored(_ crowd: CrowdID, pass: Int) {
        let alone = self.audiences.crowds[crowd].passes[pass].course.aloneCount
        let stamp = self.audiences.crowds[crowd].alert?.stampSeconds ?? 0
        guard alone > 0,
            let former = self.audiences.crowds[crowd].formerReports.firstIndex(where: { $0.stampSeconds == stamp })
        else { return }
        self.audiences.crowds[crowd].formerReports[former].counts.due += UInt64(alone)
        self.audiences.crowds[crowd].formerReports[former].isUntold = true
    }
    /// A member that the round met with an alert that goes alone waits: as all that do, it is counted with the newest version.
    mutating func noteAloneDeferred(_ crowd: CrowdID) {
        self.audiences.crowds[crowd].report.counts.due += 1
        let stamp = self.audiences.crowds[crowd].alert?.stampSeconds ?? 0
        self.noteAlone(crowd, stampSeconds: stamp, count: 1, into: .superseded)
    }
    /// A member that waited gets an alert alone, and is counted with its version again.
    mutating func noteAloneReturned(_ crowd: CrowdID) {
        let stamp = self.audiences.crowds[crowd].alert?.stampSeconds ?? 0
        self.noteAlone(crowd, stampSeconds: stamp, count: -1, into: .superseded)
        self.audiences.crowds[crowd].report.counts.due -= min(1, self.audiences.crowds[crowd].report.counts.due)
    }
    /// Counts an answer where it belongs.
    mutating func note(_ answer: PushAnswer, end: MemberEnd, push: MemberPush, now: EngineTime) {
        let crowd = push.crowd
        if push.stampSeconds == self.audiences.crowds[crowd].report.stampSeconds {
            self.audiences.crowds[crowd].report.note(end, answer, wallMillis: now.wallMillis)
            if case .ended(.failed) = end { self.memory.counters.membersRefused += 1 }
            return
        }
        let former = self.audiences.crowds[crowd].formerReports.firstIndex { $0.stampSeconds == push.stampSeconds }
        if case .waits = end {
            // It waits for the newest from here on.
            self.audiences.crowds[crowd].report.counts.due += 1
            if let former { self.audiences.crowds[crowd].formerReports[former].counts.superseded += 1 }
        }
        guard let former else { return }
        self.audiences.crowds[crowd].formerReports[former].note(end, answer, wallMillis: now.wallMillis)
        if self.audiences.crowds[crowd].formerReports[former].waitingCount == 0 { self.tellFormerReports(crowd) }
    }
    /// The newest version is the newest no more.
    mutating func uncountRefused(_ crowd: CrowdID) {
        self.memory.counters.membersRefused -= Int(clamping: self.audiences.crowds[crowd].report.counts.failed)
    }
    /// The newest version has expired: what is owed now is counted with the one before.
    mutating func returnToFormerReport(_ crowd: CrowdID) {
        let revived = UInt64(max(0, self.audiences.crowds[crowd].revivedCount))
        self.audiences.crowds[crowd].revivedCount = 0
        guard let newest = self.audiences.crowds[crowd].newest else { return }
        self.setReportAside(crowd)
        let stamp = newest.stampSeconds
        let index = self.audiences.crowds[crowd].formerReports.firstIndex { $0.stampSeconds == stamp }
        if let index {
            self.audiences.crowds[crowd].report = self.audiences.crowds[crowd].formerReports.remove(at: index)
            self.memory.counters.membersRefused += Int(
                clamping: self.audiences.crowds[crowd].report.counts.failed)
        }
        self.audiences.crowds[crowd].report.stampSeconds = stamp
        let superseded = min(revived, self.audiences.crowds[crowd].report.counts.superseded)
        self.audiences.crowds[crowd].report.counts.superseded -= superseded
        self.audiences.crowds[crowd].report.counts.due += revived - superseded
        if index == nil { self.audiences.crowds[crowd].report.isOfOthers = true }
        self.audiences.crowds[crowd].report.isUntold = true
        self.tellFormerReports(crowd)
    }
    /// After a takeover counting goes on where the last record of progress says.
    mutating func resumeReport(_ crowd: CrowdID, from progress: AudienceCodec.Progress, now: EngineTime) {
        self.audiences.crowds[crowd].lateMovesUntilSeconds = progress.lateMovesUntilSeconds
        guard let newest = self.audiences.crowds[crowd].newest else { return }
        // The owner before may have used priority 10 until now.
        self.audiences.crowds[crowd].lastHighMillis = now.steadyMillis
        var report = CrowdReport()
        report.stampSeconds = newest.stampSeconds
        let known = [progress.report, progress.alertReport ?? CrowdReport()]
        if let former = known.first(where: { $0.stampSeconds == newest.stampSeconds }) {
            report = former
            report.isUntold = report.waitingCount > 0
            report.resume()
        }
        if let alert = self.audiences.crowds[crowd].alert, alert.stampSeconds != newest.stampSeconds,
            var former = known.first(where: { $0.stampSeconds == alert.stampSeconds })
        {
            former.isUntold = former.waitingCount > 0
            former.resume()
            self.audiences.crowds[crowd].formerReports = [former]
        }
        // What was told last may have been lost with the owner before.
        if now.wallMillis - newest.layer.recordMillis < Self.toldAnewMillis { report.isUntold = true }
        self.audiences.crowds[crowd].report = report
        self.memory.counters.membersRefused += Int(clamping: report.counts.failed)
    }

    // MARK: Telling
    /// When what has been counted is told, steady; `Int64.max`: nothing is to be told, or the next progress record tells it as well.
    func reportDueMillis(_ crowd: CrowdID, now: EngineTime) -> Int64 {
        // The last answer may have been told before the pass had come round.
        let isUntold =
            (self.audiences.crowds[crowd].report.isUntold || self.audiences.crowds[crowd].wasToldUnfinished)
            && self.audiences.crowds[crowd].report.stampSeconds > 0
        guard isUntold || self.audiences.crowds[crowd].isRecordDue, self.audiences.crowds[crowd].isFinished else {
            return .max
        }
        var due = Int64.max
        let (told, recorded) = (
            self.audiences.crowds[crowd].lastReportMillis, self.audiences.crowds[crowd].lastRecordMillis
        )
        if isUntold { due = told == .min ? now.steadyMillis : told + Self.reportEveryMillis }
        if self.audiences.crowds[crowd].isRecordDue {
            due = min(due, recorded == .min ? now.steadyMillis : recorded + Self.passRecordEveryMillis)
        }
        return due
    }
    /// Tells the audience's owner how far the newest version is, and writes the `pass` record when its pass is over.
    mutating func tellReport(_ crowd: CrowdID, now: EngineTime) {
        let isFinished = self.audiences.crowds[crowd].isFinished
        let isUntold =
            self.audiences.crowds[crowd].report.isUntold
            || isFinished && self.audiences.crowds[crowd].wasToldUnfinished
        if isUntold, self.audiences.crowds[crowd].report.stampSeconds > 0 {
            self.audiences.crowds[crowd].report.isUntold = false
            self.audiences.crowds[crowd].wasToldUnfinished = !isFinished
            self.audiences.crowds[crowd].lastReportMillis = now.steadyMillis
            self.audiences.crowds[crowd].report.listeners = self.listeners(crowd)
            let report = self.audiences.crowds[crowd].report
            // What the owner before has said of it stands, as long as there is no more to say: of no version it counts nothing.
            let hasCounts = !report.isOfOthers || report.counts.due > 0
            self.audiences.crowds[crowd].isRecordDue = hasCounts
            self.send(hasCounts ? report : CrowdReport(), of: crowd, isFinished: isFinished)
        }
        let recorded = self.audiences.crowds[crowd].lastRecordMillis
        guard isFinished, self.audiences.crowds[crowd].isRecordDue,
            recorded == .min || recorded + Self.passRecordEveryMillis <= now.steadyMillis
        else { return }
        self.audiences.crowds[crowd].isRecordDue = false
        self.audiences.crowds[crowd].lastRecordMillis = now.steadyMillis
        self.record(self.audiences.crowds[crowd].report, of: crowd)
    }
    /// Versions that a newer one has taken over from: told then, and once more when their last push has been answered.
    mutating func tellFormerReports(_ crowd: CrowdID) {
        var index = 0
        while index < self.audiences.crowds[crowd].formerReports.count {
            let report = self.audiences.crowds[crowd].formerReports[index]
            let isOver = report.waitingCount == 0
            if report.isUntold {
                self.audiences.crowds[crowd].formerReports[index].isUntold = false
                self.send(report, of: crowd, isFinished: isOver)
                self.record(report, of: crowd)
            }
            // When the newest expires its members may be owed this one again. One that waits may be owed its alert, which then goes alone.
            let mayReturn =
                self.audiences.crowds[crowd].versions.contains { $0.stampSeconds == report.stampSeconds }
                || self.audiences.crowds[crowd].alert?.stampSeconds == report.stampSeconds
            let isOneTooMany = self.audiences.crowds[crowd].formerReports.count - index > Self.formerReportsMax
            if !mayReturn, isOver || isOneTooMany {
                self.audiences.crowds[crowd].formerReports.remove(at: index)
            } else {
                index += 1
            }
        }
    }
    /// The audience is over here: what was not written yet is.
    mutating func recordAtTheEnd(of crowd: CrowdID) {
        self.setReportAside(crowd)
        self.uncount(crowd)
        for report in self.audiences.crowds[crowd].formerReports where report.isUntold {
            self.record(report, of: crowd)
        }
        self.audiences.crowds[crowd].formerReports = []
    }
    /// The owner, a new one perhaps, tells of versions that are known here: it cannot know what it was told of them.
    mutating func answerAgain(_ crowd: CrowdID, _ versions: [Version], now: EngineTime) {
        guard let newest = versions.last, newest.life == self.audiences.crowds[crowd].life,
            newest.stampSeconds == self.audiences.crowds[crowd].report.stampSeconds
        else { return }
        self.audiences.crowds[crowd].report.isUntold = true
        self.schedule(crowd, now: now)
    }
    private mutating func send(_ counts: CrowdReport, of crowd: CrowdID, isFinished: Bool) {
        var isHigh = false
        for pass in self.audiences.crowds[crowd].passes.indices
        where self.audiences.crowds[crowd].passes[pass].course.isHigh
            || self.audiences.crowds[crowd].passes[pass].apart.retries.mayBeHigh
        { isHigh = true }
        var report = BusRecord.Report()
        report.bundleID = Array(self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].bundleID.utf8)
        report.partition = self.memory.partitions[self.audiences.crowds[crowd].partition].number
        report.life = self.audiences.crowds[crowd].life
        report.doneStampSeconds =
            isHigh
            ? max(0, self.audiences.crowds[crowd].highStampSeconds - 1) : self.audiences.crowds[crowd].stampSeconds
        report.isFinished = isFinished
        report.counts = counts
        self.audiences.crowds[crowd].reportedDoneStampSeconds = report.doneStampSeconds
        self.journal.report(report, of: crowd, in: &self.memory, audiences: self.audiences)
    }
    /// A version that was due to nobody has no record: an owner before, or a crowd of that name before, may have said more.
    private mutating func record(_ report: CrowdReport, of crowd: CrowdID) {
        guard report.counts.due > 0 else { return }
        self.journal.recordPass(report, of: crowd, in: &self.memory, audiences: self.audiences)
    }

    // MARK: Single members
    /// A member failed for good: the reason is counted, and told in an outcome record of its own. Of very many in one pass the last are only
    /// counted.
    mutating func tellFailure(_ push: MemberPush, response: PushResponse, outcome: Outcome) {
        guard self.audiences.crowds[push.crowd].generation == push.crowdGeneration else { return }
        let isOfMessage = outcome == .deadLettered
        if self.audiences.crowds[push.crowd].report.stampSeconds == push.stampSeconds {
            self.audiences.crowds[push.crowd].report.note(response, isOfMessage: isOfMessage)
        } else if let former = self.audiences.crowds[push.crowd].formerReports.firstIndex(where: {
            $0.stampSeconds == push.stampSeconds
        }) {
            self.audiences.crowds[push.crowd].formerReports[former].note(response, isOfMessage: isOfMessage)
        }
        let counts = self.audiences.crowds[push.crowd].report.counts
        guard counts.gone + counts.failed < Self.failuresToldMax,
            let version = self.audiences.crowds[push.crowd].versions.last(where: {
                $0.stampSeconds == push.stampSeconds
            })
        else { return }
        let members = self.audiences.crowds.members(of: push.partition)
        let details = self.details(of: push, status: response.status, reason: response.reason, members: members)
        self.journal.tellFailure(
            outcome, of: version, audience: self.audiences.crowds[push.crowd].id,
            app: self.audiences.crowds[push.crowd].app, details: details, partition: push.partition, in: &self.memory)
    }
    /// What an outcome record says of a push to a single member.
    func details(of push: MemberPush, status: UInt16, reason: String, members: CrowdTable.Members) -> OutcomeDetails {
        // The member's bytes stay while they are hashed.
        let token = unsafe members.table.tokenBytes(push.member)
        var details = OutcomeDetails()
        details.hasPush = true
        details.status = status
        details.reason = reason
        details.apnsID = push.apnsID
        details.priority = push.priority
        details.mergedCount = 1
        details.tokenHash = PushComposer.hash(ofToken: unsafe Span(_unsafeElements: token))
        return details
    }
    /// The times of an accepted push to a member, for histograms.
    mutating func sampleMember(_ push: MemberPush, apnsMicros: Int64, now: EngineTime) {
        self.keepSample(
            AcceptedSample(recordMillis: push.recordMillis, queuedMillis: 0, apnsMicros: apnsMicros, isMember: true))
    }
}
extension CrowdReport {
    /// - Parameter count: less than 0: so many that had given way to a newer version are owed it again, or came meanwhile.
    mutating func note(_ count: Int, into settlement: MemberSettlement) {
        if count < 0 {
            let superseded = min(self.counts.superseded, UInt64(count.magnitude))
            self.counts.superseded -= superseded
            self.counts.due += UInt64(count.magnitude) - superseded
        } else {
            self.counts.count(settlement, UInt64(count))
        }
        self.isUntold = true
    }
    mutating func note(_ end: MemberEnd, _ answer: PushAnswer, wallMillis: Int64) {
        if case .accepted = answer.result { return self.noteAccepted(wallMillis: wallMillis) }
        switch end {
        case .ended(let settlement): self.counts.count(settlement)
        case .waits: self.counts.repeated += 1
        }
        self.isUntold = true
    }
}
