import Synchronization

/// Partitions that leave this consumer.
///
/// Stop taking records from them, let what is in flight finish, write down the rest, commit, then `complete`: within
/// 1–2 s, because librdkafka fetches nothing for *any* partition while this is open. Heartbeats go on meanwhile.
public final class PartitionRevocation: Sendable {
    /// Partition numbers, ascending, of the driver topic and every riding topic.
    public let partitions: [Int32]
    /// Somebody else may own them already (session timed out, fenced): push nothing more, commit nothing.
    public let isLost: Bool
    /// When the consumer will complete this itself.
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

    /// Gives the partitions up and closes their readers. From any thread, once; returns at once.
    /// - Returns: `false` when the consumer had done it already (overdue).
    @discardableResult
    public func complete() -> Bool {
        guard let completion = self.completion.withLock({ $0.take() }) else { return false }
        return completion()
    }
}
