/// What `state` has of a crowd's start, and what has to be written there: how far the start is, and its members. It
/// decides; its owner writes the records, and tells it which of them Kafka has.
struct StartBookkeeping {
    /// How often the progress of a start is written while nothing has to be announced, milliseconds.
    static let progressMillis: Int64 = 1_000
    /// How long members that join one by one are gathered to be announced together, milliseconds.
    static let gatherMillis: Int64 = 100

    /// The record of the start's progress, counted per crowd.
    private(set) var progress = ProgressRecord()
    /// Number of members that a record announces.
    private(set) var pace = StartPace()
    /// Number of pushes that left since the last record.
    private var sentSinceProgress = 0

    /// Number of the last record of a member, counted per crowd.
    private var memberNumber: UInt32 = 0
    /// Number of members' records that Kafka has not acknowledged.
    private var membersUnderWay = 0
    /// Number of those that were written before the start. The round does not begin before they are acknowledged.
    private var membersBeforeStart = 0
    private var memberNumberAtStart: UInt32 = 0

    /// Whether join records from before the start are acknowledged.
    @inline(__always) var hasMembersFromBefore: Bool { self.membersBeforeStart == 0 }
    /// When a record of the start's progress is due, steady; `Int64.max`: all is written, or one is on its way.
    func progressDueMillis(nowMillis: Int64) -> Int64 {
        self.progress.dueMillis(every: Self.progressMillis, nowMillis: nowMillis)
    }
    /// When a record announces members that have joined, steady.
    func gatheredMillis(nowMillis: Int64) -> Int64 {
        self.progress.millis(after: Self.gatherMillis, nowMillis: nowMillis)
    }

    // MARK: What happens

    /// Notes that a start has arrived.
    mutating func startCame() {
        self.pace = StartPace()
        self.membersBeforeStart = self.membersUnderWay
        self.memberNumberAtStart = self.memberNumber
        self.progressed()
    }
    /// Notes that there is something to record.
    @inline(__always) mutating func progressed() { self.progress.progressed() }
    /// Notes that a push has left.
    @inline(__always) mutating func pushLeft() {
        self.sentSinceProgress += 1
        self.progressed()
    }
    /// Notes that it is the turn of a member that is not announced.
    mutating func ranDry() {
        if self.progress.isUnderWay, self.sentSinceProgress > 0 { self.pace.noteDry() }
    }
    /// Notes that a record of progress is written.
    mutating func progressWritten(nowMillis: Int64) {
        self.progress.written(nowMillis: nowMillis)
        self.pace.noteRecord(sentCount: self.sentSinceProgress, nowMillis: nowMillis)
        self.sentSinceProgress = 0
    }
    /// Notes that Kafka has such a record.
    /// - Returns: whether it is the last one. The pushes that it announces may leave then.
    mutating func progressAcknowledged(_ number: UInt32, nowMillis: Int64) -> Bool {
        guard self.progress.acknowledged(number) else { return false }
        self.pace.noteAcknowledged(afterMillis: nowMillis - self.progress.writtenMillis)
        return true
    }
    /// Numbers a record that a restore has read as if it had been written here.
    mutating func memberRestored() -> UInt32 {
        self.memberNumber &+= 1
        return self.memberNumber
    }
    /// Notes that a record of a member is written.
    /// - Returns: its number.
    mutating func memberWritten() -> UInt32 {
        self.membersUnderWay += 1
        return self.memberRestored()
    }
    /// Notes that Kafka has a record of a member.
    mutating func memberAcknowledged(_ number: UInt32) {
        self.membersUnderWay = max(0, self.membersUnderWay - 1)
        guard self.membersBeforeStart > 0, Int32(bitPattern: self.memberNumberAtStart &- number) >= 0 else { return }
        self.membersBeforeStart -= 1
    }
    /// Notes that the rings move to another crowd. Acknowledgements still name the former one.
    mutating func crowdChanged() {
        self.membersUnderWay = 0
        self.membersBeforeStart = 0
        self.progress.forgetUnderWay()
    }
}
