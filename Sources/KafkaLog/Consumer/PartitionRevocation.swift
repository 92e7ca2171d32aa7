import Synchronization

/// Partitions that this consumer must give up.
///
/// Stop reading the partitions, let the pushes in flight finish, write down the rest, commit, then call `complete`. Do
/// this within 1–2 s, because librdkafka fetches nothing for *any* partition until then. Heartbeats continue meanwhile.
public final class PartitionRevocation: Sendable {
    /// Partition numbers, ascending, of the driver topic and every riding topic.
    public let partitions: [Int32]
    /// Whether another member may already own the partitions, because the session has timed out or the member was
    /// fenced. If so, push and commit nothing more.
    public let isLost: Bool
    /// The latest time at which the consumer completes the revocation itself. A consumer that closes may do so earlier.
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
    /// - Returns: `false` when the partitions were given up before, by an earlier call or because the deadline has
    ///   passed.
    @discardableResult
    public func complete() -> Bool {
        guard let completion = self.completion.withLock({ $0.take() }) else { return false }
        return completion()
    }
}
