/// How long this worker may consider its partitions its own.
///
/// A broker that hears nothing from a worker gives its partitions to another after the session timeout. A worker that
/// was stopped meanwhile does not know that. A worker therefore acts only for a while after the group has answered a
/// commit. The answer proves that the worker was a member when it asked. The lease is counted from the question, on a
/// clock that runs while the process is stopped.
public struct OwnershipLease: Sendable {
    /// Length of the lease: a tenth less than the session timeout, because clocks differ, and the broker's session
    /// began after the question.
    public let durationMillis: Int64
    /// When the lease ends, on the steady clock; `.min` if it was never confirmed.
    public private(set) var endsMillis = Int64.min

    /// - Parameter sessionTimeoutMillis: time without a sign of life after which the group gives the partitions to
    ///   another worker.
    public init(sessionTimeoutMillis: Int64) { self.durationMillis = sessionTimeoutMillis / 10 * 9 }

    /// Extends the lease, because the group has confirmed the membership that was asked about at that time. An overdue
    /// answer does not shorten the lease.
    public mutating func confirmed(askedAtMillis: Int64) {
        self.endsMillis = max(self.endsMillis, askedAtMillis + self.durationMillis)
    }

    /// Whether the partitions certainly belong to this worker at `nowMillis`, on the steady clock.
    public func isHeld(nowMillis: Int64) -> Bool { nowMillis < self.endsMillis }

    /// Interval at which the group is asked when nothing else is committed.
    public var askEveryMillis: Int64 { max(100, self.durationMillis / 6) }
}
