import PushModel

/// What became of one start in one partition. It is reported to the audience's owner, and written as a `start-pass`
/// record. A later report on the same start replaces it.
struct StartReport: Equatable {
    /// The start's life; 0: there is no start.
    var life: Int64 = 0
    var stampSeconds: Int64 = 0
    /// Members, counted by what became of them. `due` counts all start members that the start is for, including those
    /// that joined late. `repeated` counts requests that were sent again.
    var counts = MemberCounters()
    /// Number of update tokens that joined the audience in this partition while the start went round. They are
    /// presumably from cards that the start has put up.
    var returnedCount: UInt64 = 0
    /// The reasons for which members counted as `gone` or `failed` were refused.
    var refusals = RefusalCounts()
    /// When APNs accepted the first push, wall milliseconds; 0: none yet.
    var firstAcceptedMillis: Int64 = 0
    var lastAcceptedMillis: Int64 = 0

    init() {}
    init(of order: borrowing StartOrder) {
        self.life = order.life
        self.stampSeconds = order.stampSeconds
    }

    var start: StartStamp { StartStamp(life: self.life, stampSeconds: self.stampSeconds) }
    /// Number of members that are still owed the start, including those whose push is unanswered.
    var waitingCount: UInt64 {
        // This is asked at every answer. It uses no key paths, whose array would be allocated each time.
        let ended = self.counts.endedCount
        return self.counts.due > ended ? self.counts.due - ended : 0
    }
    /// Number of members whose push was refused for good, or has an unknown result. Each has an outcome record of its
    /// own, up to `StartReports.memberRecordsMax`.
    var failedCount: Int { Int(clamping: self.counts.gone &+ self.counts.failed &+ self.counts.unknown) }
    mutating func countAccepted(wallMillis: Int64) {
        if self.firstAcceptedMillis == 0 { self.firstAcceptedMillis = wallMillis }
        self.lastAcceptedMillis = max(self.lastAcceptedMillis, wallMillis)
    }
    mutating func count(status: UInt16, reason: String, isOfMessage: Bool) {
        self.refusals.count(status: status, reason: reason, isOfMessage: isOfMessage)
    }
    mutating func add(_ count: UInt64, to field: WritableKeyPath<MemberCounters, UInt64>) {
        guard count > 0 else { return }
        self.counts[keyPath: field] = min(self.counts[keyPath: field] &+ count, UInt64(MemberCounters.countMax))
    }
    /// Continues counting under a new owner of the partition. Waiting members are taken out of the counts, because
    /// the new owner counts them again.
    mutating func resume() { self.counts.due -= self.waitingCount }
    /// Adds counts of another report, as if all had been counted here.
    mutating func add(_ other: StartReport) {
        for field in MemberCounters.fields(ofStarts: true) {
            self.add(other.counts[keyPath: field.path], to: field.path)
        }
        self.returnedCount = min(self.returnedCount &+ other.returnedCount, UInt64(MemberCounters.countMax))
        self.refusals.add(other.refusals)
        let firsts = [self.firstAcceptedMillis, other.firstAcceptedMillis].filter { $0 > 0 }
        self.firstAcceptedMillis = firsts.min() ?? 0
        self.lastAcceptedMillis = max(self.lastAcceptedMillis, other.lastAcceptedMillis)
    }

    // MARK: In outcomes
    /// Appends `,"members":` and everything that follows it.
    func appendCounts(to bytes: inout [UInt8]) {
        self.counts.append(ofStarts: true, waitingCount: self.waitingCount, to: &bytes)
        bytes.append(utf8: ",\"returned\":")
        JSONBytes.appendInteger(Int64(clamping: self.returnedCount), to: &bytes)
        self.refusals.append(to: &bytes)
        guard self.firstAcceptedMillis > 0 else { return }
        bytes.append(utf8: ",\"first-accepted\":")
        JSONBytes.appendInteger(self.firstAcceptedMillis, to: &bytes)
        bytes.append(utf8: ",\"last-accepted\":")
        JSONBytes.appendInteger(self.lastAcceptedMillis, to: &bytes)
    }
}
