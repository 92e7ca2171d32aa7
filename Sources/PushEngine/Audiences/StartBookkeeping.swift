/// What of a crowd's start lies in `state`, and what is to be written there: how far it is, and its members. It decides; its owner writes the records, and
/// tells it which of them Kafka has.
struct StartBookkeeping {
    /// While nothing is to be announced, how far a start is is written down this often.
    static let progressMillis: Int64 = 1_000
    /// Members that come singly are announced together.
    static let gatherMillis: Int64 = 100

    /// The record of how far it is; counted per crowd.
    private(set) var progress = ProgressRecord()
    /// How many a record announces.
    private(set) var pace = StartPace()
    /// Pushes that left since the last one.
    private var sentSinceProgress = 0

    /// Number of the last record of a member; counted per crowd.
    private var memberNumber: UInt32 = 0
    /// Those that Kafka has not acknowledged.
    private var membersUnderWay = 0
    /// Those of them that were written before the start: the round does not begin before they are acknowledged.
    private var membersBeforeStart = 0
    private var memberNumberAtStart: UInt32 = 0

    /// Join records from before the start are acknowledged.
    @inline(__always) var hasMembersFromBefore: Bool { self.membersBeforeStart == 0 }
    /// When a record says how far the start is, steady; `Int64.max`: all is said, or one is under way.
    func progressDueMillis(nowMillis: Int64) -> Int64 {
        self.progress.dueMillis(every: Self.progressMillis, nowMillis: nowMillis)
    }
    /// When a record announces members that have come, steady.
    func gatheredMillis(nowMillis: Int64) -> Int64 {
        self.progress.millis(after: Self.gatherMillis, nowMillis: nowMillis)
    }

    // MARK: What happens

    /// A start has come.
    mutating func startCame() {
        self.pace = StartPace()
        self.membersBeforeStart = self.membersUnderWay
        self.memberNumberAtStart = self.memberNumber
        self.progressed()
    }
    /// Something that a record tells of.
    @inline(__always) mutating func progressed() { self.progress.progressed() }
    /// A push has left.
    @inline(__always) mutating func pushLeft() {
        self.sentSinceProgress += 1
        self.progressed()
    }
    /// A member has its turn, and is not announced.
    mutating func ranDry() {
        if self.progress.isUnderWay, self.sentSinceProgress > 0 { self.pace.noteDry() }
    }
    /// A record of how far it is is written.
    mutating func progressWritten(nowMillis: Int64) {
        self.progress.written(nowMillis: nowMillis)
        self.pace.noteRecord(sentCount: self.sentSinceProgress, nowMillis: nowMillis)
        self.sentSinceProgress = 0
    }
    /// Kafka has such a record.
    /// - Returns: whether it is the last one: what it announces may leave.
    mutating func progressAcknowledged(_ number: UInt32, nowMillis: Int64) -> Bool {
        guard self.progress.acknowledged(number) else { return false }
        self.pace.noteAcknowledged(afterMillis: nowMillis - self.progress.writtenMillis)
        return true
    }
    /// A restore numbers what it has read as if it had been written here.
    mutating func memberRestored() -> UInt32 {
        self.memberNumber &+= 1
        return self.memberNumber
    }
    /// A record of a member is written.
    /// - Returns: its number.
    mutating func memberWritten() -> UInt32 {
        self.membersUnderWay += 1
        return self.memberRestored()
    }
    /// Kafka has a record of a member.
    mutating func memberAcknowledged(_ number: UInt32) {
        self.membersUnderWay = max(0, self.membersUnderWay - 1)
        guard self.membersBeforeStart > 0, Int32(bitPattern: self.memberNumberAtStart &- number) >= 0 else { return }
        self.membersBeforeStart -= 1
    }
    /// The rings go over to another crowd: acknowledgements still name the one before.
    mutating func crowdChanged() {
        self.membersUnderWay = 0
        self.membersBeforeStart = 0
        self.progress.forgetUnderWay()
    }
}
