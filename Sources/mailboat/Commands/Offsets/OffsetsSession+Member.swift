import CommandSupport
import KafkaLog
import Synchronization

/// Moves offsets where only members of a group may commit, as with the embedded Kafka. The embedded Kafka keeps a group
/// for ever once a member has joined, and does not list members. This session therefore joins for a moment. If it is
/// the only member, it is assigned every partition.
extension OffsetsSession {
    /// What the group reports to a member that has just joined.
    private final class Membership: Sendable {
        let given = Mutex<[Int32]?>(nil)
        let isClosed = Mutex(false)
    }

    private static let lookInterval: Duration = .milliseconds(50)
    /// Session timeout in milliseconds. The embedded Kafka admits a new member only when the previous member's session
    /// timeout has nearly passed.
    private static let sessionTimeoutMillis = 6_000

    /// Commits as a member of the group. Blocks.
    /// - Parameters:
    ///   - driverTopic: the topic to which the group subscribes.
    ///   - partitionCount: number of its partitions.
    /// - Returns: the result; `nil`: the group has other members.
    func commitAsMember(
        _ moves: [TopicPartitionOffset], driverTopic: String, partitionCount: Int
    ) throws(KafkaError) -> CommitResult? {
        let settings = self.settings.appending("session.timeout.ms", "\(Self.sessionTimeoutMillis)")
        let consumer = try KafkaConsumer(
            ConsumerConfiguration(settings: settings, groupID: self.group, driverTopic: driverTopic, log: { _ in }))
        let membership = Membership()
        try consumer.start { event in
            switch event {
            case .assigned(let assignment): membership.given.withLock { $0 = assignment.partitions }
            case .revoked(let revocation): _ = revocation.complete()
            case .rebalanceOverdue, .failed, .statistics: break
            }
        }
        let deadline = ContinuousClock.now + max(self.limit, .milliseconds(2 * Self.sessionTimeoutMillis))
        while membership.given.withLock({ $0 }) == nil, ContinuousClock.now < deadline { Self.wait() }
        let isAlone = membership.given.withLock { $0?.count } == partitionCount
        let result = isAlone ? consumer.commitSync(moves, within: self.limit) : nil
        let limit = self.limit
        Task.detached {
            _ = await consumer.close(within: limit)
            membership.isClosed.withLock { $0 = true }
        }
        while !membership.isClosed.withLock({ $0 }), ContinuousClock.now < deadline + self.limit { Self.wait() }
        return result
    }

    private static func wait() { Sleeping.sleep(Self.lookInterval) }
}
