/// Whether an operator has stopped a crowd's passes.
enum CrowdPause: Equatable {
    /// The passes go on. To `stopped` when an operator says so.
    case goesOn
    /// Nothing leaves, and members wait. To `goesOn` when an operator says so, or when the audience is over.
    case stopped(waitingCount: Int)

    /// A change in the gauges of stopped crowds and of members that wait for them.
    enum Change: Equatable {
        case nothing
        /// The crowd is stopped from now on.
        case stopped
        /// More members wait, by this number; below 0: fewer.
        case counted(Int)
        /// The crowd goes on, and these members no longer wait for it.
        case wentOn(waitingCount: Int)
    }
    @inline(__always) var isStopped: Bool {
        switch self {
        case .goesOn: false
        case .stopped: true
        }
    }
    /// Takes what operators have said.
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
    /// Takes the number of members that are owed something.
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
    /// Whether an operator has stopped its passes.
    @inline(__always) var isPaused: Bool { self.pause.isStopped }
    /// Reads what operators have said about the crowd's audience, and its app. Nothing applies to an audience that is
    /// over.
    mutating func readPause(in pauses: borrowing PauseTable) -> CrowdPause.Change {
        let isStopped =
            self.standing == .living
            && pauses.isPaused(partition: self.partition, app: self.app, audience: self.id)
        return self.pause.heard(isStopped: isStopped)
    }
    /// Counts anew the members that wait because of a pause.
    @inline(__always) mutating func countPaused() -> CrowdPause.Change {
        guard self.isPaused else { return .nothing }
        return self.pause.counted(
            waitingCount: self.passes.indices.reduce(self.starts.waitingCount) { $0 + self.passes[$1].waitingCount })
    }
    /// Takes the crowd out of the gauges: it leaves memory, or its audience is over.
    mutating func leavesPause() -> CrowdPause.Change { self.pause.heard(isStopped: false) }
}
