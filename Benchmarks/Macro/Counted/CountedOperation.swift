/// An operation whose instructions and allocations are counted, such as a part of a push. Each operation is a function
/// of `CountedShard`, `CountedMembers` or `CountedSession` that is never inlined, so that a profile names it.
enum CountedOperation: String, CaseIterable, Codable {
    case decode
    case take
    case merge
    case nextPush = "next-push"
    case answer
    case handOver = "hand-over"
    case acknowledgeOutcomes = "acknowledge-outcomes"
    case writeStates = "write-states"
    case acknowledgeStates = "acknowledge-states"
    case commit
    case push
    case restore
    case exchange
    /// A turn of the loop without a push.
    case idle
    // Operations on the members of an audience.
    case join
    case memberPush = "member-push"
    case memberRestore = "member-restore"
    case memberStart = "member-start"

    static let ofEachMember: [Self] = [.join, .memberPush, .memberRestore, .memberStart]
    static let ofEachPush = Self.allCases.filter { $0 != .idle && !Self.ofEachMember.contains($0) }

    /// The part of a mangled name that identifies the function: type and function, each preceded by its length.
    var symbolPart: String {
        let function =
            switch self {
            case .decode: "countedDecode"
            case .take: "countedTake"
            case .merge: "countedMerge"
            case .nextPush: "countedNextPush"
            case .answer: "countedAnswer"
            case .handOver: "countedHandOver"
            case .acknowledgeOutcomes: "countedAcknowledgeOutcomes"
            case .writeStates: "countedWriteStates"
            case .acknowledgeStates: "countedAcknowledgeStates"
            case .commit: "countedCommit"
            case .push: "countedPush"
            case .restore: "countedRestore"
            case .exchange: "countedExchange"
            case .idle: "countedIdle"
            case .join: "countedJoin"
            case .memberPush: "countedMemberPush"
            case .memberRestore: "countedMemberRestore"
            case .memberStart: "countedMemberStart"
            }
        let type =
            self == .exchange
            ? "CountedSession" : Self.ofEachMember.contains(self) ? "CountedMembers" : "CountedShard"
        return "\(type.utf8.count)\(type)V\(function.utf8.count)\(function)"
    }

    var description: String {
        switch self {
        case .decode: "decode an update"
        case .take: "take an event into an idle activity"
        case .merge: "take an event that replaces a waiting one, its outcome record"
        case .nextPush: "choose and compose a push"
        case .answer: "answer, budget, outcome record"
        case .handOver: "hand a record over to Kafka"
        case .acknowledgeOutcomes: "acknowledgement of an outcome"
        case .writeStates: "state record"
        case .acknowledgeStates: "acknowledgement of a state record"
        case .commit: "commit"
        case .push: "a whole push, from its event to its commit"
        case .restore: "restore of a state record"
        case .exchange: "request and answer in the HTTP/2 session"
        case .idle: "a turn with nothing to do"
        case .join: "join of a member, until it is committed"
        case .memberPush: "push to a member, progress and report included"
        case .memberRestore: "restore of a member's record"
        case .memberStart: "start of a member's activity, announcement and report included"
        }
    }
}
