/// How many members one record announces a start to: those that are sent it within about 0.2 s, at the rate at which the round goes here.
///
/// Nobody knows whether the members that are announced were sent the start, once the worker that announced them is dead. Few are announced, so that
/// few are in doubt. The next record follows when half of them have left, hence about ten records a second.
struct StartPace {
    /// What is announced lasts so long, milliseconds.
    static let aheadMillis: Int64 = 200
    /// A slow round, or one that has just begun, announces so many.
    static let countMin = 256
    /// More are not in doubt, however fast a round is. A partition that sends more than 20,000 a second writes more records instead.
    static let countMax = 4_096
    /// The rate is measured over at least so long: what leaves while connections fill up says nothing of the rest.
    private static let windowMillis: Int64 = 100
    /// What is announced lasts for so many acknowledgements, or the round would stand still while it waits for Kafka.
    private static let acknowledgementsAhead: Int64 = 3

    /// Members announced and not met, at most.
    private(set) var count = Self.countMin
    private var windowBeganMillis = Int64.min
    private var sentInWindow = 0
    /// How long Kafka has taken to acknowledge a record. A single slow one is forgotten by halves.
    private var acknowledgementMillis: Int64 = 0
    private var hasRunDry = false

    /// A member has its turn, is not announced, and the record that announces it is under way.
    mutating func noteDry() { self.hasRunDry = true }
    mutating func noteAcknowledged(afterMillis millis: Int64) {
        self.acknowledgementMillis = max(millis, self.acknowledgementMillis / 2)
    }
    /// A record is about to be written.
    /// - Parameter sentCount: pushes that have left since the last one.
    mutating func noteRecord(sentCount: Int, nowMillis: Int64) {
        guard self.windowBeganMillis != .min else { return self.beginWindow(nowMillis) }
        self.sentInWindow += sentCount
        if self.hasRunDry {
            // What was measured is how fast Kafka is, not the round.
            self.count = min(2 * self.count, Self.countMax)
            return self.beginWindow(nowMillis)
        }
        let passed = nowMillis - self.windowBeganMillis
        guard passed >= Self.windowMillis else {
            // It is at least so fast.
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
