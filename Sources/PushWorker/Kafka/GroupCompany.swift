package import KafkaLog
import Redaction

/// Decides which members of a worker's group are not workers. The caller asks the broker for the members.
package struct GroupCompany: Sendable, Equatable {
    /// A member that is not a worker.
    private struct Stranger: Sendable, Equatable {
        var member: GroupMember
        var reason: String
    }

    private struct Strategies: Sendable, Equatable {
        var group: String
        var workers: String
    }

    private let group: String
    private let members: [GroupMember]
    private let strangers: [Stranger]
    /// The group's assignment strategy and the workers', if they differ.
    private let strategies: Strategies?

    /// - Parameters:
    ///   - description: the broker's description of the group.
    ///   - configuration: a worker's configuration.
    package init(_ description: GroupDescription, _ configuration: WorkerConfiguration) {
        let settings = ConsumerConfiguration.defaults.appending(configuration.kafka.consumerSettings)
        let wanted = settings["partition.assignment.strategy"] ?? ""
        let hasOther =
            !description.strategy.isEmpty && !wanted.split(separator: ",").contains { $0 == description.strategy }
        self.group = configuration.kafka.groupID
        self.members = description.members
        self.strategies = hasOther ? Strategies(group: description.strategy, workers: wanted) : nil
        // If the configuration sets a `client.id`, each worker may have a different one. Then the name of a member says
        // nothing.
        let isNamed = configuration.kafka.consumerSettings["client.id"] != nil
        let name = settings["client.id"] ?? ""
        let driver = configuration.topics.events[0]
        self.strangers = description.members.compactMap { member in
            let others = Set(member.assignment.map(\.topic)).subtracting([driver]).sorted()
            if let other = others.first {
                return Stranger(member: member, reason: "reads \(ShownText.name(other)), which no worker reads")
            }
            guard !isNamed, member.clientID != name else { return nil }
            return Stranger(
                member: member,
                reason: member.assignment.isEmpty
                    ? "is not named \(name), as workers are"
                    : "has \(member.assignment.count) partition\(member.assignment.count == 1 ? "" : "s") of \(driver), whose events no worker sees"
            )
        }
    }

    /// Number of members in the group.
    package var memberCount: Int { self.members.count }

    /// Whether the group has members with another strategy, so that no worker can join.
    package var keepsWorkersOut: Bool { self.strategies != nil && !self.members.isEmpty }

    /// A complaint about members that use another strategy or are not workers, and how they were recognised; `nil` when
    /// there are none.
    package var complaint: String? {
        if let strategies, !self.members.isEmpty {
            return
                "the group \(self.group) assigns partitions by \(ShownText.name(strategies.group)), but workers use \(strategies.workers), so they cannot join; its members are \(Self.list(self.members.map { Self.name($0) }))"
        }
        guard !self.strangers.isEmpty else { return nil }
        return "the group \(self.group) has members that are no workers: "
            + Self.list(self.strangers.map { "\(Self.name($0.member)) \($0.reason)" })
    }

    /// What an operator can do about members that are not workers.
    package static let remedy =
        "stop members that are no workers, or give them a group.id of their own; all workers need the same partition.assignment.strategy"

    private static let shownCountMax = 5

    private static func list(_ texts: [String]) -> String {
        let shown = texts.prefix(Self.shownCountMax).joined(separator: "; ")
        return texts.count > Self.shownCountMax
            ? "\(shown); and \(texts.count - Self.shownCountMax) more" : shown
    }

    private static func name(_ member: GroupMember) -> String {
        "\(ShownText.name(member.clientID)) at \(ShownText.addresses(member.address))"
    }
}
