/// How long what members of audiences are owed will take at the pace of late: what scaling goes by (fan-out contract: Conservation for members). Of one shard.
struct DrainEstimate: Sendable, Equatable {
    /// Shown when nothing gets on, and at most.
    static let secondsMax = 3_600.0
    /// What lies longer ago says nothing of the pace.
    static let windowMillis = 10_000.0
    /// While so few wait and none is served, each waits for its own next attempt: a phone that APNs throttles is no work that further workers
    /// could do. As many as one pass lets wait so.
    static let stragglersMax = 1_024
    /// With less time to measure by and nothing served, nothing is said.
    static let busyMillisMin = 1_000.0

    private var lastMillis: Int64?
    private var lastServed: UInt64 = 0
    private var lastWaiting: Int = 0
    /// Time with work, and what was served in it; both fade.
    private var busyMillis = 0.0
    private var servedCount = 0.0
    /// 0 without work.
    private(set) var seconds = 0.0

    /// Looks once more.
    /// - Parameters:
    ///   - waiting: members that are owed something now, but for those that an operator lets wait.
    ///   - served: members since start that are owed it no more, as APNs has answered.
    mutating func note(waiting: Int, served: UInt64, nowMillis: Int64) {
        // The pace is that of times with work: without it nothing is served, however fast it could be.
        let isAtWork = self.lastWaiting > Self.stragglersMax || self.lastWaiting > 0 && served != self.lastServed
        if let last = self.lastMillis, isAtWork, nowMillis > last {
            let passed = Double(nowMillis - last)
            let kept = max(0, 1 - passed / Self.windowMillis)
            self.busyMillis = self.busyMillis * kept + passed
            self.servedCount = self.servedCount * kept + Double(served &- self.lastServed)
        }
        self.lastMillis = nowMillis
        self.lastServed = served
        self.lastWaiting = waiting
        self.seconds = self.left(waiting)
    }
    private func left(_ waiting: Int) -> Double {
        guard waiting > 0 else { return 0 }
        guard self.servedCount > 0 else {
            return waiting <= Self.stragglersMax || self.busyMillis < Self.busyMillisMin ? 0 : Self.secondsMax
        }
        return min(Self.secondsMax, Double(waiting) * self.busyMillis / 1_000 / self.servedCount)
    }
}
