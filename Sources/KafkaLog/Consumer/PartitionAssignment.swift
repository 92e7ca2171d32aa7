import Synchronization

/// Partitions that the group has assigned to this consumer. They begin when the worker has named their start offsets.
///
/// Look up the offsets, then call `complete`. Until then heartbeats continue and fetching pauses. The partitions
/// already held keep their fetched records. Restore a partition *after* `complete`. While a partition is not read, it
/// takes memory up to its limit of fetched bytes, and delays no other partition.
public final class PartitionAssignment: Sendable {
    /// Partition numbers, ascending. Each stands for a partition of the driver topic and of every riding topic.
    public let partitions: [Int32]
    /// The driver topic, then the riding topics.
    public let topics: [String]
    /// One reader for each topic and partition: all partitions of the driver first, then those of each riding topic.
    public let readers: [PartitionReader]
    private let completion: Mutex<(@Sendable ([LogStart?]) -> Bool)?>
    private let later: @Sendable ([PartitionReader], [LogStart]) -> Void

    init(
        partitions: [Int32], topics: [String], readers: [PartitionReader],
        later: @escaping @Sendable ([PartitionReader], [LogStart]) -> Void,
        completion: @escaping @Sendable ([LogStart?]) -> Bool
    ) {
        self.later = later
        self.partitions = partitions
        self.topics = topics
        self.readers = readers
        self.completion = Mutex(completion)
    }

    /// The partitions of all topics, in the order of `readers`.
    public var topicPartitions: [TopicPartition] { self.readers.map(\.topicPartition) }

    /// The reader of one partition; `nil` when it is not part of this assignment.
    public func reader(topicIndex: Int, partition: Int32) -> PartitionReader? {
        self.readers.first { $0.topicIndex == topicIndex && $0.topicPartition.partition == partition }
    }

    /// Ends the rebalance and begins fetching. Call it once, from any thread; returns at once.
    ///
    /// - Parameter start: where a partition begins; `nil`: it begins later, with `begin`.
    /// - Returns: `false` when the call was too late: the partitions were revoked meanwhile, or the consumer has
    ///   started them itself.
    @discardableResult
    public func complete(_ start: (TopicPartition) -> LogStart?) -> Bool {
        guard let completion = self.completion.withLock({ $0.take() }) else { return false }
        return completion(self.readers.map { start($0.topicPartition) })
    }

    /// Begins fetching partitions that `complete` left out. Works from any thread; returns at once. Partitions that
    /// were revoked meanwhile or have begun already are ignored.
    ///
    /// - Parameter start: where a partition begins; `nil`: it stays as it is.
    public func begin(_ start: (TopicPartition) -> LogStart?) {
        let begun = self.readers.compactMap { reader in start(reader.topicPartition).map { (reader, $0) } }
        if !begun.isEmpty { self.later(begun.map(\.0), begun.map(\.1)) }
    }
}
