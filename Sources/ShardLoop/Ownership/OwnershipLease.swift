/// How long this worker may consider its partitions its own.
///
/// A broker that hears nothing gives them to another worker after the session timeout, and a worker that was stopped
/// meanwhile does not know it. So it acts only for a while after the group has answered a commit: the answer proves
/// that it was a member when it asked. The lease is counted from the question, on a clock that runs while the process
/// is stopped.
public struct OwnershipLease: Sendable {
    /// Length of the lease: a tenth less than the session timeout, because clocks differ, and the broker's session
    /// began after the question.
    public let durationMillis: Int64
    /// When the lease ends, steady; `.min` if it was never confirmed.
    public private(set) var endsMillis = Int64.min

    /// - Parameter sessionTimeoutMillis: time without a sign of life after which the group gives the partitions to
    ///   another worker.
    public init(sessionTimeoutMillis: Int64) { self.durationMillis = sessionTimeoutMillis / 10 * 9 }

    /// Notes that the group has confirmed the membership in answer to a question at that time. A late answer does not
    /// shorten the lease.
    public mutating func confirmed(askedAtMillis: Int64) {
        self.endsMillis = max(self.endsMillis, askedAtMillis + self.durationMillis)
    }

    /// Whether the partitions certainly belong to this worker at `nowMillis`, steady.
    public func isHeld(nowMillis: Int64) -> Bool { nowMillis < self.endsMillis }

    /// Interval at which the group is asked when nothing else is committed.
    public var askEveryMillis: Int64 { max(100, self.durationMillis / 6) }
}
