import APNSProtocol
import PushModel

/// What a partition tells of its passes (fan-out §5).
extension ShardEngine {
    /// Records about single members that failed in one pass of a partition; the others are counted.
    static var failuresToldMax: UInt64 { 1_024 }

    /// A new version: the one before has what it has.
    mutating func beginReport(_ crowd: CrowdID, of version: Version) {
        self.tellReport(crowd, isSuperseded: true)
        if version.isHigh || version.isFrequentHigh {
            self.audiences.crowds[crowd].highStampSeconds = version.stampSeconds
        }
        var report = CrowdReport()
        report.stampSeconds = version.stampSeconds
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        for pass in self.audiences.crowds[crowd].passes {
            report.members += UInt64(members.table.count(of: pass.ring))
        }
        report.isUntold = true
        self.audiences.crowds[crowd].report = report
    }
    /// Counts an answer where it belongs, and tells when the pass is over.
    mutating func note(_ answer: PushAnswer, end: MemberEnd, push: MemberPush, now: EngineTime) {
        guard push.stampSeconds == self.audiences.crowds[push.crowd].report.stampSeconds else { return }
        switch end {
        case .ended(.accepted):
            self.audiences.crowds[push.crowd].report.accepted += 1
            if self.audiences.crowds[push.crowd].report.firstAcceptedMillis == 0 {
                self.audiences.crowds[push.crowd].report.firstAcceptedMillis = now.wallMillis
            }
            self.audiences.crowds[push.crowd].report.lastAcceptedMillis = now.wallMillis
        case .ended(.gone): self.audiences.crowds[push.crowd].report.gone += 1
        case .ended(.failed): self.audiences.crowds[push.crowd].report.failed += 1
        case .ended(.left): self.audiences.crowds[push.crowd].report.left += 1
        case .ended, .waits: self.audiences.crowds[push.crowd].report.retried += 1
        }
        self.audiences.crowds[push.crowd].report.isUntold = true
        if self.audiences.crowds[push.crowd].isFinished { self.tellReport(push.crowd, now: now) }
    }
    /// Tells the audience's owner how far the crowd is: when its passes are over, and now and then before.
    mutating func tellReport(_ crowd: CrowdID, now: EngineTime) { self.tellReport(crowd, isSuperseded: false) }
    private mutating func tellReport(_ crowd: CrowdID, isSuperseded: Bool) {
        guard self.audiences.crowds[crowd].report.stampSeconds > 0, self.audiences.crowds[crowd].report.isUntold else {
            return
        }
        let isFinished = self.audiences.crowds[crowd].isFinished
        let isHigh = self.audiences.crowds[crowd].passes.contains { $0.isHigh || $0.retries.mayBeHigh }
        var report = BusRecord.Report()
        report.bundleID = Array(self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].bundleID.utf8)
        report.partition = self.memory.partitions[self.audiences.crowds[crowd].partition].number
        report.life = self.audiences.crowds[crowd].life
        report.doneStampSeconds =
            isHigh
            ? max(0, self.audiences.crowds[crowd].highStampSeconds - 1) : self.audiences.crowds[crowd].stampSeconds
        report.isFinished = isFinished
        report.counts = self.audiences.crowds[crowd].report
        self.audiences.crowds[crowd].report.isUntold = false
        self.audiences.crowds[crowd].reportedDoneStampSeconds = report.doneStampSeconds
        self.journal.report(report, of: crowd, in: &self.memory, audiences: self.audiences)
    }
    /// An outcome record of a member that failed for good; of very many in one pass the last are only counted.
    mutating func tellFailure(_ push: MemberPush, response: PushResponse, outcome: Outcome) {
        guard self.audiences.crowds[push.crowd].generation == push.crowdGeneration,
            self.audiences.crowds[push.crowd].report.gone + self.audiences.crowds[push.crowd].report.failed
                < Self.failuresToldMax,
            let version = self.audiences.crowds[push.crowd].versions.last(where: {
                $0.stampSeconds == push.stampSeconds
            })
        else { return }
        let members = self.audiences.crowds.members(of: push.partition)
        // The member's bytes stay while they are hashed.
        let token = unsafe members.table.tokenBytes(push.member)
        var details = OutcomeDetails()
        details.hasPush = true
        details.status = response.status
        details.reason = response.reason
        details.apnsID = push.apnsID
        details.priority = push.priority
        details.mergedCount = 1
        details.tokenHash = PushComposer.hash(ofToken: unsafe Span(_unsafeElements: token))
        self.journal.tellFailure(
            outcome, of: version, audience: self.audiences.crowds[push.crowd].id,
            app: self.audiences.crowds[push.crowd].app, details: details, partition: push.partition, in: &self.memory)
    }
    /// The times of an accepted push to a member, for histograms.
    mutating func sampleMember(_ push: MemberPush, apnsMicros: Int64, now: EngineTime) {
        self.keepSample(
            AcceptedSample(recordMillis: push.recordMillis, queuedMillis: 0, apnsMicros: apnsMicros))
    }
}
