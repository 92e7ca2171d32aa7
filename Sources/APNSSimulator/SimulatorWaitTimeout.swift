/// The condition of `APNSSimulator.wait` was not satisfied within its limit.
public struct SimulatorWaitTimeout: Error, CustomStringConvertible {
    /// How long the caller waited.
    public var limit: Duration
    /// The statistics when the limit was reached.
    public var statistics: SimulatorStatistics

    /// The limit and what was counted, without the list of connections.
    public var description: String {
        let counted = self.statistics
        return "nothing after \(self.limit); connections: \(counted.connectionsAccepted) accepted, "
            + "\(counted.connectionsOpen) open, \(counted.connectionsRefused) refused; \(counted.requests) requests, "
            + "\(counted.accepted) accepted, refused \(counted.refused), \(counted.unanswered) unanswered, "
            + "\(counted.delayed) delayed, \(counted.faultsFired) faults fired, violations \(counted.violationsByKind)"
    }
}
