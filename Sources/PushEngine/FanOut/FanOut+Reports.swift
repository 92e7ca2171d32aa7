import APNSProtocol
import PushModel

/// What a partition reports on its passes (fan-out contract: Member records), to the audience's owner and in `pass`
/// records. Crowds decide: see `CrowdReports`.
extension FanOut {
    // MARK: Counting
    /// Carries out what follows from a change in a crowd's reports: counts refused members, and sends reports on former
    /// versions.
    @inline(__always) mutating func carryOut(
        _ effects: CrowdReports.Effects, of crowd: CrowdID, in core: inout ShardCore
    ) {
        core.memory.counters.membersRefused += effects.refusedStep
        if effects.reportsFormer { self.sendFormerReports(crowd, in: &core) }
    }

    // MARK: Reporting
    /// Reports to the audience's owner how far the newest version has got, and writes the `pass` record when the
    /// version's passes are over.
    mutating func sendReport(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        let members = self.crowds.members(of: crowd)
        if let report = self.crowds[crowd].makeReport(members: members.table, nowMillis: now.steadyMillis) {
            core.journal.report(report, of: self.crowds[crowd], in: &core.memory)
        }
        if let report = self.crowds[crowd].recordReport(nowMillis: now.steadyMillis) {
            self.record(report, of: crowd, in: &core)
        }
    }
    /// Reports on versions that are no longer the newest: at once, and again when their last push has been answered.
    mutating func sendFormerReports(_ crowd: CrowdID, in core: inout ShardCore) {
        for report in self.crowds[crowd].makeFormerReports() {
            core.journal.report(report, of: self.crowds[crowd], in: &core.memory)
            self.record(report.counts, of: crowd, in: &core)
        }
    }
    /// Writes the `pass` records that were not written yet, because the audience is over in this partition.
    mutating func recordAtTheEnd(of crowd: CrowdID, in core: inout ShardCore) {
        let members = self.crowds.members(of: crowd)
        let (unreported, effects) = self.crowds[crowd].endReports(members: members.table)
        self.carryOut(effects, of: crowd, in: &core)
        self.uncount(crowd, in: &core)
        for report in unreported { self.record(report, of: crowd, in: &core) }
    }
    /// Writes a report as a `pass` record. Nothing is written for a version that was due to nobody. A former owner, or
    /// a former crowd of the same name, may have written a fuller record, and an empty one would replace it.
    private mutating func record(_ report: CrowdReport, of crowd: CrowdID, in core: inout ShardCore) {
        guard report.counts.due > 0 else { return }
        core.journal.recordPass(report, of: self.crowds[crowd], in: &core.memory)
    }

    // MARK: Single members
    /// Counts why a member failed for good, and writes an outcome record for it. If very many members fail in one pass,
    /// the last failures are only counted.
    /// - Parameter isTokenKept: whether APNs refused the token together with many others, so that the member stays.
    mutating func recordFailure(
        _ push: MemberPush, response: PushResponse, outcome: Outcome, isTokenKept: Bool = false,
        in core: inout ShardCore
    ) {
        guard self.crowds.contains(push.crowd, generation: push.crowdGeneration),
            let version = self.crowds[push.crowd].failed(
                response, isOfMessage: outcome == .deadLettered, stampSeconds: push.stampSeconds)
        else { return }
        let members = self.crowds.members(of: push.partition)
        var details = self.details(of: push, status: response.status, reason: response.reason, members: members)
        if isTokenKept { details.tokenStanding = .doubted }
        core.journal.recordFailure(
            outcome, of: version, crowd: self.crowds[push.crowd], details: details, in: &core.memory)
    }
    /// The details of an outcome record about a push to a single member.
    func details(of push: MemberPush, status: UInt16, reason: String, members: CrowdTable.Members) -> OutcomeDetails {
        // The token's bytes stay valid while they are hashed.
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
    /// Keeps the times of an accepted push to a member, for histograms.
    mutating func sampleMember(_ push: MemberPush, apnsMicros: Int64, in core: inout ShardCore, now: EngineTime) {
        core.keepSample(
            AcceptedSample(recordMillis: push.recordMillis, queuedMillis: 0, apnsMicros: apnsMicros, isMember: true))
    }
}
