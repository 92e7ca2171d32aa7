import KafkaLog
import Redaction

/// When a static member whose place another process has taken may join again. If it joined at once it would take the place back, and the two would
/// fence each other for ever. Decides; asks nobody.
struct FencedWait: Sendable {
    /// What one look at the group leads to.
    enum Step: Equatable {
        /// Somebody has the id, or nobody could say.
        case wait
        /// Nobody has it. Kafka keeps a static member for a session timeout after its last sign of life, so nobody has been there for so long.
        case join
    }

    /// How often the group is looked at.
    static let interval: Duration = .seconds(2)
    /// A coordinator that has just moved may not know its members yet.
    private static let absenceCount = 2

    private let id: String
    private var absences = 0
    /// Where the other process is; `nil`: not known.
    private(set) var host: String?

    /// - Parameter id: `group.instance.id`.
    init(id: String) { self.id = id }

    /// - Parameter members: who is in the group; `nil`: it could not be asked now.
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

    /// Why the worker is not ready, and what to do.
    var text: String {
        "another process\(self.host.map { " at \($0)" } ?? "") has the kafka.group-instance-id \(ShownText.name(self.id)), too, and has taken this worker's place in the group; this one joins when nobody has had that id for a session timeout: give each worker an id of its own"
    }
}
