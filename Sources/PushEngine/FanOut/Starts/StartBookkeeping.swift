/// Knows which records about a crowd's start are in `state`, and decides which have to be written. The records are
/// about the start's progress and its members. The engine writes the records, and says which of them Kafka has.
struct StartBookkeeping {
    /// Least time between progress records of a start while no member has to be announced, milliseconds.
    static let progressMillis: Int64 = 1_000
    /// How long members that join one by one are gathered to be announced together, milliseconds.
    static let gatherMillis: Int64 = 100

    /// The status of the record of the start's progress. Each crowd numbers its own records.
    private(set) var progress = ProgressRecord()
    /// Decides how many members a record announces.
    private(set) var pace = StartPace()
    /// Number of pushes that left since the last record.
    private var sentSinceProgress = 0

    /// Number of the last record of a member, counted per crowd.
    private var memberNumber: UInt32 = 0
    /// Number of members' records that Kafka has not acknowledged.
    private var membersUnderWay = 0
    /// Number of members' records from before the start that Kafka has not acknowledged. The round does not begin until
    /// it has.
    private var membersBeforeStart = 0
    private var memberNumberAtStart: UInt32 = 0

    /// Whether Kafka has acknowledged all members' records that were written before the start.
    @inline(__always) var hasMembersFromBefore: Bool { self.membersBeforeStart == 0 }
    /// When a record of the start's progress is due (steady clock); `Int64.max`: all is written, or a record is on its
    /// way.
    func progressDueMillis(nowMillis: Int64) -> Int64 {
        self.progress.dueMillis(every: Self.progressMillis, nowMillis: nowMillis)
    }
    /// When a record may announce members that have joined one by one (steady clock).
    func gatheredMillis(nowMillis: Int64) -> Int64 {
        self.progress.millis(after: Self.gatherMillis, nowMillis: nowMillis)
    }

    // MARK: What happens

    /// Begins the bookkeeping of a start that has arrived.
    mutating func startCame() {
        self.pace = StartPace()
        self.membersBeforeStart = self.membersUnderWay
        self.memberNumberAtStart = self.memberNumber
        self.progressed()
    }
    /// Makes a progress record due: something has happened that no record covers yet.
    @inline(__always) mutating func progressed() { self.progress.progressed() }
    /// Counts a push that has left.
    @inline(__always) mutating func pushLeft() {
        self.sentSinceProgress += 1
        self.progressed()
    }
    /// Reports to the pace that the round had to stop for a member whose announcing record is still on its way.
    mutating func ranDry() {
        if self.progress.isUnderWay, self.sentSinceProgress > 0 { self.pace.markDry() }
    }
    /// Counts a progress record that is written.
    mutating func progressWritten(nowMillis: Int64) {
        self.progress.written(nowMillis: nowMillis)
        self.pace.beginRecord(sentCount: self.sentSinceProgress, nowMillis: nowMillis)
        self.sentSinceProgress = 0
    }
    /// Takes Kafka's acknowledgement of a progress record.
    /// - Returns: whether it is the last one written. If so, pushes to the members that it announces may leave.
    mutating func progressAcknowledged(_ number: UInt32, nowMillis: Int64) -> Bool {
        guard self.progress.acknowledged(number) else { return false }
        self.pace.measureAcknowledgement(afterMillis: nowMillis - self.progress.writtenMillis)
        return true
    }
    /// Gives a number to a member's record that a restore has read, as if it had been written here.
    /// - Returns: the number.
    mutating func memberRestored() -> UInt32 {
        self.memberNumber &+= 1
        return self.memberNumber
    }
    /// Counts a record of a member that is written.
    /// - Returns: its number.
    mutating func memberWritten() -> UInt32 {
        self.membersUnderWay += 1
        return self.memberRestored()
    }
    /// Takes Kafka's acknowledgement of a member's record.
    mutating func memberAcknowledged(_ number: UInt32) {
        self.membersUnderWay = max(0, self.membersUnderWay - 1)
        guard self.membersBeforeStart > 0, Int32(bitPattern: self.memberNumberAtStart &- number) >= 0 else { return }
        self.membersBeforeStart -= 1
    }
    /// Stops counting records under way, because the rings move to another crowd. Acknowledgements on their way still
    /// name the former crowd.
    mutating func crowdChanged() {
        self.membersUnderWay = 0
        self.membersBeforeStart = 0
        self.progress.forgetUnderWay()
    }
}
