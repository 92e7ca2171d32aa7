/// Estimates how long one shard needs, at its recent pace, to serve all waiting members of audiences. Scaling uses it
/// (fan-out contract: Conservation for members).
struct DrainEstimate: Sendable, Equatable {
    /// Largest estimate, also shown when nothing is served.
    static let secondsMax = 3_600.0
    /// Length of the past from which the pace is measured.
    static let windowMillis = 10_000.0
    /// Number of waiting members that may be stragglers. While no more wait and none is served, each waits for its own
    /// next attempt, such as a phone that APNs throttles. Further workers could not help. One pass may have this many.
    static let stragglersMax = 1_024
    /// Least measured time for an estimate when nothing is served.
    static let busyMillisMin = 1_000.0

    private var lastMillis: Int64?
    private var lastServed: UInt64 = 0
    private var lastWaiting: Int = 0
    /// Time with work, in milliseconds. It decays, so that the recent pace counts.
    private var busyMillis = 0.0
    /// Number of members served in `busyMillis`. It decays likewise.
    private var servedCount = 0.0
    /// The estimate; 0 without work.
    private(set) var seconds = 0.0

    /// Takes new numbers.
    /// - Parameters:
    ///   - waiting: members that are owed something now, except those that an operator lets wait.
    ///   - served: members since start that are no longer owed it, because APNs has answered.
    mutating func add(waiting: Int, served: UInt64, nowMillis: Int64) {
        // Only time with work counts for the pace: without work nothing is served, no matter how fast it could be.
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
