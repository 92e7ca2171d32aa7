import APNSProtocol
import PushModel

/// What a partition reports of its passes (fan-out contract: Member records): to the audience's owner, and in `pass`
/// records. Crowds decide: see `CrowdReports`.
extension ShardEngine {
    // MARK: Counting
    /// Does what a change of a crowd's reports asks for.
    @inline(__always) mutating func carryOut(_ effects: CrowdReports.Effects, of crowd: CrowdID) {
        self.memory.counters.membersRefused += effects.refusedStep
        if effects.tellsFormer { self.tellFormerReports(crowd) }
    }
    /// Counts members with a new version from now on.
    mutating func beginReport(_ crowd: CrowdID, of version: Version) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        self.carryOut(self.audiences.crowds[crowd].beginReport(of: version, members: members.table), of: crowd)
    }
    /// Returns to the version before, as the newest has expired. What is owed now is counted with it.
    mutating func returnToFormerReport(_ crowd: CrowdID) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        self.carryOut(self.audiences.crowds[crowd].returnToFormerReport(members: members.table), of: crowd)
    }

    // MARK: Telling
    /// Reports to the audience's owner how far the newest version is, and writes the `pass` record when its pass is
    /// over.
    mutating func tellReport(_ crowd: CrowdID, now: EngineTime) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        if let report = self.audiences.crowds[crowd].tellReport(members: members.table, nowMillis: now.steadyMillis) {
            self.send(report, of: crowd)
        }
        if let report = self.audiences.crowds[crowd].recordReport(nowMillis: now.steadyMillis) {
            self.record(report, of: crowd)
        }
    }
    /// Reports versions that a newer one has replaced: at once, and again when their last push has been answered.
    mutating func tellFormerReports(_ crowd: CrowdID) {
        for report in self.audiences.crowds[crowd].tellFormerReports() {
            self.send(report, of: crowd)
            self.record(report.counts, of: crowd)
        }
    }
    /// Writes what was not written yet, as the audience is over here.
    mutating func recordAtTheEnd(of crowd: CrowdID) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let (untold, effects) = self.audiences.crowds[crowd].endReports(members: members.table)
        self.carryOut(effects, of: crowd)
        self.uncount(crowd)
        for report in untold { self.record(report, of: crowd) }
    }
    /// Reports again. The owner, perhaps a new one, has sent versions that are known here, and cannot know what was
    /// reported of them.
    mutating func answerAgain(_ crowd: CrowdID, _ versions: [Version], now: EngineTime) {
        guard self.audiences.crowds[crowd].askedAgain(versions) else { return }
        self.schedule(crowd, now: now)
    }
    /// Tells the audience's owner.
    mutating func send(_ counted: BusRecord.Report, of crowd: CrowdID) {
        var report = counted
        report.bundleID = Array(self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].bundleID.utf8)
        report.partition = self.memory.partitions[self.audiences.crowds[crowd].partition].number
        self.journal.report(report, of: crowd, in: &self.memory, audiences: self.audiences)
    }
    /// Writes a report. A version that was due to nobody has none: a former owner, or a former crowd of that name, may
    /// have said more.
    private mutating func record(_ report: CrowdReport, of crowd: CrowdID) {
        guard report.counts.due > 0 else { return }
        self.journal.recordPass(report, of: crowd, in: &self.memory, audiences: self.audiences)
    }

    // MARK: Single members
    /// Counts the reason why a member failed for good, and writes an outcome record for it. If very many fail in one
    /// pass, the last are only counted.
    mutating func tellFailure(_ push: MemberPush, response: PushResponse, outcome: Outcome) {
        guard self.audiences.crowds[push.crowd].generation == push.crowdGeneration,
            let version = self.audiences.crowds[push.crowd].failed(
                response, isOfMessage: outcome == .deadLettered, stampSeconds: push.stampSeconds)
        else { return }
        let members = self.audiences.crowds.members(of: push.partition)
        let details = self.details(of: push, status: response.status, reason: response.reason, members: members)
        self.journal.tellFailure(
            outcome, of: version, audience: self.audiences.crowds[push.crowd].id,
            app: self.audiences.crowds[push.crowd].app, details: details, partition: push.partition, in: &self.memory)
    }
    /// The details of an outcome record of a push to a single member.
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
