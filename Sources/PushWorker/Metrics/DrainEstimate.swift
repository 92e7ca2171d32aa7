/// Estimates how long one shard needs, at its recent pace, to serve all waiting members of audiences. The estimate
/// helps to decide how many workers are needed (fan-out contract: Conservation for members).
struct DrainEstimate: Sendable, Equatable {
    /// Largest estimate, also shown when nothing is served.
    static let secondsMax = 3_600.0
    /// The time from which the pace is measured: the last ten seconds of work.
    static let windowMillis = 10_000.0
    /// Maximum number of stragglers of a pass. If no more members than this wait, they may all be stragglers. A
    /// straggler waits for its own next attempt, for example because APNs throttles the phone. More workers would not
    /// help it.
    static let stragglersMax = 1_024
    /// Minimum time with work before the estimate becomes `secondsMax` because nothing is served.
    static let busyMillisMin = 1_000.0

    private var lastMillis: Int64?
    private var lastServed: UInt64 = 0
    private var lastWaiting: Int = 0
    /// Time with work, in milliseconds. It decays, so that the recent pace counts.
    private var busyMillis = 0.0
    /// Number of members served in `busyMillis`. It decays, too.
    private var servedCount = 0.0
    /// The estimate; 0 without work.
    private(set) var seconds = 0.0

    /// Takes new numbers.
    /// - Parameters:
    ///   - waiting: number of members that are owed something now, except those of paused audiences.
    ///   - served: number of members, since the start, that APNs has answered for and that are owed nothing more.
    mutating func add(waiting: Int, served: UInt64, nowMillis: Int64) {
        // Only time with work counts for the pace. Without work nothing is served, and the time would lower the pace.
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
