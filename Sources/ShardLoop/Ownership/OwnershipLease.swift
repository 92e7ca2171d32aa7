/// How long this worker may take its partitions to be its own.
///
/// A broker that hears nothing gives them to another once the session timeout is over, and a worker that was stopped meanwhile does not
/// know it. So it acts only for a while after the group has answered a commit: such an answer says that it was a member when it asked.
/// Counted from the asking, on a clock that runs while the process is stopped.
public struct OwnershipLease: Sendable {
    /// Less than the session timeout by a tenth: clocks differ, and the broker's session began after the asking.
    public let durationMillis: Int64
    /// When it runs out, steady; `.min`: never confirmed.
    public private(set) var endsMillis = Int64.min

    /// - Parameter sessionTimeoutMillis: after so long without a sign of life the group gives the partitions to another.
    public init(sessionTimeoutMillis: Int64) { self.durationMillis = sessionTimeoutMillis / 10 * 9 }

    /// The group has confirmed the membership to a question asked then. An answer that was long on its way takes nothing back.
    public mutating func confirmed(askedAtMillis: Int64) {
        self.endsMillis = max(self.endsMillis, askedAtMillis + self.durationMillis)
    }

    /// Whether the partitions are certainly this worker's at `nowMillis`, steady.
    public func isHeld(nowMillis: Int64) -> Bool { nowMillis < self.endsMillis }

    /// How often the group is asked when nothing else is committed.
    public var askEveryMillis: Int64 { max(100, self.durationMillis / 6) }
}
