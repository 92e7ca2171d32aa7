/// When a crowd's start members are looked through for those that leave by time, a few at a time: ghosts, and members that have not joined again for very long.
struct StartSweep {
    /// Members that are looked at in a step.
    static let countMax = 1_024
    /// How long it is from step to step.
    private static let stepMillis: Int64 = 50
    /// When a crowd is looked through first, and how often then.
    private static let firstMillis: Int64 = 600_000
    private static let everyMillis: Int64 = 86_400_000

    /// When the next step is due, steady; `Int64.max`: no sweep is meant.
    private(set) var atMillis: Int64 = .max
    /// The sweep has come so far.
    private(set) var position: UInt64 = 0

    /// There are members.
    /// - Parameter ghostsUntilMillis: some have left, and need not be remembered from then on, steady; `nil`: none has.
    mutating func wanted(ghostsUntilMillis: Int64?, nowMillis: Int64) {
        if self.atMillis == .max { self.atMillis = nowMillis + Self.firstMillis }
        guard let ghostsUntilMillis else { return }
        // Never at once: those that are over go in steps.
        self.atMillis = min(self.atMillis, max(ghostsUntilMillis, nowMillis + Self.stepMillis))
    }
    /// The time of all is over.
    mutating func wantedAtOnce(nowMillis: Int64) {
        self.position = 0
        self.atMillis = nowMillis
    }
    /// Members before the position have been looked at.
    /// - Parameter hasGhosts: some that are over are left.
    mutating func stepped(to end: UInt64, hasGhosts: Bool, nowMillis: Int64) {
        let isOver = end >= RingPosition.end
        self.position = isOver ? 0 : end
        self.atMillis = nowMillis + (isOver && !hasGhosts ? Self.everyMillis : Self.stepMillis)
    }
}
