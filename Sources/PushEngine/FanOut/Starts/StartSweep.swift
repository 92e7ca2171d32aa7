/// Decides when a crowd's start members are searched, a few at a time. The search removes ghosts that need not be
/// remembered longer. Members that have not joined again for a very long time have to leave.
struct StartSweep {
    /// Maximum number of members that one step looks at.
    static let countMax = 1_024
    /// Time from step to step, milliseconds.
    private static let stepMillis: Int64 = 50
    /// Time until a crowd's first search, milliseconds.
    private static let firstMillis: Int64 = 600_000
    /// Time from the end of a search to the next search, milliseconds.
    private static let everyMillis: Int64 = 86_400_000

    /// When the next step is due (steady clock); `Int64.max`: no search is scheduled.
    private(set) var atMillis: Int64 = .max
    /// The position that the search has reached.
    private(set) var position: UInt64 = 0

    /// Schedules a search, because there are members.
    /// - Parameter ghostsUntilMillis: until when ghosts have to be remembered (steady clock); `nil`: there are none.
    mutating func wanted(ghostsUntilMillis: Int64?, nowMillis: Int64) {
        if self.atMillis == .max { self.atMillis = nowMillis + Self.firstMillis }
        guard let ghostsUntilMillis else { return }
        // The search begins after `stepMillis` at the earliest, because members that leave are removed in steps.
        self.atMillis = min(self.atMillis, max(ghostsUntilMillis, nowMillis + Self.stepMillis))
    }
    /// Schedules a search at once, because the time of all members is over.
    mutating func wantedAtOnce(nowMillis: Int64) {
        self.position = 0
        self.atMillis = nowMillis
    }
    /// Moves the search to the position up to which members have been looked at.
    /// - Parameter hasGhosts: whether ghosts that can now be forgotten still have to be removed.
    mutating func stepped(to end: UInt64, hasGhosts: Bool, nowMillis: Int64) {
        let isOver = end >= RingPosition.end
        self.position = isOver ? 0 : end
        self.atMillis = nowMillis + (isOver && !hasGhosts ? Self.everyMillis : Self.stepMillis)
    }
}
