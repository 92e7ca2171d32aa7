import PushModel

/// What became of one start in one partition: told to the audience's owner, and written as a `start-pass` record. A later one of the same start
/// replaces it.
struct StartReport: Equatable {
    /// Life of the start; 0: there was none.
    var life: Int64 = 0
    var stampSeconds: Int64 = 0
    /// `due` are the start members that it is for, those that joined late among them. `repeated` are requests that were sent again.
    var counts = MemberCounters()
    /// Update tokens that joined the audience here while the start went round: of cards that are up, as far as anybody can tell.
    var returnedCount: UInt64 = 0
    /// Reasons of those gone and failed.
    var refusals = RefusalCounts()
    /// Wall milliseconds; 0: none.
    var firstAcceptedMillis: Int64 = 0
    var lastAcceptedMillis: Int64 = 0

    init() {}
    init(of order: borrowing StartOrder) {
        self.life = order.life
        self.stampSeconds = order.stampSeconds
    }

    var start: StartStamp { StartStamp(life: self.life, stampSeconds: self.stampSeconds) }
    /// Members that are owed it still, those without an answer included.
    var waitingCount: UInt64 {
        // Asked at every answer: without key paths, whose array would be allocated each time.
        let counts = self.counts
        let ended =
            counts.accepted &+ counts.superseded &+ counts.expired &+ counts.gone &+ counts.failed &+ counts.unknown
            &+ counts.left
        return self.counts.due > ended ? self.counts.due - ended : 0
    }
    /// How many members have an outcome record of their own, as long as there were not too many.
    var failedCount: Int { Int(clamping: self.counts.gone &+ self.counts.failed &+ self.counts.unknown) }
    mutating func noteAccepted(wallMillis: Int64) {
        if self.firstAcceptedMillis == 0 { self.firstAcceptedMillis = wallMillis }
        self.lastAcceptedMillis = max(self.lastAcceptedMillis, wallMillis)
    }
    mutating func note(status: UInt16, reason: String, isOfMessage: Bool) {
        self.refusals.note(status: status, reason: reason, isOfMessage: isOfMessage)
    }
    mutating func add(_ count: UInt64, to field: WritableKeyPath<MemberCounters, UInt64>) {
        guard count > 0 else { return }
        self.counts[keyPath: field] = min(self.counts[keyPath: field] &+ count, UInt64(MemberCounters.countMax))
    }
    /// A new owner of the partition goes on counting; who waits is counted anew.
    mutating func resume() { self.counts.due -= self.waitingCount }
    /// As if all had been counted here.
    mutating func add(_ other: StartReport) {
        for field in Self.fields { self.add(other.counts[keyPath: field], to: field) }
        self.returnedCount = min(self.returnedCount &+ other.returnedCount, UInt64(MemberCounters.countMax))
        self.refusals.add(other.refusals)
        let firsts = [self.firstAcceptedMillis, other.firstAcceptedMillis].filter { $0 > 0 }
        self.firstAcceptedMillis = firsts.min() ?? 0
        self.lastAcceptedMillis = max(self.lastAcceptedMillis, other.lastAcceptedMillis)
    }

    /// How a member that was due can end.
    private static var ends: [WritableKeyPath<MemberCounters, UInt64>] {
        [\.accepted, \.superseded, \.expired, \.gone, \.failed, \.unknown, \.left]
    }
    /// What is counted, in the order in which it is written.
    static var fields: [WritableKeyPath<MemberCounters, UInt64>] { [\.due] + Self.ends + [\.repeated] }

    // MARK: In outcomes
    /// `,"members":` and all that follows.
    func appendCounts(to bytes: inout [UInt8]) {
        let numbers: [(StaticString, UInt64)] = [
            (",\"members\":", self.counts.due), (",\"accepted\":", self.counts.accepted),
            (",\"superseded\":", self.counts.superseded), (",\"expired\":", self.counts.expired),
            (",\"gone\":", self.counts.gone), (",\"failed\":", self.counts.failed),
            (",\"unknown\":", self.counts.unknown), (",\"left\":", self.counts.left),
            (",\"waiting\":", self.waitingCount), (",\"retried\":", self.counts.repeated),
            (",\"returned\":", self.returnedCount),
        ]
        for (name, number) in numbers {
            bytes.append(utf8: name)
            JSONBytes.appendInteger(Int64(clamping: number), to: &bytes)
        }
        self.refusals.append(to: &bytes)
        guard self.firstAcceptedMillis > 0 else { return }
        bytes.append(utf8: ",\"first-accepted\":")
        JSONBytes.appendInteger(self.firstAcceptedMillis, to: &bytes)
        bytes.append(utf8: ",\"last-accepted\":")
        JSONBytes.appendInteger(self.lastAcceptedMillis, to: &bytes)
    }
}
