import KafkaLog
import Redaction

/// Decides when a static member may join again after another process has replaced it. If the member joined at once, it
/// would replace that process, and the two would replace each other for ever. The caller asks the group.
struct FencedWait: Sendable {
    /// The result of one look at the group.
    enum Step: Equatable {
        /// Another process has the id, or the group could not be asked.
        case wait
        /// No process has the id. Kafka keeps a static member for a session timeout after its last sign of life, so the
        /// id has not been used for that long.
        case join
    }

    /// Interval between looks at the group.
    static let interval: Duration = .seconds(2)
    /// Number of looks in a row that must not find the id before it counts as free. A coordinator that has just moved
    /// may not know its members yet.
    private static let absenceCount = 2

    private let id: String
    private var absences = 0
    /// The host of the process that was last seen with the id; `nil`: not known.
    private(set) var host: String?

    /// - Parameter id: `group.instance.id`.
    init(id: String) { self.id = id }

    /// Takes the result of a look at the group.
    /// - Parameter members: the members of the group; `nil`: the group could not be asked.
    mutating func looked(_ members: [GroupMember]?) -> Step {
        guard let members else {
            self.absences = 0
            return .wait
        }
        if let holder = members.first(where: { $0.groupInstanceID == self.id }) {
            self.absences = 0
            self.host = ShownText.addresses(holder.address)
            return .wait
        }
        self.absences += 1
        return self.absences >= Self.absenceCount ? .join : .wait
    }

    /// Why the worker is not ready, and what to do about it.
    var text: String {
        "another process\(self.host.map { " at \($0)" } ?? "") has the kafka.group-instance-id \(ShownText.name(self.id)), too, and has taken this worker's place in the group; this worker joins when no process has used that id for a session timeout: give each worker its own id"
    }
}
