/// Whether an operator has stopped a crowd's passes.
enum CrowdPause: Equatable {
    /// They go on. To `stopped` when an operator says so.
    case goesOn
    /// Nothing leaves, and members wait for that. To `goesOn` when an operator says so, or when the audience is over.
    case stopped(waitingCount: Int)

    /// What has happened, for gauges of crowds that are stopped and of members that wait for that.
    enum Change: Equatable {
        case nothing
        /// It is stopped from here on.
        case stopped
        /// More members wait, by this number; less than 0: fewer.
        case counted(Int)
        /// It goes on, and these members wait for that no longer.
        case wentOn(waitingCount: Int)
    }
    @inline(__always) var isStopped: Bool {
        switch self {
        case .goesOn: false
        case .stopped: true
        }
    }
    /// What operators say.
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
    /// Members that are owed something are counted.
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
    /// An operator has stopped its passes.
    @inline(__always) var isPaused: Bool { self.pause.isStopped }
    /// What operators have said about the crowd's audience, and its app. Nothing holds for an audience that is over.
    mutating func readPause(in pauses: borrowing PauseTable) -> CrowdPause.Change {
        let isStopped =
            self.standing == .living
            && pauses.isPaused(partition: self.partition, app: self.app, audience: self.id)
        return self.pause.heard(isStopped: isStopped)
    }
    /// Members that wait because somebody wants them to are counted anew.
    @inline(__always) mutating func countPaused() -> CrowdPause.Change {
        guard self.isPaused else { return .nothing }
        return self.pause.counted(
            waitingCount: self.passes.indices.reduce(self.starts.waitingCount) { $0 + self.passes[$1].waitingCount })
    }
    /// The crowd leaves memory, or its audience is over: it leaves the gauges.
    mutating func leavesPause() -> CrowdPause.Change { self.pause.heard(isStopped: false) }
}
