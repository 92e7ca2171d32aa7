/// When a crowd's start members are searched, a few at a time, for those that leave. These are ghosts, and members that
/// have not joined again for very long.
struct StartSweep {
    /// Number of members that are looked at in a step.
    static let countMax = 1_024
    /// Time from step to step, milliseconds.
    private static let stepMillis: Int64 = 50
    /// When a crowd is searched first, and how often then, milliseconds.
    private static let firstMillis: Int64 = 600_000
    private static let everyMillis: Int64 = 86_400_000

    /// When the next step is due, steady; `Int64.max`: no sweep is scheduled.
    private(set) var atMillis: Int64 = .max
    /// The position that the sweep has reached.
    private(set) var position: UInt64 = 0

    /// Schedules a sweep, as there are members.
    /// - Parameter ghostsUntilMillis: when ghosts need not be remembered, steady; `nil`: there are none.
    mutating func wanted(ghostsUntilMillis: Int64?, nowMillis: Int64) {
        if self.atMillis == .max { self.atMillis = nowMillis + Self.firstMillis }
        guard let ghostsUntilMillis else { return }
        // Never at once: members that leave are removed in steps.
        self.atMillis = min(self.atMillis, max(ghostsUntilMillis, nowMillis + Self.stepMillis))
    }
    /// Schedules a sweep at once: the time of all is over.
    mutating func wantedAtOnce(nowMillis: Int64) {
        self.position = 0
        self.atMillis = nowMillis
    }
    /// Notes that members before the position have been looked at.
    /// - Parameter hasGhosts: whether ghosts are left that are over.
    mutating func stepped(to end: UInt64, hasGhosts: Bool, nowMillis: Int64) {
        let isOver = end >= RingPosition.end
        self.position = isOver ? 0 : end
        self.atMillis = nowMillis + (isOver && !hasGhosts ? Self.everyMillis : Self.stepMillis)
    }
}
