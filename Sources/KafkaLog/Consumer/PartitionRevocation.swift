import Synchronization

/// Partitions that leave this consumer.
///
/// Stop taking records from them, let what is in flight finish, write down the rest, commit, then call `complete`. Do
/// this within 1–2 s, because librdkafka fetches nothing for *any* partition while the revocation is open. Heartbeats
/// go on meanwhile.
public final class PartitionRevocation: Sendable {
    /// Partition numbers, ascending, of the driver topic and every riding topic.
    public let partitions: [Int32]
    /// Whether another member may own the partitions already (session timed out, fenced): push nothing more, commit
    /// nothing.
    public let isLost: Bool
    /// The time when the consumer will complete the revocation itself.
    public let deadline: ContinuousClock.Instant
    private let completion: Mutex<(@Sendable () -> Bool)?>

    init(
        partitions: [Int32], isLost: Bool, deadline: ContinuousClock.Instant, completion: @escaping @Sendable () -> Bool
    ) {
        self.partitions = partitions
        self.isLost = isLost
        self.deadline = deadline
        self.completion = Mutex(completion)
    }

    /// Gives the partitions up and closes their readers. Call it once, from any thread; returns at once.
    /// - Returns: `false` when the consumer had done it already (overdue).
    @discardableResult
    public func complete() -> Bool {
        guard let completion = self.completion.withLock({ $0.take() }) else { return false }
        return completion()
    }
}
