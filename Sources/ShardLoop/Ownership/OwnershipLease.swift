/// How long this worker may regard its partitions as its own.
///
/// If a broker hears nothing from a worker for the session timeout, it gives the worker's partitions to another. A
/// worker whose process was stopped for so long does not know that it has lost them. So a worker acts only for a
/// limited time after the group has answered a commit. The answer proves that the worker was a member when it asked.
/// The lease is counted from the question, on a clock that runs while the process is stopped.
public struct OwnershipLease: Sendable {
    /// Length of the lease: nine tenths of the session timeout. The margin is for clocks that run at different speeds.
    public let durationMillis: Int64
    /// When the lease ends, on the steady clock; `.min` if it was never confirmed.
    public private(set) var endsMillis = Int64.min

    /// - Parameter sessionTimeoutMillis: time without a sign of life after which the group gives the partitions to
    ///   another worker.
    public init(sessionTimeoutMillis: Int64) { self.durationMillis = sessionTimeoutMillis / 10 * 9 }

    /// Extends the lease, because the group has confirmed the membership.
    /// - Parameter askedAtMillis: when the group was asked, on the steady clock. An overdue answer does not shorten the
    ///   lease.
    public mutating func confirmed(askedAtMillis: Int64) {
        self.endsMillis = max(self.endsMillis, askedAtMillis + self.durationMillis)
    }

    /// Whether the partitions certainly belong to this worker at `nowMillis`, on the steady clock.
    public func isHeld(nowMillis: Int64) -> Bool { nowMillis < self.endsMillis }

    /// Interval at which the group is asked when nothing else is committed.
    public var askEveryMillis: Int64 { max(100, self.durationMillis / 6) }
}
