/// Decides how many members one announcing record covers. At the present speed of the round these members are sent the
/// start within about 0.2 s.
///
/// If a worker dies, its successor does not know which of the announced members were sent the start. A record announces
/// few members, so that few are in doubt. The next record follows when half of these members have been sent the start,
/// so there are about ten records a second.
struct StartPace {
    /// How long the pushes of one announcement should take to leave, milliseconds. While Kafka is slow, it is longer.
    static let aheadMillis: Int64 = 200
    /// Number of members that a record announces while the round is slow or has just begun.
    static let countMin = 256
    /// Maximum number of members that may be in doubt, no matter how fast a round is. A partition that sends more than
    /// 20,000 a second writes more records instead.
    static let countMax = 4_096
    /// Shortest time over which the speed is measured, milliseconds. The number of pushes that leave while connections
    /// fill up says nothing about the speed afterwards.
    private static let windowMillis: Int64 = 100
    /// An announcement has to last for the time of this many acknowledgements. Otherwise the round would stop while it
    /// waits for Kafka.
    private static let acknowledgementsAhead: Int64 = 3

    /// Maximum number of members that are announced and not met.
    private(set) var count = Self.countMin
    private var windowBeganMillis = Int64.min
    private var sentInWindow = 0
    /// How long Kafka has taken to acknowledge a record, milliseconds. The effect of a single slow acknowledgement is
    /// halved with each further one.
    private var acknowledgementMillis: Int64 = 0
    private var hasRunDry = false

    /// Remembers that the round had to stop for a member whose announcing record is still on its way.
    mutating func markDry() { self.hasRunDry = true }
    mutating func measureAcknowledgement(afterMillis millis: Int64) {
        self.acknowledgementMillis = max(millis, self.acknowledgementMillis / 2)
    }
    /// Decides how many members the next record announces. Called just before the record is made.
    /// - Parameter sentCount: number of pushes that have left since the last record.
    mutating func beginRecord(sentCount: Int, nowMillis: Int64) {
        guard self.windowBeganMillis != .min else { return self.beginWindow(nowMillis) }
        self.sentInWindow += sentCount
        if self.hasRunDry {
            // The round waited for records, so its own speed was not measured.
            self.count = min(2 * self.count, Self.countMax)
            return self.beginWindow(nowMillis)
        }
        let passed = nowMillis - self.windowBeganMillis
        guard passed >= Self.windowMillis else {
            // The round is at least as fast as measured so far.
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
