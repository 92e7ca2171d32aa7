/// The phases of a crowd's starts, and the results of their methods.
extension CrowdStarts {
    /// Whether a start goes round.
    enum Phase: UInt8 {
        /// No start goes round. To `goesRound` when one arrives that has not been over here.
        case over
        /// A start goes round, and members are announced before they are sent it. To `over` when it ends or another
        /// arrives; to `goesOnInDoubt` when a restore is over after which nobody is announced.
        case goesRound
        /// A start goes round. The previous owner announced nobody, and may have sent it to anybody. To `over` when it
        /// ends or another arrives.
        case goesOnInDoubt
    }
    /// Whether the results of the start are traced: see `PassTraces`.
    enum Trace: UInt8 {
        /// It is not traced. To `toBegin` when a start arrives.
        case untold
        /// It has not been decided yet. To `told` or `untold` when it is.
        case toBegin
        /// It is traced. To `untold` when it ends, to `toBegin` if it may go on.
        case told
    }
    /// What the newest version means for the start that goes round.
    enum Coming {
        /// No start goes round, and none begins.
        case nothing
        /// The start goes on, with the newest content.
        case goesOn
        /// The start is over.
        case ceases
        /// Another start begins.
        case begins(StartOrder)
    }
    /// What follows from the beginning of a start.
    struct Begun {
        /// Number of additional members that are owed a start.
        var dueCount = 0
        /// Number of members that a former owner announced, when nobody knows whether they were sent the start.
        var unknownCount: UInt64 = 0
        /// Some of those members.
        var unheard: [MemberID] = []
    }
}
