/// The phases of a crowd's starts, and the results of their methods.
extension CrowdStarts {
    /// Whether a start goes round.
    enum Phase: UInt8 {
        /// No start goes round. Becomes `goesRound` when a start arrives that has not already ended here.
        case over
        /// A start goes round, and members are announced before they are sent it. Becomes `over` when the start ends or
        /// another arrives. Becomes `goesOnInDoubt` when a restore ends and members are not announced.
        case goesRound
        /// A start goes round. The previous owner announced nobody, and may have sent the start to any member. Becomes
        /// `over` when the start ends or another arrives.
        case goesOnInDoubt
    }
    /// Whether the start is reported in traces: see `PassTraces`.
    enum Trace: UInt8 {
        /// The start is not traced. Becomes `toBegin` when a start arrives.
        case untraced
        /// It has not been decided yet whether the start is traced. Becomes `traced` or `untraced` with the decision.
        case toBegin
        /// The start is traced. Becomes `untraced` when the trace ends, or `toBegin` if it may begin again.
        case traced
    }
    /// What the newest version means for the start that goes round.
    enum Coming {
        /// No start goes round, and none begins.
        case nothing
        /// The start continues, with the newest content.
        case goesOn
        /// The start is over.
        case ceases
        /// Another start begins.
        case begins(StartOrder)
    }
    /// What follows from the beginning of a start.
    struct Begun {
        /// Number of members that are newly owed the start.
        var dueCount = 0
        /// Number of members that a former owner announced. No record says whether they were sent the start.
        var unknownCount: UInt64 = 0
        /// Members counted in `unknownCount` that get an outcome record each. There may be more in `unknownCount` than
        /// there is room for.
        var unheard: [MemberID] = []
    }
    /// What a member was sent of the start that goes round.
    struct Sent {
        /// Whether the member was sent the start, or may have been.
        var wasSent = false
        /// Whether a push may have reached the member, although the member is sent another push.
        var mayHaveArrived = false
    }

    /// Whether there is nothing to do and nothing to remember.
    @inline(__always) var isIdle: Bool { self.rounds.isEmpty && !self.hasOrder && !self.records.progress.isDue }
    /// Whether a start goes round, and `state` has the joins from before the start.
    @inline(__always) var mayLeave: Bool { self.hasOrder && self.records.hasMembersFromBefore }
    /// What the newest version means for the start that goes round.
    /// - Parameter new: the newest version's start; `nil`: none goes round.
    func coming(_ new: StartOrder?) -> Coming {
        guard let new else { return self.hasOrder ? .ceases : .nothing }
        if self.hasOrder, new.stamp == self.orderStamp { return .goesOn }
        if self.mayBegin(new.stamp) { return .begins(new) }
        return self.hasOrder ? .ceases : .nothing
    }
    /// Whether the start may begin: it is new here, or a takeover resumes it.
    fileprivate func mayBegin(_ start: StartStamp) -> Bool {
        if let known = self.restored.progress, !known.isOver, known.start == start { return true }
        return start > self.newestMet
    }
}
