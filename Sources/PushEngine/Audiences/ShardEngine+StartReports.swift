import PushModel

/// What is counted and told of starts (fan-out contract: Member records).
extension ShardEngine {
    // MARK: Counting
    /// Start members are owed more than before.
    mutating func noteStartsDue(_ crowd: CrowdID, count: Int) {
        self.memory.counters.startMembers.due &+= UInt64(truncatingIfNeeded: count)
        self.memory.counters.startMembers.waiting &+= UInt64(truncatingIfNeeded: count)
        self.audiences.crowds[crowd].starts.report.add(UInt64(max(0, count)), to: \.due)
    }
    /// Fewer are owed something than before, for this reason.
    mutating func settleStarts(
        _ crowd: CrowdID, count: Int, into reason: WritableKeyPath<MemberCounters, UInt64>
    ) {
        self.memory.counters.startMembers[keyPath: reason] &+= UInt64(truncatingIfNeeded: count)
        self.memory.counters.startMembers.waiting &-= UInt64(truncatingIfNeeded: count)
        self.audiences.crowds[crowd].starts.report.add(UInt64(max(0, count)), to: reason)
    }
    /// One is owed a start no more, for this reason.
    /// - Parameter start: which.
    mutating func settleStart(
        _ crowd: CrowdID, of start: StartStamp, into reason: WritableKeyPath<MemberCounters, UInt64>
    ) {
        self.memory.counters.startMembers[keyPath: reason] += 1
        self.memory.counters.startMembers.waiting &-= 1
        guard self.audiences.crowds[crowd].starts.report.start == start else { return }
        self.audiences.crowds[crowd].starts.report.add(1, to: reason)
    }
    /// A former owner announced so many, and nobody knows whether they were sent it.
    mutating func noteStartsUnknown(_ crowd: CrowdID, count: UInt64) {
        self.memory.counters.startMembers.due &+= count
        self.memory.counters.startMembers.unknown &+= count
        self.audiences.crowds[crowd].starts.report.add(count, to: \.due)
        self.audiences.crowds[crowd].starts.report.add(count, to: \.unknown)
    }
    /// An update token has joined that was no member.
    mutating func noteReturned(_ crowd: CrowdID) {
        guard self.audiences.crowds[crowd].starts.hasOrder else { return }
        self.memory.counters.startTokensReturned += 1
        self.audiences.crowds[crowd].starts.report.returnedCount += 1
        self.audiences.crowds[crowd].starts.report.isUntold = true
    }

    // MARK: Telling
    /// When what has been counted is told, steady; `Int64.max`: there is nothing to tell.
    func startReportDueMillis(_ crowd: CrowdID, now: EngineTime) -> Int64 {
        var due = Int64.max
        guard self.audiences.crowds[crowd].starts.report.stampSeconds > 0 else { return due }
        if self.audiences.crowds[crowd].starts.report.isUntold {
            let told = self.audiences.crowds[crowd].starts.lastReportMillis
            due = told == .min ? now.steadyMillis : told + Self.reportEveryMillis
        }
        guard self.audiences.crowds[crowd].starts.isPassRecordDue,
            self.audiences.crowds[crowd].starts.report.waitingCount == 0
        else { return due }
        let recorded = self.audiences.crowds[crowd].starts.lastPassRecordMillis
        return min(due, recorded == .min ? now.steadyMillis : recorded + Self.passRecordEveryMillis)
    }
    /// Tells the audience's owner how far the start is, and writes the `start-pass` record when nobody waits, or it is over. Of a start that is
    /// over while a push of it is under way, the answer is written without waiting for the minute to pass: nothing else would follow it.
    mutating func tellStarts(_ crowd: CrowdID, isOver: Bool = false, now: EngineTime) {
        let report = self.audiences.crowds[crowd].starts.report
        guard report.stampSeconds > 0 else { return }
        if report.isUntold {
            self.audiences.crowds[crowd].starts.report.isUntold = false
            self.audiences.crowds[crowd].starts.lastReportMillis = now.steadyMillis
            self.audiences.crowds[crowd].starts.isPassRecordDue = true
            let partition = self.audiences.crowds[crowd].partition
            var record = BusRecord.Report()
            record.bundleID = Array(
                self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].bundleID.utf8)
            record.partition = self.memory.partitions[partition].number
            record.life = report.life
            record.starts = report
            self.journal.report(record, of: crowd, in: &self.memory, audiences: self.audiences)
        }
        let recorded = self.audiences.crowds[crowd].starts.lastPassRecordMillis
        let isTime = recorded == .min || recorded + Self.passRecordEveryMillis <= now.steadyMillis
        guard self.audiences.crowds[crowd].starts.isPassRecordDue, isOver || (report.waitingCount == 0 && isTime)
        else { return }
        self.audiences.crowds[crowd].starts.isPassRecordDue = false
        self.audiences.crowds[crowd].starts.lastPassRecordMillis = report.waitingCount > 0 ? .min : now.steadyMillis
        self.journal.recordStartPass(report, of: crowd, in: &self.memory, audiences: self.audiences)
    }
}

extension Journal {
    /// What became of a start in one partition.
    mutating func recordStartPass(
        _ report: StartReport, of crowd: CrowdID, in memory: inout ShardMemory, audiences: borrowing Audiences
    ) {
        guard memory.configuration.settings.outcomePublication.includesPasses else { return }
        let partition = audiences.crowds[crowd].partition
        let number = memory.partitions[partition].number
        let bundleID = memory.configuration.apps[Int(audiences.crowds[crowd].app)].bundleID
        let id = audiences.crowds[crowd].id
        let keyStart = self.batch.bytes.count
        self.batch.bytes.append(utf8: "start-")
        AudienceOutcomes.appendPassKey(
            bundleID: bundleID, id: id.span, life: report.life, stampSeconds: report.stampSeconds, partition: number,
            to: &self.batch.bytes)
        let valueStart = self.batch.bytes.count
        AudienceOutcomes.appendHead(
            "start-pass", bundleID: bundleID, id: id.span, life: report.life, report.stampSeconds,
            to: &self.batch.bytes)
        self.batch.bytes.append(utf8: ",\"partition\":")
        JSONBytes.appendInteger(Int64(number), to: &self.batch.bytes)
        report.appendCounts(to: &self.batch.bytes)
        self.batch.bytes.append(UInt8(ascii: "}"))
        self.batch.append(
            .outcomes, key: keyStart..<valueStart, value: valueStart..<self.batch.bytes.count,
            acknowledgement: self.open(.logRecord(.outcome, .none), partition: partition, in: &memory))
    }
}
