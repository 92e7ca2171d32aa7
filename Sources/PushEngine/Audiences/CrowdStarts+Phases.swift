/// What a crowd's starts can be, and what they answer.
extension CrowdStarts {
    /// Whether a start goes round.
    enum Phase: UInt8 {
        /// None does. To `goesRound` when one comes that has not been over here.
        case over
        /// One does, and members are announced before they are sent it. To `over` when it ends or another comes; to `goesOnInDoubt` when a restore is over
        /// after which nobody is announced.
        case goesRound
        /// One does, and the owner before, who announced nobody, may have sent it to anybody. To `over` when it ends or another comes.
        case goesOnInDoubt
    }
    /// Whether what becomes of the start is told: see `PassTraces`.
    enum Trace: UInt8 {
        /// It is not. To `toBegin` when a start comes.
        case untold
        /// It has not been looked yet whether it is to be. To `told` then, or to `untold`.
        case toBegin
        /// It is. To `untold` when it ends, to `toBegin` if it may go on.
        case told
    }
    /// What the newest version means for the start that goes round.
    enum Coming {
        /// None goes round, and none begins.
        case nothing
        /// It goes on, with what is newest.
        case goesOn
        /// It is over.
        case ceases
        /// Another begins.
        case begins(StartOrder)
    }
    /// What a start that has come brings with it.
    struct Begun {
        /// More are owed a start than before.
        var dueCount = 0
        /// A former owner announced so many, and nobody knows whether they were sent it.
        var unknownCount: UInt64 = 0
        /// Some of those.
        var unheard: [MemberID] = []
    }
}
