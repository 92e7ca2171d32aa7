/// How many members one record announces a start to: those that are sent it within about 0.2 s, at the rate of the
/// present round.
///
/// After the death of the announcing worker nobody knows whether the announced members were sent the start. Few are
/// announced, so that few are in doubt. The next record follows when half of them have left, hence about ten records a
/// second.
struct StartPace {
    /// How long the pushes of one announcement take to leave, milliseconds.
    static let aheadMillis: Int64 = 200
    /// Number of members that a slow round, or one that has just begun, announces.
    static let countMin = 256
    /// Number of members that may be in doubt, however fast a round is. A partition that sends more than 20,000 a
    /// second writes more records instead.
    static let countMax = 4_096
    /// Shortest time over which the rate is measured, milliseconds. What leaves while connections fill up says nothing
    /// of the rest.
    private static let windowMillis: Int64 = 100
    /// Number of acknowledgements that an announcement must last for. Otherwise the round would stop while it waits for
    /// Kafka.
    private static let acknowledgementsAhead: Int64 = 3

    /// Number of members announced and not met, at most.
    private(set) var count = Self.countMin
    private var windowBeganMillis = Int64.min
    private var sentInWindow = 0
    /// How long Kafka has taken to acknowledge a record. A single slow one is forgotten by halves.
    private var acknowledgementMillis: Int64 = 0
    private var hasRunDry = false

    /// Notes that it is the turn of a member whose announcing record is still on its way.
    mutating func noteDry() { self.hasRunDry = true }
    mutating func noteAcknowledged(afterMillis millis: Int64) {
        self.acknowledgementMillis = max(millis, self.acknowledgementMillis / 2)
    }
    /// Notes that a record is about to be written.
    /// - Parameter sentCount: number of pushes that have left since the last one.
    mutating func noteRecord(sentCount: Int, nowMillis: Int64) {
        guard self.windowBeganMillis != .min else { return self.beginWindow(nowMillis) }
        self.sentInWindow += sentCount
        if self.hasRunDry {
            // What was measured is the speed of Kafka, not of the round.
            self.count = min(2 * self.count, Self.countMax)
            return self.beginWindow(nowMillis)
        }
        let passed = nowMillis - self.windowBeganMillis
        guard passed >= Self.windowMillis else {
            // The round is at least this fast.
            let most = min(self.sentInWindow, Self.countMax) * Int(Self.aheadMillis / Self.windowMillis)
            self.count = min(max(self.count, most), Self.countMax)
            return
        }
        let ahead = max(Self.aheadMillis, Self.acknowledgementsAhead * self.acknowledgementMillis)
        let (product, isOver) = Int64(self.sentInWindow).multipliedReportingOverflow(by: ahead)
        let wanted = isOver ? Int64(Self.countMax) : product / passed
        self.count = Int(min(max(wanted, Int64(Self.countMin)), Int64(Self.countMax)))
        self.beginWindow(nowMillis)
    }
    private mutating func beginWindow(_ nowMillis: Int64) {
        self.windowBeganMillis = nowMillis
        self.sentInWindow = 0
        self.hasRunDry = false
    }
}
