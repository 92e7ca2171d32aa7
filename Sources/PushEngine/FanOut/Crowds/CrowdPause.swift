/// Whether an operator has stopped a crowd's passes.
enum CrowdPause: Equatable {
    /// The passes continue. Becomes `stopped` when an operator says so.
    case goesOn
    /// No push leaves, and `waitingCount` members wait. Becomes `goesOn` when an operator says so, when the audience is
    /// over, or when the crowd leaves memory.
    case stopped(waitingCount: Int)

    /// A change in two gauges: the number of stopped crowds, and of members that wait in them.
    enum Change: Equatable {
        case nothing
        /// The crowd is stopped from now on.
        case stopped
        /// The number of waiting members has grown by this number; below 0: it has shrunk.
        case counted(Int)
        /// The crowd continues, and this number of members no longer waits.
        case wentOn(waitingCount: Int)
    }
    @inline(__always) var isStopped: Bool {
        switch self {
        case .goesOn: false
        case .stopped: true
        }
    }
    /// Stops the crowd, or lets it continue, as operators have said.
    mutating func heard(isStopped: Bool) -> Change {
        switch self {
        case .goesOn:
            guard isStopped else { return .nothing }
            self = .stopped(waitingCount: 0)
            return .stopped
        case .stopped(let waitingCount):
            guard !isStopped else { return .nothing }
            self = .goesOn
            return .wentOn(waitingCount: waitingCount)
        }
    }
    /// Updates the number of members that are owed something, if the crowd is stopped.
    mutating func counted(waitingCount: Int) -> Change {
        switch self {
        case .goesOn: return .nothing
        case .stopped(let before):
            guard waitingCount != before else { return .nothing }
            self = .stopped(waitingCount: waitingCount)
            return .counted(waitingCount - before)
        }
    }
}

extension Crowd {
    /// Whether an operator has stopped the crowd's passes.
    @inline(__always) var isPaused: Bool { self.pause.isStopped }
    /// Whether a pause is for the crowd's audience, or for all audiences of its app.
    func isMeant(by pause: PauseTable.Key) -> Bool {
        self.app == pause.app && (pause.audience.isEmpty || self.id == pause.audience)
    }
    /// Stops or resumes the crowd: it stops if operators have paused its audience or all audiences of its app. An
    /// audience that is over is never paused.
    mutating func readPause(in pauses: borrowing PauseTable) -> CrowdPause.Change {
        let isStopped =
            self.isLiving
            && pauses.isPaused(partition: self.partition, app: self.app, audience: self.id)
        return self.pause.heard(isStopped: isStopped)
    }
    /// Counts again the members that wait because of a pause.
    @inline(__always) mutating func countPaused() -> CrowdPause.Change {
        guard self.isPaused else { return .nothing }
        return self.pause.counted(
            waitingCount: self.passes.indices.reduce(self.starts.waitingCount) { $0 + self.passes[$1].waitingCount })
    }
    /// Takes the crowd out of the gauges, because it leaves memory, or its audience is over.
    mutating func leavesPause() -> CrowdPause.Change { self.pause.heard(isStopped: false) }
}
